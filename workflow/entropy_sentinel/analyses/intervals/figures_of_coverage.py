"""How many intervals hold against how many should, from a frame SCORES; and the right answers."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from entropy_sentinel.analyses.intervals.catalogue import TEST, method_title
from entropy_sentinel.report.figures import BLUE, GREEN, ORANGE, Drawing, new_figure, nothing, plain

_COLOURS, _MARKERS = (BLUE, ORANGE, GREEN), "osD^vP"
_BARS = "Bars: Wilson's 95 % interval."
# What Figure 6 of the paper shows.
_SHOWN = (-20, 40)


def figure_1_calibration(scores: pl.DataFrame, label: str) -> Drawing:
    """Observed against nominal coverage of the intervals that models state."""
    return _calibration(scores, scores["model"].unique(maintain_order=True).to_list(), label)


def figure_5_open_models(scores: pl.DataFrame, open_models: Sequence[str], label: str) -> Drawing:
    """The same of the models whose weights are open."""
    return _calibration(scores, open_models, label)


def _calibration(scores: pl.DataFrame, models: Sequence[str], label: str) -> Drawing:
    rows = scores.filter(pl.col("model").is_in(models), half=TEST, method="base").drop_nulls("coverage")
    if not len(rows):
        return nothing("no such model has an interval that can be read", label)
    figure = new_figure(5.5, 4, label)
    axes = figure.subplots()
    for number, model in enumerate(rows["model"].unique(maintain_order=True)):
        _curve(axes, rows.filter(model=model), model, number)
    _identity(axes, rows)
    axes.legend(fontsize=8, frameon=False)
    return Drawing(
        figure, f"Below the line: overconfident. {_BARS} Of the intervals on the test half that can be read."
    )


def figure_2_conformal(scores: pl.DataFrame, label: str) -> Drawing:
    """A panel for each model: observed against nominal coverage, as stated and after conformal adjustment."""
    rows = scores.filter(pl.col("method").is_in(["base", "conformal"]), half=TEST).drop_nulls("coverage")
    models = rows["model"].unique(maintain_order=True).to_list()
    if not models:
        return nothing("no model has an interval that can be read", label)
    columns = min(3, len(models))
    figure = new_figure(1 + 3.4 * columns, 0.6 + 3 * -(-len(models) // columns), label)
    panels = figure.subplots(-(-len(models) // columns), columns, squeeze=False, sharex=True, sharey=True).flat
    for axes, model in zip(panels, models, strict=False):
        own = rows.filter(model=model)
        for number, method in enumerate(("base", "conformal")):
            _curve(axes, own.filter(method=method), method_title(method), number)
        _identity(axes, own)
        axes.set_title(model, fontsize=9)
    for axes in list(panels)[len(models) :]:
        axes.set_visible(False)
    next(iter(figure.axes)).legend(fontsize=8, frameon=False)
    infinite = rows.filter(pl.col("n_infinite") > 0).select("model", "level").rows()
    said = "".join(f" {model}, {level:g} %: infinite after adjustment." for model, level in infinite)
    return Drawing(figure, f"Test half, adjusted by the calibration half. {_BARS}{said}")


def _curve(axes: Axes, rows: pl.DataFrame, name: str, number: int) -> None:
    """Coverage by level, moved a little sideways so that bars do not hide each other."""
    own = rows.sort("level")
    x, y = own["level"].to_numpy() + 0.12 * number, 100 * own["coverage"].to_numpy()
    ends = 100 * own.select("coverage_lower", "coverage_upper").to_numpy().T
    axes.errorbar(
        *(x, y),
        yerr=np.abs(ends - y),
        label=name,
        color=_COLOURS[number % len(_COLOURS)],
        marker=_MARKERS[number % len(_MARKERS)],
        markersize=5,
        linewidth=1.2,
        elinewidth=0.8,
    )


def _identity(axes: Axes, rows: pl.DataFrame) -> None:
    ends = np.array([rows["level"].min(), rows["level"].max()], dtype=float)
    axes.plot(ends, ends, color="0.4", linestyle="--", linewidth=1, label="Perfect calibration")
    plain(axes)
    axes.set_ylim(0, 102)
    axes.set_xlabel("Nominal coverage, %", fontsize=9)
    axes.set_ylabel("Observed coverage, %", fontsize=9)


def figure_6_answers(answers: np.ndarray, label: str) -> Drawing:
    """How many questions have each power of ten as their answer, between -20 and 40."""
    low, high = _SHOWN
    inside = answers[(answers >= low) & (answers <= high)]
    figure = new_figure(6, 3, label)
    axes = figure.subplots()
    axes.hist(inside, bins=[at - 0.5 for at in range(low, high + 2)], color=BLUE, linewidth=0)
    plain(axes)
    axes.set_xlabel("Right answer, power of ten", fontsize=9)
    axes.set_ylabel("Questions", fontsize=9)
    outside = len(answers) - len(inside)
    return Drawing(
        figure,
        f"{len(answers)} questions of both halves; {outside} answers are outside of {low} to {high} and not shown.",
    )
