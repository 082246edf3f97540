"""What every signal tells of correctness, in every domain: a heat map of AUROC."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from entropy_sentinel.analyses.accuracy.measuring.aggregation import names_in, signals_in
from entropy_sentinel.report.figures import Drawing, new_figure, nothing

_COLORS = "RdBu"
# Cells so far from chance are dark: their numbers are white.
_DARK = 0.32
_ROW, _COLUMN = 0.27, 0.44  # inches


def figure_auroc_by_domain(auroc: pl.DataFrame, label: str) -> Drawing:
    """AUROC of every signal (columns) in every domain (rows), a panel for every model.

    A domain without an AUROC is a grey row that says which class its responses are of.
    """
    models = names_in(auroc, "model")
    if not models:
        return nothing("No model has features and labels", label)
    heights = [auroc.filter(pl.col("model") == model)["benchmark"].n_unique() for model in models]
    shown = signals_in(auroc)
    width = _COLUMN * len(shown) + 2.6
    figure = new_figure(width, _ROW * sum(heights) + 0.45 * len(models) + 1.7, label)
    panels = figure.subplots(len(models), 1, squeeze=False, gridspec_kw={"height_ratios": heights}).flatten()
    for axes, model in zip(panels, models, strict=True):
        _draw(axes, auroc.filter(pl.col("model") == model), list(shown))
        axes.set_title(model, fontsize=10, loc="left")
    panels[-1].set_xticks(range(len(shown)), [one.title for one in shown.values()], rotation=45, ha="right")
    colours = panels[0].images[0]
    bar = figure.colorbar(colours, ax=list(panels), location="bottom", shrink=0.5, aspect=40, pad=0.02)
    bar.set_label("AUROC as a score for an incorrect response (0.5 is chance)", fontsize=9)
    bar.ax.tick_params(labelsize=8)
    confident = [feature.title for feature in shown.values() if feature.confident]
    return Drawing(
        figure,
        "AUROC of every statistic of a response as a score for an incorrect one, by model and domain; "
        f"1 - AUROC for {', '.join(confident[:-1])} and {confident[-1]}, which grow with confidence. "
        "Blue: larger where the response is incorrect; red: the reverse; white: no better than chance. "
        "In brackets: the responses of the rarer class; of few, an AUROC is mostly chance. "
        "Grey: all responses are of one class, or none has a label, so that there is no AUROC.",
    )


def _draw(axes: Axes, auroc: pl.DataFrame, signals: Sequence[str]) -> None:
    benchmarks = names_in(auroc, "benchmark")
    found = {(row["benchmark"], row["feature"]): row for row in auroc.iter_rows(named=True)}
    values = [[found.get((name, feature), {}).get("auroc") for feature in signals] for name in benchmarks]
    shares = np.array(values, dtype=float)  # (n_benchmarks, n_signals)
    axes.imshow(shares, cmap=_COLORS, vmin=0, vmax=1, aspect="auto")
    for (row, column), share in np.ndenumerate(shares):
        if np.isfinite(share):
            color = "white" if abs(share - 0.5) > _DARK else "black"
            axes.text(column, row, f"{share:.2f}".lstrip("0"), ha="center", va="center", fontsize=7, color=color)
    for row, name in enumerate(benchmarks):
        if not np.isfinite(shares[row]).any():
            _say(axes, row, one_class(next(one for (of, _), one in found.items() if of == name)), len(signals))
    rarer = {name: min(row["n_correct"], row["n_incorrect"]) for (name, _), row in found.items()}
    axes.set_yticks(range(len(benchmarks)), [f"{name} ({rarer[name]})" for name in benchmarks])
    axes.set_xticks([])
    axes.tick_params(length=0, labelsize=8)
    axes.spines[:].set_visible(False)


def _say(axes: Axes, row: int, text: str, width: int) -> None:
    """Grey out a row, with a text over it."""
    grey: dict[str, Any] = {"facecolor": "0.9", "edgecolor": "white", "linewidth": 1}
    axes.add_patch(Rectangle((-0.5, row - 0.5), width, 1, **grey))
    axes.text((width - 1) / 2, row, text, ha="center", va="center", fontsize=8, color="0.25")


def one_class(domain: Mapping[str, Any]) -> str:
    """Why a domain has no AUROC, from one of its rows."""
    right, wrong = domain["n_correct"], domain["n_incorrect"]
    if right or wrong:
        return f"one class: all {right or wrong} responses are {'correct' if right else 'incorrect'}"
    return str(domain["reason"])
