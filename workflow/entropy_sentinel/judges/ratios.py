"""Ratios, `3:4`, and times of day, `3:40 PM`: what stands between colons."""

import re
from dataclasses import dataclass
from fractions import Fraction

from entropy_sentinel.judges import expressions
from entropy_sentinel.judges.expressions import UnreadableError
from entropy_sentinel.judges.numbers import Number, close, plain_number
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
    text, found = _HALF.sub("", text), _HALF.search(text)
    half = found[1].lower() if found else None
    seconds = _seconds(re.sub(r"\s", "", text), of_half_a_day=half is not None)
    written = at_top_level(text, re.compile(r"\s*:\s*"))
    parts = tuple(number for part in written if (number := _number(part)) is not None)
    if (half and seconds is None) or len(parts) < 2 or len(parts) < len(written):
        return None
    return Ratio(parts, seconds, half)


def _seconds(text: str, of_half_a_day: bool) -> int | None:
    """A time of day as it is written, in seconds; None if it is none."""
    found = _TIME.fullmatch(text)
    if found is None or not (1 <= int(found[1]) <= 12 if of_half_a_day else int(found[1]) < 24):
        return None
    return int(found[1]) * 3600 + int(found[2]) * 60 + int(found[3] or 0)


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
    times = [(time.seconds, time.half) for time in (reference, answer) if time.seconds is not None]
    if len(times) < 2:
        return False
    one, other = (_of_day(*time) for time in times)
    of_either_half = any(half is None and 1 <= seconds // 3600 <= 12 for seconds, half in times)
    return one == other or (of_either_half and (one - other) % (12 * 3600) == 0)


def _of_day(seconds: int, half: str | None) -> int:
    """Seconds since midnight."""
    if half is None:
        return seconds
    return seconds % (12 * 3600) + (12 * 3600 if half == "p" else 0)


def _proportional(one: tuple[Number, ...], other: tuple[Number, ...]) -> bool:
    if any(number.value == 0 for number in one + other):
        return False
    factors = [Fraction(b.value) / Fraction(a.value) for a, b in zip(one, other, strict=True)]
    return all(abs(float(factor / factors[0]) - 1) < 1e-9 for factor in factors)


def _number(text: str) -> Number | None:
    if (found := plain_number(text)) is not None:
        return found
    try:
        return expressions.number(expressions.read(text))
    except UnreadableError:
        return None
