r"""One spelling for what LaTeX, Unicode and plain text write in several ways. No meaning is judged here.

After `clean`, roman and bold words stand in `\text{...}`, fractions are `\frac`, products `\times` or `\cdot`, powers
of ten `\times 10^{3}`, money is `\$`, and there are neither math delimiters nor commands for size and space.
"""

import re
import unicodedata
from functools import lru_cache

_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-", strict=True))
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
        **{"÷": "/", "°": r"^\circ ", "％": r"\%", "ℝ": r"\text{R}"},
    }
)
# In order; each works on what those before it have left.
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
# Letters that are no product of variables, and no function.
_WORD = re.compile(
    r"(?<![A-Za-z\\])(?!(?:(?:arc)?(?:sin|cos|tan)h?|cot|sec|csc|log|exp|max|min|gcd|lcm|mod|inf|det|sqrt|frac|array|and|"
    r"(?:[pbvBV]|small)?matrix|begin|end)(?![A-Za-z]))[A-Za-z]{3,}"
)
_TEXT = re.compile(r"\\text\{[^{}]*\}")
_SUPERSCRIPT = re.compile(f"[{''.join(_SUPERSCRIPTS)}]+")
_THOUSANDS = re.compile(r"(?<![\d.,])(\d{1,3}(?:[, ]\d{3})+)(?![\d,]|\s\d)(?=\.?\d*)")
_MATH_DELIMITER = re.compile(r"\\[\[\]()]|(?<!\\)\$")


@lru_cache(maxsize=4096)
def clean(text: str) -> str:
    """`text`, a formula or a plain answer, in one spelling; spaces at its ends and full stops are gone."""
    text = spelled(_lone_dollars(text))
    text = re.sub(r" +", " ", _MATH_DELIMITER.sub(" ", text)).lstrip(" ;:,").rstrip(" .;:,")
    return _without_outer_braces(text.removesuffix("\\").strip())


def spelled(text: str) -> str:
    """`text`, which may be a sentence, with its numbers and formulas in one spelling; math delimiters stay."""
    text = _SUPERSCRIPT.sub(
        lambda found: "^{" + "".join(_SUPERSCRIPTS[one] for one in found[0]) + "}", unicodedata.normalize("NFC", text)
    ).translate(_CHARACTERS)
    for pattern, replacement in _REWRITES:
        text = pattern.sub(replacement, text)
    return text


def thousands_joined(text: str) -> str:
    """`1,234,567` and `1 234 567` as `1234567`. Only for text that is one number: `(2,251,252)` has three."""
    return _THOUSANDS.sub(lambda found: re.sub("[, ]", "", found[1]), text)


def key(text: str) -> str:
    """What is left of `text` when spaces, braces and letter case make no difference; for comparing as it stands."""
    return re.sub(r"(?<!\d)\s+|\s+(?!\d)", "", re.sub(r"\\text\{([^{}]*)\}", r"\1", clean(text)))


def _lone_dollars(text: str) -> str:
    r"""`$` as `\$` where it means money: it is escaped, or alone, or after a number or before one that no `$` ends."""
    text = re.sub(r"(?<!\\)\$\s*\\\$\s*(?<!\\)\$", r"\\$", text)  # `$\$$`
    if len(re.findall(r"(?<!\\)\$", text)) % 2:
        text = re.sub(r"(?<!\\)\$(?=\s*\d)", r"\\$", text, count=1) if re.search(r"(?<!\\)\$\s*\d", text) else text
        text = re.sub(r"(?<!\\)\$\s*$", r"\\$", text) if len(re.findall(r"(?<!\\)\$", text)) % 2 else text
    return text


def _without_outer_braces(text: str) -> str:
    while text.startswith("{") and (inside := in_braces(text, 0)) == text[1:-1]:
        text = inside.strip()
    return text


def has_words(text: str) -> bool:
    r"""Whether words stand in a cleaned formula, those in `\text{...}` aside."""
    return bool(_WORD.search(_TEXT.sub(" ", text)))


def in_braces(text: str, begin: int) -> str | None:
    """What stands in the braces that open at `begin`; None if they never close."""
    depth = 0
    for position in range(begin, len(text)):
        character = text[position]
        if character in "{}" and text[position - 1] != "\\":
            depth += 1 if character == "{" else -1
            if depth == 0:
                return text[begin + 1 : position]
    return None
