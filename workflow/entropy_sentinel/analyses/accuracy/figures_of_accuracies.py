"""Figures 1 and 3: estimated against true accuracy by domain, a panel per model."""

import math
from collections.abc import Sequence

import polars as pl
from matplotlib.axes import Axes

from entropy_sentinel.analyses.accuracy.headline import Headline, headlines
from entropy_sentinel.analyses.headings import ROLES, Groups, TrainingGroup, training_group
from entropy_sentinel.report.figures import BLUE, GREEN, ORANGE, Drawing, message, new_figure
from entropy_sentinel.report.numbers import number
from entropy_sentinel.report.point_names import name_points

# Training domains are drawn first and larger, so that one under an unseen domain still shows.
_ROLE_STYLES = {
    "training": {"color": ORANGE, "marker": "s", "s": 80},
    "held_out": {"color": BLUE, "marker": "o", "s": 34},
}
_EDGE = {"edgecolor": "white", "linewidth": 0.6, "zorder": 3}
_LOW, _HIGH = -0.03, 1.07


def figure_1_accuracies(
    estimates: pl.DataFrame, sweep: pl.DataFrame, groups: Groups, headline_group: str, figure_model: str, label: str
) -> Drawing:
    """Estimated against true accuracy by domain, one model."""
    group = training_group(groups, headline_group)
    found = [one for one in headlines(estimates, sweep, group) if one.model == figure_model]
    return _drawing(found, group, label)


def figure_3_accuracies_by_model(
    estimates: pl.DataFrame, sweep: pl.DataFrame, groups: Groups, headline_group: str, label: str
) -> Drawing:
    """Estimated against true accuracy by domain, a panel for every model."""
    group = training_group(groups, headline_group)
    return _drawing(headlines(estimates, sweep, group), group, label)


def _drawing(found: Sequence[Headline], group: TrainingGroup, label: str) -> Drawing:
    if not found:
        return Drawing(message("No results for this training group", label), "No results for this training group.")
    columns = min(3, len(found))
    rows = math.ceil(len(found) / columns)
    width = 5.4 if len(found) == 1 else 4.4 if columns == 2 else 3.8
    figure = new_figure(width * columns, width * rows + 0.9, label)
    panels = figure.subplots(rows, columns, squeeze=False).flatten()
    for axes in panels[len(found) :]:
        axes.remove()
    for axes, headline in zip(panels, found, strict=False):
        _draw(axes, headline)
    for axes in panels[len(found) - columns : len(found)]:
        axes.set_xlabel("True accuracy")
    for axes in panels[::columns]:
        axes.set_ylabel("Estimated accuracy")
    legend = {title: handle for axes in panels[: len(found)] for handle, title in _legend(axes)}
    title = f"Estimator trained on {group.benchmarks}"
    look = {"loc": "outside lower center", "ncols": 3 if len(legend) == 3 else 2, "frameon": False, "fontsize": 9}
    figure.legend(legend.values(), legend.keys(), title=title, **look)
    figure.draw_without_rendering()  # settles the layout, which the places of the names depend on
    for axes, headline in zip(panels, found, strict=False):
        _name_domains(axes, headline, size=9 if len(found) == 1 else 7.5)
    return Drawing(figure, _caption(found))


def _draw(axes: Axes, headline: Headline) -> None:
    axes.plot([0, 1], [0, 1], color="0.5", linestyle="--", linewidth=1, label="estimated = true", zorder=1)
    for role, style in _ROLE_STYLES.items():
        points = [_point(row) for row in headline.domains if row["role"] == role and row["error"] is not None]
        x, y = zip(*points, strict=True) if points else ((), ())
        axes.scatter(x, y, label=f"{ROLES[role]} domain", **_EDGE, **style)
    if marks := _marks(headline):
        look = {"color": GREEN, "marker": ">", "s": 60, "clip_on": False}
        axes.scatter(*zip(*marks.values(), strict=True), label="domain without labels: its estimate", **_EDGE | look)
    score = headline.scores.get("held_out")
    rho = f", rho {number(score.headline_rho)}" if score and score.headline_rho is not None else ""
    errors = f"AEE {number(score.aee)}{rho} on unseen domains" if score else "no results"
    axes.set_title(f"{headline.model}\n{errors}", fontsize=10)
    axes.set(xlim=(_LOW, _HIGH), ylim=(_LOW, _HIGH), aspect="equal")
    axes.grid(color="0.92", linewidth=0.8)
    axes.tick_params(labelsize=8)
    axes.set_axisbelow(True)


def _legend(axes: Axes) -> list[tuple[object, str]]:
    return list(zip(*axes.get_legend_handles_labels(), strict=True))


def _name_domains(axes: Axes, headline: Headline, size: float) -> None:
    named = {row["benchmark"]: _point(row) for row in headline.domains if row["error"] is not None}
    named |= _marks(headline)
    name_points(axes, list(named.values()), list(named), size)


def _point(row: dict[str, float]) -> tuple[float, float]:
    return row["true_accuracy"], row["estimated_on_labelled"]


def _marks(headline: Headline) -> dict[str, tuple[float, float]]:
    """Domains without labels have an estimate and no true accuracy: they stand on the axis of the estimates."""
    shown = {row["benchmark"]: row["estimated_accuracy"] for row in headline.unlabelled}
    return {name: (_LOW, estimated) for name, estimated in shown.items() if estimated is not None}


def _caption(found: Sequence[Headline]) -> str:
    marked = any(_marks(headline) for headline in found)
    return (
        "Benchmarks used for training (orange squares, by their test split) and unseen domains (blue circles). "
        "On the dashed line the estimate is exact."
        + (" Green triangles on the left: estimates of domains without labels." if marked else "")
    )
