r"""Sets of real numbers: `(0, 1]`, `x < -1 \text{ or } x > 1`, `[1, 2] \cup [3, 4]`, `x \neq 3`, as SymPy's sets."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from sympy import Interval, Reals, Set, Union, oo

from entropy_sentinel.judges.expressions import constant
from entropy_sentinel.judges.structure import at_top_level, split

_RELATION = re.compile(r"\s*(\\[lg]eq(?![A-Za-z])|\\neq(?![A-Za-z])|\\[lg]t(?![A-Za-z])|[<>])\s*")
_SIGNS = {"\\lt": "<", "\\gt": ">", "\\leq": "<=", "\\geq": ">=", "\\neq": "!="}
_OR = re.compile(r"\s*,?\s*(?:\\text\{\s*,?\s*or\s*\}|(?<![A-Za-z\\])or(?![A-Za-z])|\\cup(?![A-Za-z]))\s*")
_AND = re.compile(r"\s*,?\s*(?:\\text\{\s*,?\s*and\s*\}|(?<![A-Za-z\\])and(?![A-Za-z])|\\cap(?![A-Za-z]))\s*")
_TURNED = str.maketrans("<>", "><")
_NAME = re.compile(r"\\?[A-Za-z]+(?:_\{?\w+\}?)?")
_ELEMENT = re.compile(r"([A-Za-z])\s*\\in(?![A-Za-z])\s*")
_INFINITE = re.compile(r"([-+]?)\s*\\infty\s*")


# Where a variable lies that is on this side of an end.
_SIDES: dict[str, Callable[[float], Set]] = {
    "<": lambda end: Interval.open(-oo, end),
    "<=": lambda end: Interval(-oo, end),
    ">": lambda end: Interval.open(end, oo),
    ">=": lambda end: Interval(end, oo),
    "!=": lambda end: Union(Interval.open(-oo, end), Interval.open(end, oo)),
}


@dataclass(frozen=True)
class RealSet:
    """A union of intervals with known ends, and the name of the variable where there is one."""

    name: str | None
    numbers: Set


def same_set(reference: RealSet, answer: RealSet) -> bool:
    """Whether two sets are the same; two names must be the same, too."""
    if reference.name and answer.name and reference.name != answer.name:
        return False
    one, other = _ends(reference.numbers), _ends(answer.numbers)
    return len(one) == len(other) and all(
        _near(low, other_low) and _near(high, other_high) and is_open == other_is_open
        for (low, high, *is_open), (other_low, other_high, *other_is_open) in zip(one, other, strict=True)
    )


def is_relation(text: str) -> bool:
    """Whether cleaned `text` has a sign of comparison."""
    return bool(_RELATION.search(text))


@lru_cache(maxsize=2048)
def real_set(text: str) -> RealSet | None:
    """The set that cleaned `text` says; None if it says none, or one that is no union of ranges with known ends."""
    names: set[str] = set()
    if found := _ELEMENT.match(text):
        names, text = {found[1]}, text[found.end() :]
    parts: list[Set] = []
    for part in at_top_level(text, _OR):
        inner: Set = Reals
        for one in at_top_level(part, _AND):
            found = _simple(one)
            if found is None:
                return None
            names |= {found.name} - {None}
            inner &= found.numbers
        parts.append(inner)
    return RealSet(next(iter(names), None), Union(*parts)) if len(names) <= 1 else None


def _simple(text: str) -> RealSet | None:
    """An interval, or a chain of at most two signs of comparison with the variable in the middle or at an end."""
    parts, signs = _RELATION.split(text)[::2], [_SIGNS.get(one, one) for one in _RELATION.findall(text)]
    if not signs:
        return _interval(text)
    variables = [
        place for place, part in enumerate(parts) if _NAME.fullmatch(part) and part not in ("\\infty", "\\pi", "e")
    ]
    if len(variables) != 1 or len(signs) > 2 or (len(signs) == 2 and variables != [1]):
        return None
    numbers: Set = Reals
    for place, sign in enumerate(signs):
        turned = place not in variables  # the variable is to the right of this sign
        if (end := _end(parts[place if turned else place + 1])) is None:
            return None
        numbers &= _SIDES[sign.translate(_TURNED) if turned else sign](end)
    return RealSet(parts[variables[0]], numbers)


def _interval(text: str) -> RealSet | None:
    structure = split(text)
    if structure is None or structure.held not in ("()", "(]", "[)", "[]") or len(structure.parts) != 2:
        return None
    low, high = (_end(part) for part in structure.parts)
    if low is None or high is None or not low < high:
        return None
    return RealSet(None, Interval(low, high, structure.held[0] == "(", structure.held[1] == ")"))


@lru_cache(maxsize=2048)
def _end(text: str) -> float | None:
    if found := _INFINITE.fullmatch(text):
        return -math.inf if found[1] == "-" else math.inf
    number = constant(text)
    return None if number is None else float(number.value)


def _ends(numbers: Set) -> list[tuple[float, float, bool, bool]]:
    """Low, high and which of them are left out, of each part of a set in order; a lone number is from it to it."""
    found: list[tuple[float, float, bool, bool]] = []
    for part in Union.make_args(numbers):
        if isinstance(part, Interval):
            found.append((float(part.start), float(part.end), bool(part.left_open), bool(part.right_open)))
        else:
            found += [(float(number), float(number), False, False) for number in part]
    return sorted(found)


def _near(one: float, other: float) -> bool:
    return one == other or math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
