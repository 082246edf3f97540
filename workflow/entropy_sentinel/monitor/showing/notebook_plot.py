"""Show the pictures of the monitor's page and of the page of `fit` in a notebook."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.monitor.monitor_result import Monitored
from entropy_sentinel.monitor.showing.page_pictures import Ranges, labelled, over_time, ranked
from entropy_sentinel.monitor.showing.validation_diagrams import (
    Diagram,
    compare_domains,
    draw_domains,
    draw_reliability,
)
from entropy_sentinel.rendering.html_pages import render

_TEMPLATE = Path(__file__).with_name("plot.html.j2")


@dataclass(frozen=True)
class Picture:
    """Pictures that a notebook shows.

    Attributes:
        html: A self-contained HTML fragment; write it to a file to keep the picture.
    """

    html: str = field(repr=False)

    def _repr_html_(self) -> str:
        return self.html


def plot(shown: Monitored | FittedEstimator) -> Picture:
    """Draw the result of a monitor, or the validation of an estimator.

    Args:
        shown: What to draw. For a result of `monitor`: accuracy and expected errors of the slices; with windows those
            of the newest one, and estimates over time; with labels also the accuracy from labels. For an estimator from
            `fit` or `load`: the estimate of each held-out domain with its 90 % interval, and the true accuracy; and a
            reliability diagram, the share of correct responses by P(correct).

    Returns:
        The pictures; a notebook shows them if they are the value of a cell.

    Raises:
        InputError: For any other value, and if there is nothing to draw.

    Examples:
        >>> import entropy_sentinel as es
        >>> features = es.features(es.read_logs(es.example().traces))
        >>> estimator = es.fit(features, es.read_labels(es.example().labels), "atc-nll_sum")
        >>> es.plot(estimator)
        Picture()
    """
    if isinstance(shown, FittedEstimator):
        validation = shown.validation
        diagrams = [draw_domains(validation), draw_reliability(validation)]
        nothing = "no labelled domain was estimated without its labels"
        return _picture([compare_domains(validation)], None, nothing, diagrams)
    if isinstance(shown, Monitored):
        first = ranked(shown, newest=bool(shown.newest))
        return _picture([first, labelled(shown)], over_time(shown), "no slice has an estimate")
    raise InputError(f"plot: must be an estimator or a result of `monitor`, was {type(shown).__name__}")


def _picture(
    ranges: Sequence[Ranges | None], panels: Any, nothing: str, diagrams: Sequence[Diagram | None] = ()
) -> Picture:
    """The pictures that are there."""
    bars = [picture for picture in ranges if picture is not None]
    squares = [diagram for diagram in diagrams if diagram is not None]
    if not bars and not squares:
        raise InputError(f"plot: there is nothing to draw: {nothing}")
    return Picture(render(_TEMPLATE, diagrams=squares, ranges=bars, over_time=panels))
