r"""Give LaTeX, Unicode and plain text one spelling; read plain numbers.

After `clean_notation`, roman and bold words are in `\text{...}`, fractions are `\frac`, products `\times` or `\cdot`,
powers of ten `\times 10^{3}`, money is `\$`, and math delimiters and commands for size and space are gone.
"""

import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from entropy_sentinel.judges.judge_interface import Unclear
from entropy_sentinel.judges.numerals import EndlessDecimal, read_endless, read_recurring

_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻"
_SUPERSCRIPT_DIGITS = str.maketrans(_SUPERSCRIPTS, "0123456789+-")
_COMMANDS = {
    "×": "times", "⋅": "cdot", "·": "cdot", "≥": "geq", "≤": "leq", "≠": "neq", "≈": "approx", "∞": "infty", "∪": "cup",
    "∈": "in", "±": "pm", "√": "sqrt", "⟨": "langle", "⟩": "rangle", "Å": "AA", "µ": "mu", "μ": "mu", "Ω": "Omega",
    "π": "pi", "α": "alpha", "β": "beta", "γ": "gamma", "θ": "theta", "λ": "lambda", "∅": "emptyset",
}  # fmt: skip
_FRACTIONS = {"½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4)}
_CHARACTERS = str.maketrans(
    {
        **dict.fromkeys("−–—‐‑", "-"),
        **dict.fromkeys("\u00a0\u2009\u202f\u200a\u2002\u2003\t\r\n", " "),
        **dict.fromkeys("\u200b\u2061\u2062\u2063", ""),
        **{character: f"\\{command} " for character, command in _COMMANDS.items()},
        **{character: rf"\frac{{{above}}}{{{below}}}" for character, (above, below) in _FRACTIONS.items()},
        "÷": "/",
        "°": r"^\circ ",
        "％": r"\%",
        "ℝ": r"\text{R}",
    }
)
# In order; each works on the result of the previous ones.
_REWRITES = [
    (re.compile(pattern), replacement)
    for pattern, replacement in [
        (r"\\(?:left|right|[bB]igg?[lr]?|displaystyle|limits|boldmath)(?![A-Za-z])(?:\.|\s+)?", ""),
        (r"\\!\s*", ""),
        (r"(?<!\\)\\(?:[,;:]|quad(?![A-Za-z])|qquad(?![A-Za-z])|hspace\*?\{[^{}]*\}|enspace(?![A-Za-z])|(?= ))|~", " "),
        (r"\\[dtc]frac(?![A-Za-z])", r"\\frac"),
        (r"\\(?:mathrm|mathbf|mathit|mathsf|mathbb|operatorname|boldsymbol|bm|mbox|hbox)(?=\s*\{)", r"\\text"),
        (r"\\text(?:bf|rm|it|normal|sf|tt)(?=\s*\{)", r"\\text"),
        (r"\\text\s+(?=\{)", r"\\text"),
        (r"\\text\{\s*\}", ""),
        (r"\\text\{R\}(?!\s*\^)|\A[\s$]*R[\s$]*\Z", r"(-\\infty,\\infty)"),
        (r"\\varnothing(?![A-Za-z])|\\\{\s*\\\}", r"\\emptyset "),
        (r"\\text\{\s*((?:[eE](?=[-+]?\d))?[\d.,+-]+)\s*\}", r"\1"),
        (r"\\text\{\s*(\d[\d.,]*)\s+([^{}]*)\}", r"\1 \\text{\2}"),
        (r"\\(?:text)?degree(?![A-Za-z])", r"^\\circ "),
        (r"\\dots[cbmi]?(?![A-Za-z])|\\ldots(?![A-Za-z])|…", r"\\ldots "),
        (r"(\.\d+)\s*\.{3,}", r"\1\\ldots "),
        (r"\\geqslant(?![A-Za-z])|\\ge(?![A-Za-z])|>=", r"\\geq "),
        (r"\\leqslant(?![A-Za-z])|\\le(?![A-Za-z])|<=", r"\\leq "),
        (r"\\ne(?![A-Za-z])|!=", r"\\neq "),
        (r"\\(?:approxeq|simeq|cong)(?![A-Za-z])", r"\\approx "),
        (r"(\d)\s*\{\s*,\s*\}\s*(?=\d)", r"\1,"),
        (r"(?<=[\d.])\s*(?:x|X)\s*(?=10\s*\^)", r" \\times "),
        (r"(?<=\d)\s*\*\s*(?=10\s*\^)", r" \\times "),
        (r"(?<![\w.\\])([-+]?(?:\d++\.?\d*+|\.\d++))[eE]([-+]?\d+)(?!\w)", r"\1 \\times 10^{\2}"),
        (r"10\s*(?:\^|\*\*)\s*\{\s*([-+]?)\s*(\d+)\s*\}", r"10^{\1\2}"),
        (r"10\s*(?:\^|\*\*)\s*\(\s*([-+]?)\s*(\d+)\s*\)", r"10^{\1\2}"),
        (r"10\s*(?:\^|\*\*)\s*([-+]?)\s*(\d+)", r"10^{\1\2}"),
        (r"\\text\{\s*(10\^\{[-+]?\d+\})\s*\}", r"\1"),
        (r"(?<=[\d.])\s*\$\s*(10\^\{[-+]?\d+\})", r" \\times \1 $"),
        (r"(?<=[\d.])\s+(?=10\^\{)", r" \\times "),
        (r"\^\{\+", "^{"),
    ]
]
# Letters that are neither a product of variables nor a function.
_WORD = re.compile(
    r"(?<![A-Za-z\\])(?!(?:(?:arc)?(?:sin|cos|tan)h?|cot|sec|csc|log|exp|max|min|gcd|lcm|mod|inf|det|sqrt|frac|array|and|"
    r"(?:[pbvBV]|small)?matrix|begin|end)(?![A-Za-z]))[A-Za-z\u00c0-\u024f]{3,}"
)
# A letter of a script that is neither Latin nor Greek nor a mathematical sign.
_OTHER_SCRIPT = re.compile(r"[^\W\d_\u0000-\u03ff\u1d00-\u1dbf\u1e00-\u1eff\u2070-\u2bff\U0001d400-\U0001d7ff]")
_TEXT = re.compile(r"\\text\{[^{}]*\}")
_SUPERSCRIPT = re.compile(f"[{_SUPERSCRIPTS}]+")
_THOUSANDS = re.compile(r"(?<![\d.,])(\d{1,3}(?:[, ]\d{3})+)(?![\d,]|\s\d)(?=\.?\d*)")
_MATH_DELIMITER = re.compile(r"\\[\[\]()]|(?<!\\)\$")


@lru_cache(maxsize=4096)
def clean_notation(text: str) -> str:
    """`text`, a formula or a plain answer, in one spelling, without outer spaces and full stops."""
    text = unify_spelling(_escape_dollars(text))
    text = re.sub(r" +", " ", _MATH_DELIMITER.sub(" ", text)).lstrip(" ;:,").rstrip(" .;:,")
    return _strip_outer_braces(text.removesuffix("\\").strip())


def unify_spelling(text: str) -> str:
    """`text`, which may be a sentence, with numbers and formulas in one spelling; math delimiters stay."""
    text = unicodedata.normalize("NFC", text)
    text = _SUPERSCRIPT.sub(lambda match: f"^{{{match[0].translate(_SUPERSCRIPT_DIGITS)}}}", text)
    text = text.translate(_CHARACTERS)
    for pattern, replacement in _REWRITES:
        text = pattern.sub(replacement, text)
    return text


def join_thousands(text: str) -> str:
    """`1,234,567` and `1 234 567` as `1234567`. For a text of one number only: `(2,251,252)` has three."""
    return _THOUSANDS.sub(lambda match: re.sub("[, ]", "", match[1]), text)


def make_key(text: str) -> str:
    """`text` without spaces, braces and letter case, for comparison as text."""
    return re.sub(r"(?<!\d)\s+|\s+(?!\d)", "", re.sub(r"\\text\{([^{}]*)\}", r"\1", clean_notation(text)))


def _escape_dollars(text: str) -> str:
    r"""Write `$` as `\$` if it means money: escaped, alone, after a number, or before a number that no `$` ends."""
    text = re.sub(r"(?<!\\)\$\s*\\\$\s*(?<!\\)\$", r"\\$", text)  # `$\$$`
    if _has_lone_dollar(text):
        text = re.sub(r"(?<!\\)\$(?=\s*\d)", r"\\$", text, count=1)
    if _has_lone_dollar(text):
        text = re.sub(r"(?<!\\)\$\s*$", r"\\$", text)
    return text


def _has_lone_dollar(text: str) -> bool:
    """Whether a `$` has no other one with which it could delimit a formula."""
    return len(re.findall(r"(?<!\\)\$", text)) % 2 == 1


def _strip_outer_braces(text: str) -> str:
    """A text without the braces that are around all of it."""
    while text.startswith("{") and (inside := read_braces(text, 0)) == text[1:-1]:
        text = inside.strip()
    return text


def has_words(text: str) -> bool:
    r"""Whether a cleaned formula has words outside `\text{...}`."""
    return bool(_WORD.search(plain := _TEXT.sub(" ", text))) or has_foreign_script(plain)


def has_foreign_script(text: str) -> bool:
    """Whether a text has letters that are neither Latin nor Greek, which math-verify skips."""
    return bool(_OTHER_SCRIPT.search(text))


def read_braces(text: str, begin: int) -> str | None:
    """The content of the braces that open at `begin`; None if they never close."""
    depth = 0
    for position in range(begin, len(text)):
        character = text[position]
        if character in "{}" and text[position - 1] != "\\":
            depth += 1 if character == "{" else -1
            if depth == 0:
                return text[begin + 1 : position]
    return None


NUMBER = (
    r"[-+]?\s*(?:(?:\d{1,3}(?:,\d{3}|\s\d{3})+(?!\d)|\d+)(?:\.\d*)?|\.\d+)"
    r"(?:\s*\\(?:times|cdot)\s*10\^\{[-+]?\d{1,4}\})?"
)
# 2 1/2
MIXED_NUMBER = r"[-+]?\s*\d+\s+\d+\s*/\s*\d+"
_POWER = re.compile(r"([-+]?)\s*10\^\{([-+]?\d{1,4})\}")
_DECIMAL = re.compile(r"([-+]?)\s*(\d+(?:\.\d*)?|\.\d+)(?:\s*\\(?:times|cdot)\s*10\^\{([-+]?\d{1,4})\})?")
# 3/4, \frac{3}{4}, \frac34, and either after a whole number: 1\frac{3}{4}, 1 3/4
_FRACTION = re.compile(
    r"([-+]?)\s*(?:(?:(\d+)\s*)?\\frac\s*(?:\{\s*(-?\d+)\s*\}|(\d))\s*(?:\{\s*(\d+)\s*\}|(\d))|"
    r"(?:(\d+)\s+)?(\d+)\s*/\s*(\d+))"
)

# What a number may end with whose digits go on.
_ENDS_OF_ENDLESS = ("}", ")", "\\ldots", *"0123456789")

# Digits that Python converts to an integer; no real answer has more.
_LONGEST = 2000

# If the benchmark has no tolerance, decimals are compared to six places. For numbers below this size that would be
# fewer than four digits, so they are compared to four digits.
_SMALL = 0.01
_SMALL_TOLERANCE = 1e-4
_PLACES = 0.5e-6
# Rounding error of floats.
_FLOAT = 1e-12


@dataclass(frozen=True)
class Number:
    """A value; `exact` if no decimal point shows possible rounding; `digits`: significant digits as written.

    `endless` if its digits go on, as those of `0.333...`; `value` is then the recurring number, or the written one.
    """

    value: Fraction | float
    exact: bool
    digits: int | None = None
    endless: EndlessDecimal | None = None


def parse_number(text: str) -> Number | None:
    """The number that cleaned `text` writes in digits; None for anything else."""
    if len(text) > _LONGEST:
        return None
    text = join_thousands(text.strip())
    if match := _DECIMAL.fullmatch(text):
        sign, digits = match[1], match[2]
        exponent = int(match[3] or 0)
        value = Fraction(Decimal(digits).scaleb(exponent))
        is_exact = "." not in digits and exponent >= 0
        return Number(_apply_sign(value, sign), is_exact, _count_significant(digits))
    if match := _POWER.fullmatch(text):
        return Number(_apply_sign(Fraction(10) ** int(match[2]), match[1]), exact=True, digits=1)
    if match := _FRACTION.fullmatch(text):
        # As `\frac`, with or without braces, or with a slash.
        whole = int(match[2] or match[7] or 0)
        above, below = int(match[3] or match[4] or match[8]), int(match[5] or match[6] or match[9])
        return Number(_apply_sign(whole + Fraction(above, below), match[1]), exact=True) if below else None
    return _parse_endless(text) if "." in text and text.endswith(_ENDS_OF_ENDLESS) else None


def _parse_endless(text: str) -> Number | None:
    r"""A number whose digits go on: `0.\overline{3}` is exact, `0.333\ldots` is not; None for any other text."""
    if (recurring := read_recurring(text)) is not None:
        return Number(recurring, exact=True)
    if endless := read_endless(text):
        value = endless.least if endless.repeated is None else endless.repeated
        return Number(value, exact=False, endless=endless)
    return None


def _apply_sign(value: Fraction, sign: str) -> Fraction:
    return -value if sign == "-" else value


def is_close(reference: Number, answer: Number, scale: float, tolerance: Mapping[str, Any] | None) -> bool:
    """Whether `answer` equals the reference within the tolerance; `scale` converts it to the reference's unit.

    `tolerance` has the keys of `study.items.benchmark_settings.Tolerance`. Without one, two exact numbers must be
    equal, and others equal to six decimals.
    """
    if reference.exact and answer.exact and scale == 1.0:
        if reference.value == answer.value:
            return True
        if tolerance is None and isinstance(reference.value, Fraction) and isinstance(answer.value, Fraction):
            return False
    if (reference.endless or answer.endless) and tolerance is None and scale == 1.0:
        return _is_close_endless(reference, answer)
    try:
        expected, actual = float(reference.value), float(answer.value) * scale
    except OverflowError:
        return reference.value == answer.value
    if math.isclose(expected, actual, rel_tol=_FLOAT):
        return True
    if tolerance is not None and not _is_exact_whole(reference, tolerance):
        return _is_within_tolerance(expected, actual, reference.digits, tolerance)
    if reference.exact and answer.exact:
        return math.isclose(expected, actual, rel_tol=1e-9)
    if abs(expected) < _SMALL:
        return math.isclose(expected, actual, rel_tol=_SMALL_TOLERANCE)
    return abs(expected - actual) <= _PLACES


def _is_close_endless(reference: Number, answer: Number) -> bool:
    """Whether two numbers are equal if the digits of at least one go on. Raises Unclear if they may be equal."""
    expected, actual = _to_recurring(reference), _to_recurring(answer)
    if expected is not None and actual is not None and is_close(expected, actual, 1.0, None):
        return True
    for endless, counterpart in ((reference.endless, answer), (answer.endless, reference)):
        if endless is not None and not endless.least <= counterpart.value <= endless.largest:
            return False
    raise Unclear("digits that go on")


def _to_recurring(number: Number) -> Number | None:
    """The recurring number that endless digits are, or a number without such digits as it is."""
    if number.endless is None:
        return number
    return None if number.endless.repeated is None else Number(number.endless.repeated, exact=True)


def _is_exact_whole(reference: Number, tolerance: Mapping[str, Any]) -> bool:
    """Whether a reference is a whole number, and the tolerance does not apply to these."""
    return not tolerance.get("whole_numbers", True) and reference.exact and reference.value == int(reference.value)


def _is_within_tolerance(expected: float, actual: float, digits: int | None, tolerance: Mapping[str, Any]) -> bool:
    """Whether two numbers differ by at most a share, or agree in their significant digits.

    `digits` is the number of significant digits of the reference as written.
    """
    if (relative := tolerance.get("relative")) is not None:
        return abs(expected - actual) <= float(relative) * abs(expected) * (1 + _FLOAT)
    wanted = tolerance["significant_digits"]
    wanted = digits if wanted == "reference" else wanted
    return wanted is not None and _round_digits(expected, wanted) == _round_digits(actual, wanted)


def _round_digits(value: float, digits: int) -> str:
    """A number rounded to so many significant digits, as text: `1.23e+04`."""
    return f"{value:.{digits - 1}e}"


def _count_significant(digits: str) -> int:
    """The number of significant digits as written: three for `0.0250`, four for `1200`."""
    return len(digits.lstrip("+-").replace(".", "").lstrip("0")) or 1
