"""Ratios, `3:4`, and times of day, `3:40 PM`: what stands between colons."""

import re
from dataclasses import dataclass
from fractions import Fraction

from entropy_sentinel.judges.expressions import constant
from entropy_sentinel.judges.numbers import Number, close
from entropy_sentinel.judges.structure import at_top_level

_HALF = re.compile(r"\s*(?:\\text\{\s*)?([AaPp])\.?\s?[Mm]\.?\s*\}?$")
_TIME = re.compile(r"(\d{1,2}):([0-5]\d)(?::([0-5]\d))?")


@dataclass(frozen=True)
class Ratio:
    """What stands between colons; of a time of day also its `seconds`, and the `half` of the day if it is named."""

    parts: tuple[Number, ...]
    seconds: int | None = None
    half: str | None = None


def ratio(text: str) -> Ratio | None:
    """The ratio or time that cleaned `text` is as a whole; None if it is none."""
    if ":" not in text:
        return None
    text, half = _HALF.sub("", text), _HALF.search(text)
    named = half and half[1].lower()
    found = _TIME.fullmatch(re.sub(r"\s", "", text))
    hour = found and int(found[1])
    is_time = bool(found) and (1 <= hour <= 12 if named else hour < 24)
    parts = tuple(constant(part) for part in at_top_level(text, re.compile(r"\s*:\s*")))
    if (named and not is_time) or len(parts) < 2 or None in parts:
        return None
    seconds = (hour * 3600 + int(found[2]) * 60 + int(found[3] or 0)) if is_time else None
    return Ratio(parts, seconds, named)


def same_ratio(reference: Ratio, answer: Ratio) -> bool | None:
    """Whether two are the same ratio or time of day; None where they are the same as ratios only and may be times."""
    if reference.half or answer.half:
        return _same_time(reference, answer)
    if len(reference.parts) != len(answer.parts):
        return False
    if all(close(one, other, 1.0, None) for one, other in zip(reference.parts, answer.parts, strict=True)):
        return True
    if not _proportional(reference.parts, answer.parts):
        return False
    return None if reference.seconds is not None or answer.seconds is not None else True


def _same_time(reference: Ratio, answer: Ratio) -> bool:
    if reference.seconds is None or answer.seconds is None:
        return False
    one, other = _of_day(reference), _of_day(answer)
    of_either_half = [time for time in (reference, answer) if time.half is None and 1 <= time.seconds // 3600 <= 12]
    return one == other or (bool(of_either_half) and (one - other) % (12 * 3600) == 0)


def _of_day(time: Ratio) -> int:
    """Seconds since midnight."""
    if time.half is None:
        return time.seconds
    return time.seconds % (12 * 3600) + (12 * 3600 if time.half == "p" else 0)


def _proportional(one: tuple[Number, ...], other: tuple[Number, ...]) -> bool:
    if any(number.value == 0 for number in one + other):
        return False
    factors = [Fraction(b.value) / Fraction(a.value) for a, b in zip(one, other, strict=True)]
    return all(abs(float(factor / factors[0]) - 1) < 1e-9 for factor in factors)
