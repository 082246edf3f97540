"""Dates and times of day in digits or with the names of months, and whether two of them are the same.

`05/01/2021` is 1 May or 5 January, so a date has one or several readings. Two dates are equal if each has the same
single reading or if both are written in the same notation; they differ if they share no reading.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import date
from typing import NamedTuple

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.?"
_DAY = r"(?P<day>\d{1,2})(?:\s*\^?\s*(?:st|nd|rd|th))?"
_YEAR = r"(?P<year>\d{4})"
_WEEKDAY = r"(?:(?:on\s+)?(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s+)?"
_IN_WORDS = [
    re.compile(_WEEKDAY + pattern, re.IGNORECASE)
    for pattern in (
        rf"{_MONTH}\s+{_DAY}(?:\s*,\s*|\s+){_YEAR}",
        rf"(?:the\s+)?{_DAY}(?:\s+of)?\s+{_MONTH}(?:\s*,\s*|\s+){_YEAR}",
        rf"{_YEAR}\s*,?\s*{_MONTH}\s+{_DAY}",
        rf"{_MONTH}\s+{_DAY}",
        rf"(?:the\s+)?{_DAY}(?:\s+of)?\s+{_MONTH}",
        rf"{_MONTH}\s*,?\s*{_YEAR}",
    )
]
_IN_DIGITS = re.compile(r"(\d{1,4})\s*(?P<separator>[-/.])\s*(\d{1,2})\s*(?P=separator)\s*(\d{1,4})")
_SHORT = re.compile(r"(\d{1,2})\s*[-/.]\s*(\d{1,2}|\d{4})")
_CLOCK = re.compile(r"(\d{1,2}):([0-5]\d)(?::([0-5]\d))?\s*(?:([ap])\.?\s?m\.?)?", re.IGNORECASE)
_HOUR = re.compile(r"(\d{1,2})\s*([ap])\.?\s?m\.?", re.IGNORECASE)
_HOUR_S, _HALF_DAY_S, _DAY_S = 3600, 43_200, 86_400


class Day(NamedTuple):
    """One reading of a date; a part that is not written is None, and a year of two digits is below 100."""

    year: int | None
    month: int
    day: int | None


def read_date(text: str, short_fractions: bool = False) -> frozenset[Day]:
    """The readings of a date; empty for any other text.

    `short_fractions`: whether `5/2021` and `5/1`, which are also fractions, are dates.
    """
    for pattern in _IN_WORDS:
        if match := pattern.fullmatch(text):
            parts = match.groupdict()
            month = 1 + next(i for i, name in enumerate(_MONTHS) if name.startswith(parts["month"].casefold()[:3]))
            year, day = (int(parts[name]) if parts.get(name) else None for name in ("year", "day"))
            return frozenset(_filter_possible([Day(year, month, day)]))
    if match := _IN_DIGITS.fullmatch(text):
        return frozenset(_filter_possible(_iterate_orders(match[1], match[3], match[4])))
    if short_fractions and (match := _SHORT.fullmatch(text)):
        first, second = int(match[1]), int(match[2])
        if len(match[2]) == 4:  # a month and a year
            days = [Day(second, first, None)]
        else:
            days = [Day(None, first, second), Day(None, second, first)]
        return frozenset(_filter_possible(days))
    return frozenset()


def _iterate_orders(first: str, second: str, third: str) -> Iterator[Day]:
    """Yield the orders of year, month and day in which three numbers may be meant; a year has two or four digits."""
    has_two_years = len(first) + len(third) > 6
    if 3 in (len(first), len(second), len(third)) or len(second) == 4 or has_two_years:
        return
    a, b, c = int(first), int(second), int(third)
    if len(first) == 4:
        yield Day(a, b, c)
        return
    if len(third) in (2, 4):
        yield Day(c, a, b)
        yield Day(c, b, a)
    if len(first) == 2 and len(third) <= 2:
        yield Day(a, b, c)


def _filter_possible(days: Iterable[Day]) -> Iterator[Day]:
    """Yield the days that a calendar has; without a year, 29 February is one."""
    for day in days:
        try:
            date(2000 if day.year is None or day.year < 100 else day.year, day.month, day.day or 1)
        except ValueError:
            continue
        yield day


def same_date(reference: frozenset[Day], answer: frozenset[Day]) -> bool | None:
    """Whether two dates are the same; None if only some readings agree, or only in the parts of both."""
    is_complete = all(day.year is not None and day.year >= 100 and day.day is not None for day in reference | answer)
    if reference == answer and len(reference) == 1:
        return True
    if is_complete and len(reference) == len(answer) == 1:
        return False
    agree = any(_days_agree(day, answer_day) for day in reference for answer_day in answer)
    return None if agree else False


def _days_agree(day: Day, answer_day: Day) -> bool:
    """Whether two readings agree in the parts that both have."""
    year, answer_year = day.year, answer_day.year
    if year is not None and answer_year is not None and min(year, answer_year) < 100:
        year, answer_year = year % 100, answer_year % 100
    pairs = ((year, answer_year), (day.month, answer_day.month), (day.day, answer_day.day))
    return all(left is None or right is None or left == right for left, right in pairs)


def read_clock(text: str, bare_hours: bool) -> frozenset[int]:
    """The seconds since midnight that a time of day may mean, as `3:40` has two; empty for any other text.

    `bare_hours`: whether `3 pm`, which may also be three picometres, is a time.
    """
    match = _CLOCK.fullmatch(text)
    if match:
        hour, minute, second, half = int(match[1]), int(match[2]), int(match[3] or 0), match[4]
    elif bare_hours and (match := _HOUR.fullmatch(text)):
        hour, minute, second, half = int(match[1]), 0, 0, match[2]
    else:
        return frozenset()
    if hour > 24 or (half and not 1 <= hour <= 12):
        return frozenset()
    seconds = hour * _HOUR_S + minute * 60 + second
    if half:  # 12 am is 0:00
        return frozenset([seconds % _HALF_DAY_S + (_HALF_DAY_S if half in "pP" else 0)])
    if 1 <= hour <= 12:
        return frozenset([seconds % _DAY_S, (seconds + _HALF_DAY_S) % _DAY_S])
    return frozenset([seconds % _DAY_S])


def same_clock(reference: frozenset[int], answer: frozenset[int]) -> bool | None:
    """Whether two times of day are the same; None if one of them may be in the morning or the afternoon."""
    if reference == answer:
        return True
    return None if reference & answer else False
