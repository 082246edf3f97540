"""Show the pictures of the monitor's page and of the page of `fit` in a notebook."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.whole_files import write_whole
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.monitor.monitor_result import Monitored
from entropy_sentinel.monitor.showing.page_pictures import (
    AccuracyOverTime,
    Ranges,
    compare_labels,
    draw_over_time,
    rank_slices,
)
from entropy_sentinel.monitor.showing.validation_diagrams import (
    Diagram,
    compare_domains,
    draw_domains,
    draw_reliability,
)
from entropy_sentinel.rendering.html_pages import render

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TEMPLATE = Path(__file__).with_name("plot.html.j2")
# The page that `save` writes: the colours of its text are the browser's.
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Entropy Sentinel</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>:root {{ color-scheme: light dark; }} body {{ font-family: system-ui, sans-serif; margin: 1rem; }}</style></head>
<body>{html}</body></html>
"""
_SUFFIXES = (".html", ".png", ".svg", ".pdf")


@dataclass(frozen=True)
class Picture:
    """Pictures that a notebook shows, and that `save` writes to a file.

    Attributes:
        html: A self-contained HTML fragment.
    """

    html: str = field(repr=False)
    _diagrams: tuple[Diagram, ...] = field(repr=False)
    _ranges: tuple[Ranges, ...] = field(repr=False)
    _over_time: AccuracyOverTime | None = field(repr=False)

    @cached_property
    def figure(self) -> "Figure":
        """The pictures as a figure of matplotlib, to change or to put into a report."""
        try:
            from entropy_sentinel.monitor.showing.plot_figure import draw_figure
            from entropy_sentinel.rendering.figure_style import apply_style
        except ModuleNotFoundError as error:
            raise InputError(
                f"plot: a figure needs {error.name}: pip install {error.name}; without it, save the picture as .html"
            ) from None
        with apply_style():
            return draw_figure(self._diagrams, self._ranges, self._over_time)

    def save(self, path: str | Path) -> None:
        """Write the pictures to a file.

        Args:
            path: The file: .html for a page that looks as in a notebook; .png, .svg or .pdf for the figure, which needs
                matplotlib.

        Raises:
            InputError: For another suffix, or without matplotlib.
        """
        path = Path(path)
        if path.suffix not in _SUFFIXES:
            raise InputError(f"plot: the name of the file must end with {', '.join(_SUFFIXES)}, got '{path}'")
        if path.suffix == ".html":
            write_whole(path, _PAGE.format(html=self.html))
            return
        figure = self.figure
        from entropy_sentinel.rendering.figure_style import save_figure

        save_figure(figure, path)

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
        The pictures; a notebook shows them if they are the value of a cell, and `save("plot.png")` writes a file.

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
        return _draw_picture([compare_domains(validation)], None, nothing, diagrams)
    if isinstance(shown, Monitored):
        first = rank_slices(shown, newest=bool(shown.newest))
        return _draw_picture([first, compare_labels(shown)], draw_over_time(shown), "no slice has an estimate")
    raise InputError(f"plot: must be an estimator or a result of `monitor`, got {type(shown).__name__}")


def _draw_picture(
    ranges: Sequence[Ranges | None],
    panels: AccuracyOverTime | None,
    nothing: str,
    diagrams: Sequence[Diagram | None] = (),
) -> Picture:
    """The pictures that are not null; raises InputError, which says `nothing`, if all are.

    `ranges` are lines of slices or domains, `panels` estimates over time, and `diagrams` squares.
    """
    bars = [picture for picture in ranges if picture is not None]
    squares = [diagram for diagram in diagrams if diagram is not None]
    if not bars and not squares:
        raise InputError(f"plot: there is nothing to draw: {nothing}")
    html = render(_TEMPLATE, diagrams=squares, ranges=bars, over_time=panels)
    return Picture(html, tuple(squares), tuple(bars), panels)
