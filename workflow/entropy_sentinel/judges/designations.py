r"""Digits that are not calculated: dates, times, ranges, scores, ratios, ranks, telephone numbers, versions.

`3-1` is a score, a range or a difference, and only a difference equals `4-2`. `designation_pairs` compares them.
"""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache

from entropy_sentinel.judges.dates import Day, read_clock, read_date
from entropy_sentinel.judges.notation import clean_notation
from entropy_sentinel.judges.numerals import read_numeral
from entropy_sentinel.judges.units import parse_unit


class DesignationKind(StrEnum):
    """What the digits name."""

    DATE = "a date"
    CLOCK = "a time of day"
    RATIO = "a ratio"
    RANGE = "a range or a score"
    ORDINAL = "a rank"
    # Telephone numbers, versions, addresses: every digit counts, and leading zeros do.
    CODE = "a code"
    # `2 \times 3`, which has the same product as `3 \times 2`.
    DIMENSIONS = "dimensions"
    NUMERAL = "a numeral in another base"


@dataclass(frozen=True)
class Designation:
    """A text of digits that is not calculated.

    `numbers` are its numbers as written, and `results` those that it has as a calculation, or in another unit.
    """

    kind: DesignationKind
    text: str
    numbers: tuple[Fraction, ...]
    results: tuple[Fraction, ...] = ()
    days: frozenset[Day] = field(default=frozenset())
    seconds: frozenset[int] = field(default=frozenset())
    units: tuple[str, ...] = ()
    is_telephone: bool = False
    base: int = 10

    @property
    def digits(self) -> str:
        """All digits, in order."""
        return re.sub(r"\D", "", self.text)


# Something that all texts below have: a quick test.
_ANY = re.compile(
    r"\d\D*[-:./x]|\d\s*\^?\s*(?:st|nd|rd|th|to\b|[apAP]\.?[mM]\b)|\d\D*\\times|\(\d|\+\d|\d \d|v\d|"
    r"^between\b|\d0s$|\b(?:AD|BC|BCE|CE)\b|"
    r"(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
)
# No longer text is one of these.
_LONGEST = 80
_BASE_SIGN = re.compile(r"_\s*[{(]?\s*\S|\bbase\b|0[xob]", re.IGNORECASE)
_NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_UNIT = r"\s*\\?%|\s*\^?\\circ(?:\s*[CF]\b)?|\s+[^\W\d_][^\d=,;^]*?"
_MONEY = r"(?:\\\$|€|£)\s*"
_RANGE = re.compile(
    rf"(?:from\s+|between\s+)?(?P<money>{_MONEY})?(?P<first>[-+]?{_NUMBER})(?P<unit>{_UNIT})??"
    rf"\s*(?P<joint>--?|(?<!\w)(?:to|through|until|till)(?!\w)|(?<!\w)and(?!\w))\s*"
    rf"(?P<money2>{_MONEY})?(?P<second>[-+]?{_NUMBER})(?P<unit2>{_UNIT})?",
    re.IGNORECASE,
)
_SEASON = re.compile(r"([12]\d)(\d\d)/(\d\d)")
_RATIO = re.compile(rf"{_NUMBER}(?:\s*:\s*{_NUMBER})+")
_DIMENSIONS = re.compile(r"\d+(?:\s*(?:\\times|x)\s*\d+)+")
_DOTTED_CODE = re.compile(r"v?\d+(?:\.\d+){2,}|v\d+\.\d+", re.IGNORECASE)
_DECIMAL = re.compile(r"\d+\.\d+")
# `79 AD`, `1990s`.
_ERA = re.compile(r"(?:AD|BCE?|CE)\s*\d+|\d+\s*(?:AD|BCE?|CE)|[12]\d\d0s")
# `7-6(5)`, `2-2 (4-3)`.
_SCORE_IN_PARTS = re.compile(r"\d+\s*[-:]\s*\d+\s*\(\s*\d+(?:\s*[-:]\s*\d+)?\s*\)")
_DIGIT_GROUPS = re.compile(r"\+?\s*(?:\(\s*\+?\d+\s*\)|\d+)(?:\s*[-./ ]\s*(?:\(\s*\d+\s*\)|\d+))*")
_GROUPS_IN_BRACKETS = re.compile(r"\+?\d*\s*\(\s*\d{2,5}\s*\)\s*\d+(?:[-. /]\d+)+")
_TELEPHONE_DIGITS = range(7, 16)
_ORDINAL = re.compile(r"(?:the\s+)?(\d+)\s*\^?\s*(?:st|nd|rd|th)", re.IGNORECASE)
_ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth",
    "twentieth",
)  # fmt: skip


