r"""The structure of an answer: lists, sets, points, names; and whether a reference can be compared."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import chain

from entropy_sentinel.judges import expressions, reference_words
from entropy_sentinel.judges.choice_options import list_options, normalise_text
from entropy_sentinel.judges.designations import read_designation
from entropy_sentinel.judges.expressions import Quantity, UnreadableError, parse_quantity
from entropy_sentinel.judges.notation import clean_notation, parse_number

_SEPARATOR = re.compile(
    r"\s*(?:\\text\{\s*(?:,\s*)?(?:and|or)\s*\}|,?\s*(?<![A-Za-z\\])(?:and|or)(?![A-Za-z])|[,;])\s*(?:\\text\{\s*(?:and|or)\s*\})?\s*"
)
_THOUSANDS = re.compile(r"(?:[^,=]*=)?\s*[-+]?(?:\\\$)?\s*\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,]).*")
_OPEN = {"(": ")", "[": "]", r"\{": r"\}", r"\langle": r"\rangle"}
_ONE_MATRIX = (
    r"\\begin\{(?P<kind>[pbvBV]?matrix|array|smallmatrix)\}(?:\{[clr|]+\})?"
    r"(?P<cells>(?:(?!\\begin\{|\\end\{).)*)\\end\{(?P=kind)\}"
)
_MATRIX = re.compile(_ONE_MATRIX, re.DOTALL)
# A number times a matrix or a vector, or divided by one: `-\frac{1}{2}\begin{...}`, `\begin{...} / 2`, `2(1, 3)`.
_TIMES = r"\s*(?:\\cdot(?![A-Za-z])|\\times(?![A-Za-z])|\*)?\s*"
_FRACTION = r"\\frac\s*\{[^{}]*\}\s*\{[^{}]*\}|\\frac\s*\d\s*\d"
_FACTOR = rf"[-+]?\s*(?:\d+(?:\.\d+)?(?:\s*/\s*\d+)?|\.\d+|{_FRACTION}|\\sqrt\s*(?:\{{\d+\}}|\d))"
_BODY = rf"(?P<body>[(\[]?\s*{_ONE_MATRIX}\s*[)\]]?)"
_SCALED = [
    re.compile(pattern, re.DOTALL)
    for pattern in (
        rf"\(\s*(?P<factor>{_FACTOR})\s*\){_TIMES}{_BODY}",
        rf"(?P<factor>(?:(?!\\begin)[^=,;()\[\]&])*?){_TIMES}{_BODY}",
        rf"{_BODY}{_TIMES}(?P<factor>{_FACTOR})",
        rf"{_BODY}\s*/\s*(?P<divisor>\d+)",
        rf"\\frac\s*\{{\s*{_BODY}\s*\}}\s*\{{\s*(?P<divisor>[^{{}}]*)\}}",
        rf"\(?\s*(?P<factor>{_FACTOR}|[-+])\s*\)?{_TIMES}(?P<body>\(.*,.*\)|\\langle.*,.*\\rangle)",
    )
]
_BOTH_SIGNS = re.compile(r"\\(?:pm|mp)(?![A-Za-z])")
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|.", re.DOTALL)


@dataclass(frozen=True)
class Structure:
    r"""The parts of an answer, as text, and the notation that joins them.

    The notation is the brackets around the parts, such as `()`, `[)` or `\{\}`; "" for a list without brackets, `cup`
    for a union, `list` for a list in JSON, `vector` or the shape of a matrix, such as `2x3`.
    """

    notation: str
    parts: tuple[str, ...]

    @property
    def is_matrix(self) -> bool:
        """Whether it is a matrix, or a vector in the notation of one."""
        return self.notation == "vector" or bool(re.fullmatch(r"\d+x\d+", self.notation))

    @property
    def is_ordered(self) -> bool:
        """Whether the order of the parts matters."""
        return self.notation not in ("", r"\{\}", "cup")


def parse_structure(text: str) -> Structure | None:
    """The structure of a cleaned answer; None if it has a single part."""
    if (scaled := _parse_scaled(text)) is not None:
        return scaled
    if matrix := _MATRIX.fullmatch(re.sub(r"^[(\[]\s*(?=\\begin)|(?<=\})\s*[)\]]$", "", text)):
        rows = [row for row in re.split(r"\\\\(?:\[[^\]]*\])?", matrix["cells"]) if row.strip()]
        cells = [re.split(r"(?<!\\)&", row) for row in rows]
        n_rows, n_columns = len(cells), len(cells[0])
        notation = "vector" if 1 in (n_rows, n_columns) else f"{n_rows}x{n_columns}"
        return Structure(notation, tuple(cell.strip() for cell in chain.from_iterable(cells)))
    if not _THOUSANDS.fullmatch(text) and len(parts := split_top_level(text, _SEPARATOR)) > 1:
        return Structure("", tuple(_expand_signs(parts)))
    if len(parts := split_top_level(text, re.compile(r"\s*\\cup(?![A-Za-z])\s*"))) > 1:
        return Structure("cup", tuple(parts))
    if (brackets := _split_brackets(text)) is not None:
        notation, inside = brackets
        parts = split_top_level(inside, _SEPARATOR)
        if len(parts) == 1 and notation == "()":
            return None  # a factor in parentheses
        if notation == r"\{\}":
            parts = _expand_signs(parts)
        return Structure(notation, tuple(parts))
    signs = expand_plus_minus(text)
    return Structure("", tuple(signs)) if len(signs) > 1 else None


def _parse_scaled(text: str) -> Structure | None:
    """The cells of a number times a matrix or a vector, each multiplied by it."""
    if "\\begin" not in text and "," not in text:
        return None
    match = next(filter(None, (pattern.fullmatch(text) for pattern in _SCALED)), None)
    if match is None:
        return None
    factor = (match.groupdict().get("factor") or "").strip()
    divisor = (match.groupdict().get("divisor") or "").strip()
    # An operator at its end joins it to the matrix in another way; a sign alone is 1 or -1.
    is_no_factor = factor.endswith(("+", "-", "/", "^", "_", "\\")) and factor not in ("+", "-")
    if is_no_factor or not (factor or divisor):
        return None
    body = parse_structure(match["body"].strip())
    if body is None:
        return None
    factor = {"": "1", "+": "1", "-": "-1"}.get(factor, factor)
    factor = f"\\frac{{{factor}}}{{{divisor}}}" if divisor else factor
    return Structure(body.notation, tuple(_multiply_cell(factor, cell) for cell in body.parts))


def _multiply_cell(factor: str, cell: str) -> str:
    """The product of a factor and a cell as LaTeX, computed if both are exact numbers."""
    left, right = parse_number(factor), parse_number(cell)
    if left is not None and right is not None and left.exact and right.exact:
        product = Fraction(left.value) * Fraction(right.value)
        if product.denominator == 1:
            return str(product)
        sign = "-" if product < 0 else ""
        return f"{sign}\\frac{{{abs(product.numerator)}}}{{{product.denominator}}}"
    if "1" in (factor, cell):
        return cell if factor == "1" else factor
    return f"({factor}) \\cdot ({cell})"


def _expand_signs(parts: Iterable[str]) -> list[str]:
    """The parts, with the two values of `1 \\pm 2` in place of such a part."""
    values: list[str] = []
    for part in parts:
        values += expand_plus_minus(part)
    return values


def split_top_level(text: str, separator: re.Pattern[str]) -> list[str]:
    """Split `text` at separators outside brackets; empty parts are left out."""
    parts = []
    start = position = 0  # of the part that is being read, and the place in it
    depth = 0  # of brackets
    while position < len(text):
        if depth == 0 and (match := separator.match(text, position)) and match.end() > position:
            parts.append(text[start : match.start()])
            start = position = match.end()
            continue
        token = _read_token(text, position)
        opens = token in ("(", "[", "{", r"\{", r"\langle") or token == r"\begin"
        closes = token in (")", "]", "}", r"\}", r"\rangle") or token == r"\end"
        depth = max(depth + opens - closes, 0)
        position += len(token)
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


def _read_token(text: str, position: int) -> str:
    """The command of LaTeX, the escaped character or the character at a position."""
    match = _TOKEN.match(text, position)
    assert match is not None  # any character is a token
    return match[0]


def expand_plus_minus(text: str) -> list[str]:
    r"""The two values of `1 \pm \sqrt{2}`; any other text, or one with the sign in brackets, unchanged."""
    matches = list(_BOTH_SIGNS.finditer(text))
    if len(matches) != 1:
        return [text]
    before = text[: matches[0].start()]
    if before.count("(") > before.count(")"):
        return [text]
    return [re.sub(r"^\+\s*", "", _BOTH_SIGNS.sub(sign, text).strip()) for sign in "+-"]


def _split_brackets(text: str) -> tuple[str, str] | None:
    """The outer brackets of `text` as one string, and their content; None if they do not match."""
    first = next((bracket for bracket in _OPEN if text.startswith(bracket)), None)
    last = next((bracket for bracket in _OPEN.values() if text.endswith(bracket)), None)
    if first is None or last is None or len(text) < len(first) + len(last):
        return None
    depth, position = 0, 0
    while position < len(text):
        token = _read_token(text, position)
        depth += (token in _OPEN) - (token in _OPEN.values())
        position += len(token)
        if depth == 0:
            break
    return (first + last, text[len(first) : len(text) - len(last)].strip()) if position >= len(text) else None


# The name of a value: `x =`, `f(x) =`, `\text{Area} =`, `\angle A B C =`, `x \in`.
_NAME_AND_VALUE = re.compile(
    r"(?P<name>(?=[A-Za-z\\])(?:\\text\{[^{}]*\}|(?!\\approx|\\in(?![A-Za-z]))\\[A-Za-z]++|[A-Za-z0-9_{}'(), ])++)"
    r"(?P<sign>=|:|\\approx|\\in(?![A-Za-z]))\s*(?P<rest>[^=].*)"
)
_LETTER = re.compile(r"[A-Za-z]")
_COMMAND = re.compile(r"\\text\{[^{}]*\}|\\[A-Za-z]+")
ELEMENT_OF = re.compile(r"^[A-Za-z]\s*\\in(?![A-Za-z])\s*")
# A vector times a variable, or the value of a function of several.
LETTER_BEFORE_POINT = re.compile(r"[-+]?[\d.]*\s*[a-z]\s*\([^()]*,[^()]*\)")
POINT_NAME = re.compile(r"([A-Z])\s*(?=\(.*,.*\)$)")


def strip_name(text: str, keep_lists: bool = False) -> tuple[str | None, str]:
    """The name and the value of `x = 5`; None and the text for any other text.

    With `keep_lists`, a list of such parts is unchanged too, and the value of `3 + 4 = 7` is its last part, `7`.
    """
    if keep_lists and (structure := parse_structure(text)) is not None and structure.notation == "":
        return None, text
    if match := _NAME_AND_VALUE.fullmatch(text):
        return match["name"].strip(), split_top_level(match["rest"].strip(), re.compile("="))[-1]
    if not keep_lists or "=" not in text:
        return None, text
    *steps, value = split_top_level(text, re.compile("="))
    for step in steps:
        if _LETTER.search(_COMMAND.sub(" ", step)):
            return None, text
    return None, value


def strip_point_names(reference: str, answer: str) -> tuple[str, str]:
    """Both as `(1, 0)` for `A(1, 0)`, unless they name different points."""
    first, second = POINT_NAME.match(reference), POINT_NAME.match(answer)
    if first and second and first[1] != second[1]:
        return reference, answer
    return POINT_NAME.sub("", reference), POINT_NAME.sub("", answer)


def strip_labels(text: str) -> str:
    """Remove the variable of `x \\in [0, 1]` and the name of `A(1, 0)`."""
    return POINT_NAME.sub("", ELEMENT_OF.sub("", text))


WORDS_AFTER = re.compile(r"(?<=\S)\s*\\text\{([^{}]*)\}$")
_ON_A_LINE = re.compile(r"\b(?:interval|domain|range|inequalit|for (?:which|what) values)", re.IGNORECASE)


def read_reference_quantity(reference: str) -> Quantity | None:
    """The number in a reference with its unit; None if the reference is anything else."""
    return parse_quantity(strip_name(clean_notation(reference))[1], has_letter_units(reference))


def has_letter_units(reference: str) -> bool:
    """Whether `2 m` in a reference means two metres, not a product: it is in text, not in a formula."""
    return not reference.lstrip().startswith(("$", "\\("))


def parse_json_list(reference: str, question: str) -> Structure | None:
    """`[0, 5]` as an ordered list; `$[0, 5]$`, `[0,5]` and answers to interval questions are intervals."""
    try:
        values = json.loads(reference)
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, list):
        return None
    rises = len(values) == 2 and all(isinstance(part, int | float) for part in values) and values[0] < values[1]
    if rises and (json.dumps(values) != reference.strip() or _ON_A_LINE.search(question)):
        return None
    return Structure("list", tuple(str(part) for part in values))


@lru_cache(maxsize=4096)
def is_readable(reference: str, letters: bool) -> bool:
    """Whether a reference can be compared.

    It depends on the reference alone. Otherwise, which questions get a label would depend on the answers.

    `letters`: whether a letter after a number is a unit (`2 m`) rather than a variable.
    """
    text = strip_labels(reference)
    if (structure := parse_structure(text)) is not None:
        return all(is_readable(part, letters) for part in structure.parts)
    if parse_quantity(text, letters) or read_designation(text) is not None:
        return True
    name, value = strip_name(text)
    if name is not None:
        return is_readable(value, letters)
    try:
        expressions.parse_formula(WORDS_AFTER.sub("", text))
    except UnreadableError:
        return False
    return True


def choose_judge_kind(items: Iterable[tuple[str, str]]) -> str:
    """The kind of judge that suits most (question, reference) pairs: `choice`, `math-verify` or `llm`.

    Raises IndexError for no items.
    """
    counts = Counter(_choose_kind(question, reference) for question, reference in items)
    kind, _ = counts.most_common(1)[0]
    return kind


def _choose_kind(question: str, reference: str) -> str:
    """The kind of judge for a reference: `choice` for an option, `llm` for several words, else `math-verify`."""
    options = dict(list_options(question))
    letter = reference_words.find_only_letter(reference.strip())
    if (
        letter in options
        or normalise_text(reference) in map(normalise_text, options.values())
        or reference_words.is_option(reference)
    ):
        return "choice"
    if read_designation(reference) is not None:
        return "math-verify"
    is_text = read_reference_quantity(reference) is None and reference_words.is_words(clean_notation(reference))
    is_one_word = reference_words.find_single_word(reference) is not None or reference_words.is_truth(reference)
    return "llm" if is_text and not is_one_word else "math-verify"
