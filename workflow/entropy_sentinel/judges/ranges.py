r"""Sets of real numbers: `(0, 1]`, `x < -1 \text{ or } x > 1`, `[1, 2] \cup [3, 4]`, `x \neq 3`, as disjoint ranges."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from entropy_sentinel.judges.expressions import constant
from entropy_sentinel.judges.structure import at_top_level, split

_RELATION = re.compile(r"\s*(\\[lg]eq(?![A-Za-z])|\\neq(?![A-Za-z])|\\[lg]t(?![A-Za-z])|[<>])\s*")
_SIGNS = {"\\lt": "<", "\\gt": ">", "\\leq": "<=", "\\geq": ">=", "\\neq": "!="}
_OR = re.compile(r"\s*,?\s*(?:\\text\{\s*,?\s*or\s*\}|(?<![A-Za-z\\])or(?![A-Za-z])|\\cup(?![A-Za-z]))\s*")
_AND = re.compile(r"\s*,?\s*(?:\\text\{\s*,?\s*and\s*\}|(?<![A-Za-z\\])and(?![A-Za-z])|\\cap(?![A-Za-z]))\s*")
_NAME = re.compile(r"\\?[A-Za-z]+(?:_\{?\w+\}?)?")
_ELEMENT = re.compile(r"([A-Za-z])\s*\\in(?![A-Za-z])\s*")
_INFINITE = re.compile(r"([-+]?)\s*\\infty\s*")


@dataclass(frozen=True)
class Range:
    """Numbers between `low` and `high`; `holds_low`, `holds_high`: with these."""

    low: float
    high: float
    holds_low: bool
    holds_high: bool


@dataclass(frozen=True)
class Ranges:
    """Disjoint ranges in order, and the name of the variable where there is one."""

    name: str | None
    ranges: tuple[Range, ...]


def same_ranges(reference: Ranges, answer: Ranges) -> bool:
    """Whether two sets are the same; two names must be the same, too."""
    if reference.name and answer.name and reference.name != answer.name:
        return False
    return len(reference.ranges) == len(answer.ranges) and all(
        _near(one.low, other.low)
        and _near(one.high, other.high)
        and (one.holds_low, one.holds_high) == (other.holds_low, other.holds_high)
        for one, other in zip(reference.ranges, answer.ranges, strict=True)
    )


def is_relation(text: str) -> bool:
    """Whether cleaned `text` has a sign of comparison."""
    return bool(_RELATION.search(text))


@lru_cache(maxsize=2048)
def real_set(text: str) -> Ranges | None:
    """The set that cleaned `text` says; None if it says none, or one that is no union of ranges with known ends."""
    names: set[str] = set()
    if element := _ELEMENT.match(text):
        names, text = {element[1]}, text[element.end() :]
    ranges: list[Range] = []
    for part in at_top_level(text, _OR):
        inner = [Range(-math.inf, math.inf, False, False)]
        for one in at_top_level(part, _AND):
            found = _simple(one)
            if found is None:
                return None
            if found.name:
                names.add(found.name)
            inner = [both for a in inner for b in found.ranges if (both := _common(a, b)) is not None]
        ranges += inner
    if len(names) > 1:
        return None
    return Ranges(next(iter(names), None), _merged(ranges))


def _simple(text: str) -> Ranges | None:
    """An interval, or a chain of at most two signs of comparison with the variable in the middle or at an end."""
    parts, signs = _RELATION.split(text)[::2], [_SIGNS.get(one, one) for one in _RELATION.findall(text)]
    if not signs:
        return _interval(text)
    variables = [
        place for place, part in enumerate(parts) if _NAME.fullmatch(part) and part not in ("\\infty", "\\pi", "e")
    ]
    if len(variables) != 1 or len(signs) > 2 or (len(signs) == 2 and variables != [1]):
        return None
    found = {place: _end(part) for place, part in enumerate(parts) if place not in variables}
    ends = {place: end for place, end in found.items() if end is not None}
    if len(ends) < len(found):
        return None
    ranges = [Range(-math.inf, math.inf, False, False)]
    for place, sign in enumerate(signs):
        turned = place not in variables  # the variable is to the right of this sign
        halves = _half_lines(ends[place if turned else place + 1], _turned(sign) if turned else sign)
        ranges = [both for a in ranges for b in halves if (both := _common(a, b)) is not None]
    return Ranges(parts[variables[0]], tuple(ranges))


def _half_lines(end: float, sign: str) -> list[Range]:
    """Where a variable lies that is `sign` `end`."""
    below = Range(-math.inf, end, False, sign == "<=")
    above = Range(end, math.inf, sign == ">=", False)
    return {"<": [below], "<=": [below], ">": [above], ">=": [above], "!=": [below, above]}[sign]


def _turned(sign: str) -> str:
    return sign.translate(str.maketrans("<>", "><"))


def _interval(text: str) -> Ranges | None:
    structure = split(text)
    if structure is None or structure.held not in ("()", "(]", "[)", "[]") or len(structure.parts) != 2:
        return None
    low, high = (_end(part) for part in structure.parts)
    if low is None or high is None or not low < high:
        return None
    holds_low, holds_high = structure.held[0] == "[" and low > -math.inf, structure.held[1] == "]" and high < math.inf
    return Ranges(None, (Range(low, high, holds_low, holds_high),))


@lru_cache(maxsize=2048)
def _end(text: str) -> float | None:
    if found := _INFINITE.fullmatch(text):
        return -math.inf if found[1] == "-" else math.inf
    number = constant(text)
    return None if number is None else float(number.value)


def _common(one: Range, other: Range) -> Range | None:
    """The numbers in both; None if there are none."""
    low, high = max(one.low, other.low), min(one.high, other.high)
    holds_low = all(range_.holds_low for range_ in (one, other) if range_.low == low)
    holds_high = all(range_.holds_high for range_ in (one, other) if range_.high == high)
    if low > high or (low == high and not (holds_low and holds_high)):
        return None
    return Range(low, high, holds_low, holds_high)


def _merged(ranges: Iterable[Range]) -> tuple[Range, ...]:
    merged: list[Range] = []
    for one in sorted(ranges, key=lambda range_: (range_.low, not range_.holds_low)):
        last = merged[-1] if merged else None
        if last is None or one.low > last.high or (one.low == last.high and not (one.holds_low or last.holds_high)):
            merged.append(one)
            continue
        high = max(last.high, one.high)
        holds = any(range_.holds_high for range_ in (last, one) if range_.high == high)
        merged[-1] = Range(last.low, high, last.holds_low, holds)
    return tuple(merged)


def _near(one: float, other: float) -> bool:
    return one == other or math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
