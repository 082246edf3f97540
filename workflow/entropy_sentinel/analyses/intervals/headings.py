"""Notes that stand below several exhibits of this analysis, and what all of them are told."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypedDict

from entropy_sentinel.analyses.intervals.catalogue import METHODS, level_title, method_title


class IntervalsShown(TypedDict):
    """What all exhibits and the page are told: the study's label, and the models whose weights are open."""

    label: str
    open_models: list[str]


# What is shown for the values of these columns.
WORDS: Mapping[str, Callable[[Any], str]] = {"level": level_title, "method": method_title}
SCORE_NOTE = (
    "Score: Winkler's, (U - L) + (2 / alpha) times the distance of the right answer from the interval, in powers of "
    "ten, alpha = 1 - level; lower is better. An infinite interval has an infinite score."
)
READ_NOTE = "Coverage is over the questions for which the method has an interval; the others count in no way."
COMMON_NOTE = "Methods are compared on the same questions: those for which all of them have an interval."
WILSON_NOTE = "from, to: Wilson's 95 % interval."


def end_note(whose: str, temperature: float, end: str) -> str:
    """What is said of a temperature that is the first or last candidate."""
    return f"{whose}: T* {temperature:g} is the {end} candidate; a better one may lie beyond it."


def method_note(methods: Iterable[str]) -> str:
    """What the methods are."""
    return "; ".join(f"{method_title(name)}: {METHODS[name].meaning}" for name in methods) + "."
