"""Equations: `y = 2x + 1` and `2x - y + 1 = 0` are the same line."""

import re
from dataclasses import dataclass

from entropy_sentinel.judges import expressions
from entropy_sentinel.judges.expressions import UnreadableError
from entropy_sentinel.judges.structure import at_top_level

_LISTED = re.compile(r"[,;]|\\approx(?![A-Za-z])|\\text\{|(?<![A-Za-z\\])(?:and|or)(?![A-Za-z])")
_NAME = re.compile(
    r"\\text\{[^{}]*\}|(?:\\[A-Za-z]+\s*|[A-Za-z]\w*'?)(?:_\{?\w+\}?)?(?:\s*\([A-Za-z, ]*\)|\s*[A-Za-z]|\{[^{}]*\})*"
)


@dataclass(frozen=True)
class Equation:
    """Two sides of one equation, as text."""

    left: str
    right: str

    @property
    def names(self) -> bool:
        r"""Whether the left side is a name for the right one: `y`, `f(x)`, `\text{Area}`, `\angle ABC`, or a number."""
        return bool(_NAME.fullmatch(self.left)) or not _has_variables(self.left)


def equation(text: str) -> Equation | None:
    """The equation that cleaned `text` is; None for another text, a list of equations, a chain."""
    if text.count("=") != 1 or len(at_top_level(text, _LISTED)) > 1:
        return None
    left, right = (side.strip() for side in text.split("="))
    return Equation(left, right) if left and right else None


def same_equation(reference: Equation, answer: Equation) -> bool | None:
    """Whether two equations have the same solutions, up to a factor; None where one of them cannot be read."""
    try:
        sides = [(expressions.read(one.left), expressions.read(one.right)) for one in (reference, answer)]
    except UnreadableError:
        return None
    return expressions.same_equation(*sides)


def _has_variables(text: str) -> bool:
    return bool(re.search(r"[A-Za-z]", re.sub(r"\\text\{[^{}]*\}|\\[A-Za-z]+", " ", text)))
