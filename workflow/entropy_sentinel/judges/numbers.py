"""Plain numbers: `1,234`, `-0.5`, `1.9 \\times 10^{-47}`. When two of them are close enough."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from entropy_sentinel.judges.notation import thousands_joined

NUMBER = (
    r"[-+]?\s*(?:(?:\d{1,3}(?:,\d{3}|\s\d{3})+(?!\d)|\d+)(?:\.\d*)?|\.\d+)"
    r"(?:\s*\\(?:times|cdot)\s*10\^\{[-+]?\d{1,4}\})?"
)
# 2 1/2
MIXED = r"[-+]?\s*\d+\s+\d+\s*/\s*\d+"
_POWER = re.compile(r"([-+]?)\s*10\^\{([-+]?\d{1,4})\}")
_DECIMAL = re.compile(r"([-+]?)\s*(\d+(?:\.\d*)?|\.\d+)(?:\s*\\(?:times|cdot)\s*10\^\{([-+]?\d{1,4})\})?")
# 3/4, \frac{3}{4}, \frac34, and either after a whole number: 1\frac{3}{4}, 1 3/4
_FRACTION = re.compile(
    r"([-+]?)\s*(?:(?:(\d+)\s*)?\\frac\s*(?:\{\s*(-?\d+)\s*\}|(\d))\s*(?:\{\s*(\d+)\s*\}|(\d))|"
    r"(?:(\d+)\s+)?(\d+)\s*/\s*(\d+))"
)

# Digits that Python turns into an integer, and more than anybody means.
_LONGEST = 2000

# Without a tolerance of the benchmark, decimals are compared to six places; below this size that is fewer than four
# digits, down to none, and there they are compared to four digits.
_SMALL = 0.01
_SMALL_TOLERANCE = 1e-4
_PLACES = 0.5e-6
# Rounding of floats themselves.
_FLOAT = 1e-12


@dataclass(frozen=True)
class Number:
    """A value; `exact` where no decimal point says that it may be rounded; `digits` as written that are significant."""

    value: Fraction | float
    exact: bool
    digits: int | None = None


def plain_number(text: str) -> Number | None:
    """The number that cleaned `text` writes in digits; None if it is anything else."""
    if len(text) > _LONGEST:
        return None
    text = thousands_joined(text.strip())
    if found := _DECIMAL.fullmatch(text):
        exponent = int(found[3] or 0)
        value = Fraction(Decimal(found[2]).scaleb(exponent))
        return Number(_signed(value, found[1]), "." not in found[2] and exponent >= 0, _significant(found[2]))
    if found := _POWER.fullmatch(text):
        return Number(_signed(Fraction(10) ** int(found[2]), found[1]), True, 1)
    if found := _FRACTION.fullmatch(text):
        whole = int(found[2] or found[7] or 0)
        above, below = int(found[3] or found[4] or found[8]), int(found[5] or found[6] or found[9])
        return Number(_signed(whole + Fraction(above, below), found[1]), True) if below else None
    return None


def _signed(value: Fraction, sign: str) -> Fraction:
    return -value if sign == "-" else value


def close(reference: Number, answer: Number, scale: float, tolerance: Mapping[str, Any] | None) -> bool:
    """Whether `answer`, times `scale` to be in the reference's unit, is the reference, by a benchmark's tolerance.

    `tolerance` has the keys of `sources.settings.Tolerance`. Without one, two exact numbers must be the same, others
    the same to six decimals.
    """
    if reference.exact and answer.exact and scale == 1.0:
        if reference.value == answer.value:
            return True
        if tolerance is None and isinstance(reference.value, Fraction) and isinstance(answer.value, Fraction):
            return False
    try:
        value, other = float(reference.value), float(answer.value) * scale
    except OverflowError:
        return reference.value == answer.value
    if math.isclose(value, other, rel_tol=_FLOAT):
        return True
    if tolerance is not None and not _whole_and_exact(reference, tolerance):
        return _within(value, other, reference.digits, tolerance)
    if reference.exact and answer.exact:
        return math.isclose(value, other, rel_tol=1e-9)
    if abs(value) < _SMALL:
        return math.isclose(value, other, rel_tol=_SMALL_TOLERANCE)
    return abs(value - other) <= _PLACES


def _whole_and_exact(reference: Number, tolerance: Mapping[str, Any]) -> bool:
    return not tolerance.get("whole_numbers", True) and reference.exact and reference.value == int(reference.value)


def _within(value: float, other: float, digits: int | None, tolerance: Mapping[str, Any]) -> bool:
    if (relative := tolerance.get("relative")) is not None:
        return abs(value - other) <= float(relative) * abs(value) * (1 + _FLOAT)
    wanted = tolerance["significant_digits"]
    wanted = digits if wanted == "reference" else wanted
    return wanted is not None and _rounded(value, wanted) == _rounded(other, wanted)


def _rounded(value: float, digits: int) -> str:
    return f"{value:.{digits - 1}e}"


def _significant(digits: str) -> int:
    """Significant digits as written: of `0.0250` three, of `1200` four."""
    return len(digits.lstrip("+-").replace(".", "").lstrip("0")) or 1