@lru_cache(maxsize=4096)
def read_designation(text: str, reference_kind: DesignationKind | None = None) -> Designation | None:
    """What the whole of `text` names, such as a date, a range or a rank; None for a number, a formula or words.

    `reference_kind` is what the reference names if the text is an answer. An answer to a date or a time may be
    `5/2021` or `3 pm`, elsewhere a number or a quantity.
    """
    if _BASE_SIGN.search(text) and (numeral := read_numeral(_strip_markup(text))) is not None:
        numbers = () if numeral.value is None else (numeral.value,)
        return Designation(DesignationKind.NUMERAL, numeral.digits, numbers, base=numeral.base)
    plain = _simplify_text(text)
    rank = re.fullmatch(r"(?:the )?(\w+)", plain.casefold())
    if rank and rank[1] in _ORDINALS:
        return Designation(DesignationKind.ORDINAL, plain, (Fraction(_ORDINALS.index(rank[1]) + 1),))
    if len(plain) > _LONGEST or not _ANY.search(plain):
        return None
    return next(filter(None, (read(plain, reference_kind) for read in _READERS)), None)


def is_uncalculated(text: str) -> bool:
    """Whether a text has digits that must not be calculated. Products are: `2 \\times 3` answers `6`."""
    found = read_designation(text)
    return found is not None and found.kind is not DesignationKind.DIMENSIONS


def _strip_markup(text: str) -> str:
    """A text without braces, dollars and text commands; `1E6` stays, which is no power of ten in base 16."""
    return re.sub(r"\s+", " ", re.sub(r"\\text\s*(?=\{)|[${}]", "", text)).strip(" .")


def _simplify_text(text: str) -> str:
    """A text without LaTeX's braces and text commands, outer brackets and points at its ends."""
    text = re.sub(r"\\text\{([^{}]*)\}", r" \1 ", clean_notation(text)).replace("{", "").replace("}", "")
    text = re.sub(r"\s+", " ", text).strip(" .;,")
    inside = re.fullmatch(r"[(\[]([^()\[\],]*)[)\]]", text)
    return inside[1].strip() if inside else text


def _read_numbers(text: str) -> tuple[Fraction, ...]:
    """The numbers in a text, with their decimals."""
    return tuple(Fraction(number.replace(",", "")) for number in re.findall(_NUMBER, text))


def _read_integers(text: str) -> tuple[Fraction, ...]:
    """The runs of digits in a text as numbers."""
    return tuple(map(Fraction, re.findall(r"\d+", text)))


# Each of the functions `_read_...` is given the kind of the reference if the text is an answer, else None.


def _read_date(text: str, reference_kind: DesignationKind | None) -> Designation | None:
    if not (days := read_date(text, reference_kind is DesignationKind.DATE)):
        return None
    day = next(iter(days))
    numbers = tuple(Fraction(part) for part in day if part is not None)
    return Designation(DesignationKind.DATE, text, numbers, days=days)


def _read_clock(text: str, reference_kind: DesignationKind | None) -> Designation | None:
    dotted_or_upper = bool(re.search(r"[AP]M$|[ap]\. ?m", text))
    if not (seconds := read_clock(text, reference_kind is DesignationKind.CLOCK or dotted_or_upper)):
        return None
    numbers = _read_integers(text)
    first, second = (*numbers, Fraction(0))[:2]
    # Of `3:40` as a duration in its smaller unit, in hours (or minutes), and in seconds.
    results = (60 * first + second, first + second / 60, 3600 * first + 60 * second) if ":" in text else ()
    return Designation(DesignationKind.CLOCK, text, numbers, results, seconds=seconds)


def _read_ratio(text: str, reference_kind: DesignationKind | None) -> Designation | None:
    """Such as `2:3`; its results are both quotients of two numbers."""
    if not _RATIO.fullmatch(text):
        return None
    numbers = _read_numbers(text)
    results: tuple[Fraction, ...] = ()
    if len(numbers) == 2 and all(numbers):
        results = (numbers[0] / numbers[1], numbers[1] / numbers[0])
    return Designation(DesignationKind.RATIO, text, numbers, results)


def _read_season(text: str, reference_kind: DesignationKind | None) -> Designation | None:
    """`2015/16`, the second year being the next one."""
    match = _SEASON.fullmatch(text)
    if not match or (int(match[2]) + 1) % 100 != int(match[3]):
        return None
    first = Fraction(match[1] + match[2])
    second = int(match[3])
    return Designation(DesignationKind.RANGE, text, (first, first + 1), (first / second,) if second else ())


