r"""Numerals in a base other than ten, `52_8` or `1A \text{ (base 16)}`, and decimals whose digits go on: `0.333...`."""

import re
from fractions import Fraction
from typing import NamedTuple

_NAMES = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_BASES = {name: number for number, name in enumerate(_NAMES, start=2)} | {"sixteen": 16, "twenty": 20}
_BASE = rf"(?P<base>[1-9]\d?|{'|'.join(_BASES)})"
_NUMERALS = (
    re.compile(rf"\(?\s*(?P<digits>[0-9A-Za-z]+)\s*\)?\s*_\s*\(?\s*(?:base\s*)?{_BASE}\s*\)?", re.IGNORECASE),
    re.compile(
        rf"\(?\s*(?P<digits>[0-9A-Za-z]+)\s*\)?\s*,?\s*\(?\s*(?:in\s+|to\s+)?base[\s-]*{_BASE}\s*\)?", re.IGNORECASE
    ),
    re.compile(r"0(?P<base>[xob])(?P<digits>[0-9A-Fa-f]+)", re.IGNORECASE),
)
_PREFIXES = {"x": 16, "o": 8, "b": 2}
_LARGEST_BASE = 36


class Numeral(NamedTuple):
    """A numeral's digits in upper case without leading zeros, its base, and its value; None for impossible digits."""

    digits: str
    base: int
    value: Fraction | None


def read_numeral(text: str) -> Numeral | None:
    """The numeral that names its base; None for any other text, such as the variable `a_2`."""
    for pattern in _NUMERALS:
        if match := pattern.fullmatch(text):
            name = match["base"].casefold()  # in digits, as a word or, in `0x1F`, as a letter
            digits = match["digits"].upper().lstrip("0") or "0"
            base = _PREFIXES[name] if name in _PREFIXES else int(_BASES.get(name, name))
            # Letters alone are a variable, unless they are several ones in base 16.
            has_digit = bool(re.search(r"\d", match["digits"])) or (base == 16 and len(digits) > 1)
            if 2 <= base <= _LARGEST_BASE and has_digit:
                try:
                    return Numeral(digits, base, Fraction(int(digits, base)))
                except ValueError:
                    return Numeral(digits, base, None) if digits.isdecimal() else None
    return None


_SIGN_AND_WHOLE = r"(?P<sign>[-+]?)\s*(?P<whole>\d*)\.(?P<fixed>\d*)"
_RECURRING = [
    re.compile(_SIGN_AND_WHOLE + pattern + r"\s*(?:\\ldots\s*)?")
    for pattern in (
        r"\s*\\(?:overline|bar|dot)\s*(?:\{\s*(?P<period>\d+)\s*\}|(?P<digit>\d))",
        r"\s*\(\s*(?P<period>\d+)\s*\)",
        r"\s*\\dot\s*\{?\s*(?P<first>\d)\s*\}?\s*(?P<middle>\d*)\s*\\dot\s*\{?\s*(?P<last>\d)\s*\}?",
    )
]
_GOES_ON = re.compile(r"(?P<sign>[-+]?)\s*(?P<whole>\d*)\.(?P<digits>\d+)\s*\\ldots\s*")
# Digits at the end that are a period twice or more.
_PERIOD_AT_END = re.compile(r"(?P<period>\d+?)(?P=period)+$")


class EndlessDecimal(NamedTuple):
    """A decimal whose digits go on: its value if they repeat, and the least and the largest value it can have."""

    repeated: Fraction | None
    least: Fraction
    largest: Fraction


def read_recurring(text: str) -> Fraction | None:
    r"""The value of `0.\overline{3}`, `0.1\dot{6}` or `0.(142857)`; None for any other text."""
    for pattern in _RECURRING:
        if match := pattern.fullmatch(text):
            parts = match.groupdict()
            period = parts.get("period") or parts.get("digit")
            period = period or parts["first"] + parts["middle"] + parts["last"]
            return _compute_recurring(match["sign"], match["whole"], match["fixed"], period)
    return None


def read_endless(text: str) -> EndlessDecimal | None:
    r"""The decimal that `0.333\ldots` begins; None for any other text."""
    match = _GOES_ON.fullmatch(text)
    if match is None:
        return None
    sign = -1 if match["sign"] == "-" else 1
    written = Fraction(f"{match['whole'] or 0}.{match['digits']}")
    last_place = Fraction(1, 10 ** len(match["digits"]))
    least, largest = sorted((sign * written, sign * (written + last_place)))
    repeated = None
    if period := _PERIOD_AT_END.search(match["digits"]):
        fixed = match["digits"][: period.start()]
        repeated = _compute_recurring(match["sign"], match["whole"], fixed, period["period"])
    return EndlessDecimal(repeated, least, largest)


def _compute_recurring(sign: str, whole: str, fixed: str, period: str) -> Fraction:
    """The value of a decimal: `fixed` digits after the point, then the `period` repeatedly."""
    digits = Fraction(int(f"{whole or 0}{fixed}")) + Fraction(int(period), int("9" * len(period)))
    value = digits / int("1" + "0" * len(fixed))
    return -value if sign == "-" else value


_OTHER_NOTATIONS = (
    # 1.234.567 with points between thousands; 3,14 and 1.234,5 with a decimal comma; 1'234.5.
    (re.compile(r"[-+]?\d{1,3}(?:\.\d{3})+"), (".", "")),
    (re.compile(r"[-+]?\d+,\d+"), (",", ".")),
    (re.compile(r"[-+]?\d{1,3}(?:\.\d{3})+,\d+"), (".", "", ",", ".")),
    (re.compile(r"[-+]?\d{1,3}(?:['’ ]\d{3})+(?:\.\d+)?"), ("'", "", "’", "", " ", "")),
    (re.compile(r"[-+]?\d{1,3}(?:['’ ]\d{3})+(?:,\d+)?"), ("'", "", "’", "", " ", "", ",", ".")),
)


def parse_foreign_notation(text: str) -> Fraction | None:
    """The number that digits are in another country's notation: 3.14 for `3,14`; None if there is none."""
    for pattern, replacements in _OTHER_NOTATIONS:
        if pattern.fullmatch(text):
            for old, new in zip(replacements[::2], replacements[1::2], strict=True):
                text = text.replace(old, new)
            return Fraction(text)
    return None
