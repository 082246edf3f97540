"""Figures 2 and 4: how entropies are distributed, and how errors are."""

import numpy as np
import polars as pl
import seaborn as sns
from matplotlib.axes import Axes

from entropy_sentinel.analyses.accuracy.aggregation import LARGEST_K, bin_errors, group_accuracies
from entropy_sentinel.report.figures import BLUE, ORANGE, Drawing, message, new_figure, plain

_BINS = 10


def figure_2_entropy_densities(
    observations: pl.DataFrame, figure_model: str, figure_benchmark: str, label: str
) -> Drawing:
    """Density of the largest entropy of a response, correct against incorrect, one model on one benchmark.

    `observations` is the model's frame OBSERVATIONS. A class of fewer than two different values has no density:
    its value is drawn as a line.
    """
    rows = observations.filter(
        pl.col("benchmark") == figure_benchmark, pl.col("label").is_not_null(), pl.col("max").is_not_null()
    )
    figure = new_figure(6.2, 4.2, label)
    axes = figure.add_subplot()
    for correct, title, color, style in ((True, "correct", BLUE, "-"), (False, "incorrect", ORANGE, "--")):
        values = rows.filter(pl.col("label") == correct)["max"].to_numpy()
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
    plain(axes)
    return Drawing(figure, "Density of the largest token entropy of a response, correct against incorrect responses.")


def figure_4_errors_by_group_accuracy(sweep: pl.DataFrame, domains: pl.DataFrame, default: str, label: str) -> Drawing:
    """AEE on unseen domains against the training group's weighted accuracy, the default, models pooled.

    Beside their median is that of the AEE over all domains, the training domains' test splits among them.
    """
    picked = sweep.filter(pl.col("estimator") == default, pl.col("k") <= LARGEST_K, pl.col("aee").is_not_null())
    joined = picked.join(group_accuracies(domains, picked["group"]), on="group").drop_nulls("group_accuracy")
    points, over_all = (joined.filter(pl.col("scope") == scope) for scope in ("held_out", "all"))
    if points.is_empty():
        nothing = "No training group has an AEE and an accuracy"
        return Drawing(message(nothing, label), f"{nothing}.")
    figure = new_figure(6.6, 4.5, label)
    axes = figure.add_subplot()
    _draw_errors(axes, points, over_all)
    axes.set(xlabel="Weighted accuracy of the training group", ylabel="AEE", ylim=(0, None))
    axes.set_title(f"{points['group'].n_unique()} training groups, {points['model'].n_unique()} models", fontsize=11)
    axes.legend(frameon=False, fontsize=9)
    plain(axes)
    return Drawing(
        figure,
        "AEE of the default estimator on unseen domains against the weighted accuracy of its training group, for "
        "groups of up to four benchmarks and all models: median and interquartile range in ten bins of equal width. "
        "Dashed: the median of the AEE over all domains, test splits of the training domains included.",
    )


def _draw_errors(axes: Axes, points: pl.DataFrame, over_all: pl.DataFrame) -> None:
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
