"""The page's picture: errors of the methods on each domain, their mean and its interval, a panel per model."""

from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from entropy_sentinel.rendering.figure_style import BLUE, ORANGE, apply_style, new_figure, style_axes
from made.how_well.cases import CONFIDENCE, METHODS, chance, mean_over_domains

PICTURE = "how_well.png"


def draw(cases: pl.DataFrame, path: Path) -> None:
    """Write the picture of cases of one training size."""
    models = cases["model"].unique().sort().to_list()
    with apply_style():
        figure = new_figure(4.2 * len(models), 2.9, "")
        panels = figure.subplots(1, len(models), sharex=True, sharey=True, squeeze=False)[0]
        for axes, model in zip(panels, models, strict=True):
            _panel(axes, cases.filter(model=model), model)
        axes.set_xlim(left=0)
        figure.savefig(path, dpi=160, metadata={"Software": None})


def _panel(axes: Axes, cases: pl.DataFrame, model: str) -> None:
    names = list(METHODS)[::-1]
    for place, method in enumerate(names):
        of_method = cases.filter(method=method)
        mean, lower, upper = mean_over_domains(of_method)
        axes.plot(of_method["error"], np.full(len(of_method), place), "o", color="0.75", markersize=4)
        axes.errorbar(mean, place, xerr=[[mean - lower], [upper - mean]], fmt="D", color=BLUE, markersize=5)
    by_chance = chance(cases.filter(method=names[0]))
    axes.axvline(by_chance, color=ORANGE, linestyle="--", linewidth=1)
    axes.annotate("labels' own chance", (by_chance, len(names) - 0.55), color=ORANGE, fontsize=7, ha="left")
    axes.set_yticks(range(len(names)), [METHODS[name] for name in names])
    axes.set_ylim(-0.6, len(names) - 0.2)
    axes.set_title(model, fontsize=10)
    axes.set_xlabel(f"error on a domain without its labels\n(grey: each; blue: mean, {CONFIDENCE:.0%})", fontsize=8)
    style_axes(axes)
