"""Intervals that a model states at a level: their coverage, and adjustments that reach the level."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropy_sentinel.core.analysis import Analysis


def analyses() -> "dict[str, type[Analysis]]":
    """The class of the analysis' config section, by the name of the analysis."""
    from papers.intervals.interval_settings import Intervals

    return {"intervals": Intervals}
