"""Figures 2 and 4: how entropies are distributed, and how errors are."""

from typing import Any

import numpy as np
import polars as pl
import seaborn as sns
from matplotlib.axes import Axes
from scipy.stats import gaussian_kde

from entropy_sentinel.analyses.accuracy.measuring.aggregation import LARGEST_K, bin_errors, group_accuracies
from entropy_sentinel.frames.numbers import counted
from entropy_sentinel.report.figures import BLUE, ORANGE, Drawing, new_figure, nothing, plain

_BINS = 10
# A density so many times lower than another is flat on the other's scale.
_FLAT = 5


def figure_2_entropy_densities(
    observations: pl.DataFrame, figure_model: str, figure_benchmark: str, label: str
) -> Drawing:
    """Density of the largest entropy of a response, correct against incorrect, one model on one benchmark.

    `observations` is the model's frame OBSERVATIONS. A class of fewer than two different values has no density:
    its value is drawn as a line. Where one class's peak would leave the other flat, each has a panel of its own.
    """
    rows = observations.filter(
        pl.col("benchmark") == figure_benchmark, pl.col("label").is_not_null(), pl.col("max").is_not_null()
    )
    classes = {correct: rows.filter(pl.col("label") == correct)["max"].to_numpy() for correct in (True, False)}
    peaks = [peak for values in classes.values() if (peak := _peak(values))]
    split = len(peaks) == 2 and max(peaks) > _FLAT * min(peaks)
    figure = new_figure(6.2, 5.4 if split else 4.2, label)
    panels = figure.subplots(2 if split else 1, 1, squeeze=False, sharex=True).flatten()
    for axes, (correct, values) in zip(panels if split else (*panels, *panels), classes.items(), strict=True):
        _draw_class(axes, values, correct)
    for axes in panels:
        axes.set(ylabel="Density", ylim=(0, None))
        axes.legend(frameon=False, fontsize=9)
        plain(axes)
    panels[-1].set(xlabel="Largest entropy of a token in the response (nats)", xlim=(0, None))
    panels[0].set_title(f"{figure_model} on {figure_benchmark}", fontsize=11)
    scales = " The two scales of density differ." if split else ""
    return Drawing(
        figure, "Density of the largest token entropy of a response, correct against incorrect responses." + scales
    )


def _peak(values: np.ndarray) -> float | None:
    """Height of the density's peak, as it is drawn; null where there is none."""
    if len(np.unique(values)) < 2:
        return None
    density = gaussian_kde(values)
    return float(density(np.linspace(0, values.max(), 200)).max())


def _draw_class(axes: Axes, values: np.ndarray, correct: bool) -> None:
    color, style = (BLUE, "-") if correct else (ORANGE, "--")
    legend = f"{'correct' if correct else 'incorrect'} ({counted(len(values), 'response')})"
    if len(np.unique(values)) > 1:
        # Both areas under both lines: neither class's line is covered.
        shared = {"x": values, "ax": axes, "clip": (0, np.inf), "color": color}
        sns.kdeplot(**shared, fill=True, alpha=0.18, linewidth=0, zorder=1)
        sns.kdeplot(**shared, linestyle=style, linewidth=1.8, zorder=2, label=legend)
    elif len(values):
        axes.axvline(values[0], color=color, linestyle=style, label=f"{legend}, all at one value")
    else:
        axes.plot([], [], color=color, linestyle=style, label=legend)


def figure_4_errors_by_group_accuracy(sweep: pl.DataFrame, domains: pl.DataFrame, default: str, label: str) -> Drawing:
    """AEE on unseen domains against the training group's weighted accuracy, the default, models pooled.

    Beside their median is that of the AEE over all domains, the training domains' test splits among them.
    """
    picked = sweep.filter(pl.col("estimator") == default, pl.col("k") <= LARGEST_K, pl.col("aee").is_not_null())
    joined = picked.join(group_accuracies(domains, picked["group"]), on="group").drop_nulls("group_accuracy")
    points, over_all = (joined.filter(pl.col("scope") == scope) for scope in ("held_out", "all"))
    if points.is_empty():
        return nothing("No training group has an AEE and an accuracy", label)
    figure = new_figure(6.6, 4.5, label)
    axes = figure.add_subplot()
    _draw_errors(axes, points, over_all)
    axes.set(xlabel="Weighted accuracy of the training group", ylabel="AEE", ylim=(0, None))
    groups, models = points["group"].n_unique(), points["model"].n_unique()
    axes.set_title(f"{counted(groups, 'training group')}, {counted(models, 'model')}", fontsize=11)
    axes.legend(frameon=False, fontsize=9)
    plain(axes)
    return Drawing(
        figure,
        "AEE of the default estimator on unseen domains against the weighted accuracy of its training group, for "
        "groups of up to four benchmarks and all models: median and interquartile range in ten bins of equal width. "
        "Dashed: the median of the AEE over all domains, test splits of the training domains included.",
    )


def _draw_errors(axes: Axes, points: pl.DataFrame, over_all: pl.DataFrame) -> None:
    grey: dict[str, Any] = {"s": 9, "color": "0.6", "alpha": 0.5, "linewidth": 0}
    axes.scatter(points["group_accuracy"], points["aee"], label="one model and group, unseen domains", **grey)
    binned = bin_errors(points, _BINS)
    blue: dict[str, Any] = {"color": BLUE, "alpha": 0.2, "linewidth": 0}
    axes.fill_between(binned["centre"], binned["lower"], binned["upper"], label="IQR of a bin, unseen domains", **blue)
    dots: dict[str, Any] = {"color": BLUE, "marker": "o", "markersize": 4}
    axes.plot(binned["centre"], binned["median"], label="median of a bin, unseen domains", **dots)
    if len(over_all):
        binned = bin_errors(over_all, _BINS)
        thin: dict[str, Any] = {"color": ORANGE, "linestyle": "--", "linewidth": 1}
        axes.plot(binned["centre"], binned["median"], label="median of a bin, all domains", **thin)
