"""Figures 1 to 4 of the paper, from the frames of frames/estimate.py and frames/observation.py.

Figures are made without pyplot, whose state would outlive them.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from entropy_sentinel.analyses.accuracy.aggregation import LARGEST_K, bin_errors, group_accuracies
from entropy_sentinel.analyses.accuracy.headings import ROLES, Groups, group_benchmarks, id_of
from entropy_sentinel.analyses.accuracy.headline import Headline, headlines
from entropy_sentinel.report.numbers import number
from entropy_sentinel.report.point_names import name_points

# Blue and orange of Okabe and Ito, told apart with every common colour blindness; the markers differ as well.
BLUE, ORANGE = "#0072B2", "#D55E00"
# Training domains are drawn first and larger, so that one under an unseen domain still shows.
_ROLE_STYLES = {
    "training": {"color": ORANGE, "marker": "s", "s": 80},
    "held_out": {"color": BLUE, "marker": "o", "s": 34},
}
_PNG_DPI = 150
_BINS = 10


def figure_1(
    estimates: pl.DataFrame, sweep: pl.DataFrame, groups: Groups, headline_group: str, figure_model: str, label: str
) -> Figure:
    """Estimated against true accuracy by domain, one model."""
    found = headlines(estimates, sweep, groups, headline_group)
    return _accuracy_panels([one for one in found if one.model == figure_model], groups, headline_group, label)


def figure_3(estimates: pl.DataFrame, sweep: pl.DataFrame, groups: Groups, headline_group: str, label: str) -> Figure:
    """Estimated against true accuracy by domain, a panel for every model."""
    return _accuracy_panels(headlines(estimates, sweep, groups, headline_group), groups, headline_group, label)


def _accuracy_panels(found: Sequence[Headline], groups: Groups, headline_group: str, label: str) -> Figure:
    if not found:
        return _empty("No results for this training group", label)
    columns = min(3, len(found))
    rows = math.ceil(len(found) / columns)
    width = 5.4 if len(found) == 1 else 4.4 if columns == 2 else 3.8
    figure = _figure(width * columns, width * rows + 0.9, label)
    panels = figure.subplots(rows, columns, squeeze=False).flatten()
    for axes in panels[len(found) :]:
        axes.remove()
    for axes, headline in zip(panels, found, strict=False):
        _draw_accuracies(axes, headline)
    for axes in panels[len(found) - columns : len(found)]:
        axes.set_xlabel("True accuracy")
    for axes in panels[::columns]:
        axes.set_ylabel("Estimated accuracy")
    trained = f"Estimator trained on {group_benchmarks(id_of(groups, headline_group))}"
    handles, titles = panels[0].get_legend_handles_labels()
    figure.legend(handles, titles, title=trained, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    figure.draw_without_rendering()  # settles the layout, which the places of the names depend on
    for axes, headline in zip(panels, found, strict=False):
        _name_domains(axes, headline, size=9 if len(found) == 1 else 7.5)
    return figure


def _draw_accuracies(axes: Axes, headline: Headline) -> None:
    axes.plot([0, 1], [0, 1], color="0.5", linestyle="--", linewidth=1, label="estimated = true", zorder=1)
    for role, style in _ROLE_STYLES.items():
        points = [point for point, row in _points(headline) if row["role"] == role]
        x, y = zip(*points, strict=True) if points else ((), ())
        axes.scatter(x, y, edgecolor="white", linewidth=0.6, label=f"{ROLES[role]} domain", zorder=3, **style)
    score = headline.scores.get("held_out")
    errors = f"AEE {number(score.aee)}, rho {number(score.rho)} on unseen domains" if score else "no results"
    axes.set_title(f"{headline.model}\n{errors}", fontsize=10)
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    axes.grid(color="0.92", linewidth=0.8)
    axes.tick_params(labelsize=8)
    axes.set_axisbelow(True)


def _name_domains(axes: Axes, headline: Headline, size: float) -> None:
    points, rows = zip(*_points(headline), strict=True) if _points(headline) else ((), ())
    name_points(axes, points, [row["benchmark"] for row in rows], size)


def _points(headline: Headline) -> list[tuple[tuple[float, float], dict[str, Any]]]:
    """(true, estimated) of the domains that have both, with the domain's row."""
    return [
        ((row["true_accuracy"], row["estimated_accuracy"]), row) for row in headline.domains if row["error"] is not None
    ]


def figure_2(observations: pl.DataFrame, figure_model: str, figure_benchmark: str, label: str) -> Figure:
    """Density of the largest entropy of a response, correct against incorrect, one model on one benchmark.

    `observations` is the model's frame OBSERVATIONS. A class of fewer than two different values has no density:
    its value is drawn as a line.
    """
    rows = observations.filter(
        pl.col("benchmark") == figure_benchmark, pl.col("label").is_not_null(), pl.col("max").is_not_null()
    )
    figure = _figure(6.2, 4.2, label)
    axes = figure.add_subplot()
    for label, title, color, style in ((True, "correct", BLUE, "-"), (False, "incorrect", ORANGE, "--")):
        values = rows.filter(pl.col("label") == label)["max"].to_numpy()
        legend = f"{title} ({len(values)} responses)"
        if len(np.unique(values)) > 1:
            look = {"color": color, "linestyle": style, "fill": True, "alpha": 0.25, "linewidth": 1.8}
            sns.kdeplot(x=values, ax=axes, clip=(0, np.inf), label=legend, **look)
        elif len(values):
            axes.axvline(values[0], color=color, linestyle=style, label=f"{legend}, all at one value")
        else:
            axes.plot([], [], color=color, linestyle=style, label=legend)
    axes.set(xlabel="Largest entropy of a token in the response (nats)", ylabel="Density")
    axes.set_title(f"{figure_model} on {figure_benchmark}", fontsize=11)
    axes.legend(frameon=False, fontsize=9)
    _plain(axes)
    return figure