def _read_range(text: str, reference_kind: DesignationKind | None) -> Designation | None:
    """A range or a score; its `results` are the values of the text as a subtraction."""
    match = _RANGE.fullmatch(text)
    if not match:
        return None
    joint = match["joint"].casefold()
    starts_with_between = text.casefold().startswith("between")
    # `between 3 and 5`, `3 to 5`; but `3 and 5` is not a range.
    if (joint == "and") != starts_with_between:
        return None
    units = tuple(match[name] or "" for name in ("money", "unit", "money2", "unit2"))
    if not all(map(_is_unit, units)):
        return None
    first, second = (Fraction(match[name].replace(",", "")) for name in ("first", "second"))
    results: tuple[Fraction, ...] = (first - second,)
    if joint == "--":
        # `5--3` has LaTeX's dash, so 5 - 3, or a minus before a negative number, so 5 - (-3). After a negative number,
        # as in `-5--3`, the range ends at a negative one.
        results = (first - second, first + second)
        second = -second if first < 0 else second
    return Designation(
        DesignationKind.RANGE, text, (first, second), results, units=tuple(filter(None, map(str.strip, units)))
    )


def _is_unit(text: str) -> bool:
    """Whether letters in a range are a unit rather than a variable, as in `5-2 n`."""
    if not (letters := text.strip()) or not letters[0].isalpha():
        return True
    unit = parse_unit(letters)
    return len(letters) > 3 or (len(letters) > 1 and unit is not None and unit.powers is not None)


def _read_ordinal(text: str, reference_kind: DesignationKind | None) -> Designation | None:
    """A rank in digits, such as `3rd`."""
    match = _ORDINAL.fullmatch(text)
    return Designation(DesignationKind.ORDINAL, text, (Fraction(match[1]),)) if match else None


def _read_dimensions(text: str, reference_kind: DesignationKind | None) -> Designation | None:
    """Such as `2 x 3`; its only result is the product."""
    if not _DIMENSIONS.fullmatch(text) or text.startswith("0x"):
        return None
    numbers = _read_integers(text)
    product = Fraction(1)
    for number in numbers:
        product *= number
    return Designation(DesignationKind.DIMENSIONS, text, numbers, (product,))


def _read_code(text: str, reference_kind: DesignationKind | None) -> Designation | None:
    """A telephone number, a version, an era, a score in parts, or other groups of digits that are no calculation."""
    is_version = reference_kind is DesignationKind.CODE and _DECIMAL.fullmatch(text)
    if is_version or _DOTTED_CODE.fullmatch(text) or _SCORE_IN_PARTS.fullmatch(text) or _ERA.fullmatch(text):
        return Designation(DesignationKind.CODE, text, _read_integers(text))
    if not _DIGIT_GROUPS.fullmatch(text) and not _GROUPS_IN_BRACKETS.fullmatch(text):
        return None
    groups = re.findall(r"\d+", text)
    is_telephone = len("".join(groups)) in _TELEPHONE_DIGITS and (len(groups) > 2 or text[0] in "+(0")
    if _is_calculation(text, groups):
        return None
    return Designation(
        DesignationKind.CODE, text, _read_integers(text), _calculate_results(groups, text), is_telephone=is_telephone
    )


def _is_calculation(text: str, groups: list[str]) -> bool:
    """Whether grouped digits are a number or a product: a decimal, a fraction, thousands, `3(4)`."""
    if len(groups) < 2:
        return not (text.startswith("+") and len(groups[0]) in _TELEPHONE_DIGITS)
    if "(" in text:
        return not _GROUPS_IN_BRACKETS.fullmatch(text) and not text.startswith("+")
    begins_with_zero = len(groups[0]) > 1 and groups[0].startswith("0")
    separators = set(re.sub(r"[\d+]", "", text))
    if separators == {" "}:
        thousands = all(len(group) == 3 for group in groups[1:])
        is_telephone = len(groups) > 2 and not thousands and len("".join(groups)) in _TELEPHONE_DIGITS
        return not begins_with_zero and not text.startswith("+") and not is_telephone
    if separators <= {".", " "}:
        return True
    if len(groups) == 2:
        return not (begins_with_zero and "/" in text)
    # `2 1/2` is a mixed number.
    return len(groups) == 3 and bool(re.fullmatch(r"\d+ \d+ ?/ ?\d+", text))


def _calculate_results(groups: list[str], text: str) -> tuple[Fraction, ...]:
    """The value of `05/01`, and those of `1-1/2`: a difference, or one and a half."""
    numbers = [Fraction(group) for group in groups]
    if len(numbers) == 2 and "/" in text and numbers[1]:
        return (numbers[0] / numbers[1],)
    if re.fullmatch(r"\d+ ?- ?\d+ ?/ ?\d+", text) and numbers[2]:
        share = numbers[1] / numbers[2]
        return (numbers[0] - share, numbers[0] + share)
    return ()


_READERS = (
    _read_date, _read_clock, _read_ratio, _read_season, _read_range, _read_ordinal, _read_dimensions, _read_code,
)  # fmt: skip