def figure_4(sweep: pl.DataFrame, domains: pl.DataFrame, default: str, label: str) -> Figure:
    """AEE on unseen domains against the training group's weighted accuracy, the default, models pooled.

    Beside their median is that of the AEE over all domains, the training domains' test splits among them.
    """
    picked = sweep.filter(pl.col("estimator") == default, pl.col("k") <= LARGEST_K, pl.col("aee").is_not_null())
    joined = picked.join(group_accuracies(domains, picked["group"]), on="group").drop_nulls("group_accuracy")
    points, over_all = (joined.filter(pl.col("scope") == scope) for scope in ("held_out", "all"))
    if points.is_empty():
        return _empty("No training group has an AEE and an accuracy", label)
    figure = _figure(6.6, 4.5, label)
    axes = figure.add_subplot()
    grey = {"s": 9, "color": "0.6", "alpha": 0.5, "linewidth": 0}
    axes.scatter(points["group_accuracy"], points["aee"], label="one model and group, unseen domains", **grey)
    binned = bin_errors(points, _BINS)
    blue = {"color": BLUE, "alpha": 0.2, "linewidth": 0}
    axes.fill_between(binned["centre"], binned["lower"], binned["upper"], label="IQR of a bin, unseen domains", **blue)
    dots = {"color": BLUE, "marker": "o", "markersize": 4}
    axes.plot(binned["centre"], binned["median"], label="median of a bin, unseen domains", **dots)
    if len(over_all):
        binned = bin_errors(over_all, _BINS)
        thin = {"color": ORANGE, "linestyle": "--", "linewidth": 1}
        axes.plot(binned["centre"], binned["median"], label="median of a bin, all domains", **thin)
    axes.set(xlabel="Weighted accuracy of the training group", ylabel="AEE", ylim=(0, None))
    axes.set_title(f"{points['group'].n_unique()} training groups, {points['model'].n_unique()} models", fontsize=11)
    axes.legend(frameon=False, fontsize=9)
    _plain(axes)
    return figure


def _figure(width: float, height: float, label: str) -> Figure:
    """A figure of this size in inches with the study's label in its corner."""
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.suptitle(label, x=0.99, ha="right", fontsize=7, color="0.4")
    return figure


def _plain(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=9)


def _empty(message: str, label: str) -> Figure:
    """A figure that says why there is nothing to draw."""
    figure = _figure(5, 2, label)
    figure.text(0.5, 0.5, message, ha="center", va="center")
    return figure


@dataclass(frozen=True)
class Drawing:
    """How a figure is made: its caption, its function, and the inputs that the function takes by name."""

    caption: str
    draw: Callable[..., Figure]
    needs: tuple[str, ...]


FIGURES: dict[int, Drawing] = {
    1: Drawing(
        "Estimated against true accuracy of one model: benchmarks used for training (orange squares, by their "
        "test split) and unseen domains (blue circles). On the dashed line the estimate is exact.",
        figure_1,
        ("estimates", "sweep", "groups", "headline_group", "figure_model"),
    ),
    2: Drawing(
        "Density of the largest token entropy of a response, correct against incorrect responses.",
        figure_2,
        ("observations", "figure_model", "figure_benchmark"),
    ),
    3: Drawing(
        "Estimated against true accuracy of every model, drawn as in Figure 1.",
        figure_3,
        ("estimates", "sweep", "groups", "headline_group"),
    ),
    4: Drawing(
        "AEE of the default estimator on unseen domains against the weighted accuracy of its training group, for "
        "groups of up to four benchmarks and all models: median and interquartile range in ten bins of equal width. "
        "Dashed: the median of the AEE over all domains, test splits of the training domains included.",
        figure_4,
        ("sweep", "domains", "default"),
    ),
}


def draw_figure(number: int, inputs: Mapping[str, Any], label: str) -> Figure:
    """Figure `number` from those of `inputs` that it needs, with the study's label in its corner."""
    drawing = FIGURES[number]
    return drawing.draw(**{name: inputs[name] for name in drawing.needs}, label=label)


def write_figure(figure: Figure, path_stem: str | Path) -> None:
    """Write `path_stem` + .pdf and .png (150 dpi); the bytes depend on the figure alone."""
    stem = Path(path_stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    FigureCanvasAgg(figure)
    figure.savefig(f"{stem}.pdf", metadata={"CreationDate": None})
    figure.savefig(f"{stem}.png", dpi=_PNG_DPI)
