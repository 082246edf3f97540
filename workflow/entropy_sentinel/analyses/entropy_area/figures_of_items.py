"""Figure 2: measures of the first response to an item against the answer entropy of all."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from entropy_sentinel.analyses.entropy_area.catalogue import measure_title
from entropy_sentinel.analyses.entropy_area.correlation import why_none
from entropy_sentinel.analyses.entropy_area.measures import common
from entropy_sentinel.report.figures import BLUE, Drawing, new_figure, nothing, plain

_LINE = "#C00000"


def figure_2_correlations(
    items: pl.DataFrame,
    correlations: pl.DataFrame,
    measures: Sequence[str],
    answer: str,
    model: str,
    benchmark: str,
    label: str,
) -> Drawing:
    """Four panels: z-scores of EAS, mean EAS, perplexity and length, with a regression line.

    `items` are those of one model and set of benchmarks, `correlations` the rows of CORRELATIONS.
    """
    rows = common(items, measures, "answer_entropy")
    if len(rows) < 2:
        return nothing(f"{model} on {benchmark}: {len(rows)} items have all measures", label)
    figure = new_figure(11, 3, label)
    panels = figure.subplots(1, 4, sharex=True, sharey=True)
    for axes, measure in zip(panels, (f"eas_{answer}", f"mean_eas_{answer}", "ppl", "n_tokens"), strict=True):
        found = correlations.filter(model=model, benchmark=benchmark, measure=measure, target="answer_entropy")
        _draw(axes, rows, measure, found.row(0, named=True))
        axes.set_xlabel("Answer entropy, bits", fontsize=9)
    panels[0].set_ylabel("z-score of the measure", fontsize=9)
    return Drawing(
        figure,
        f"{model} on {benchmark}: {len(rows)} items. Each measure is of the first response, as its z-score over the "
        "items; the answer entropy is of all samples. Line: linear regression.",
    )


def _draw(axes: Axes, rows: pl.DataFrame, measure: str, found: dict[str, Any]) -> None:
    plain(axes)
    if why_none(rows["answer_entropy"], rows["answer_entropy"]) or why_none(rows[measure], rows[measure]):
        axes.set_title(f"{measure_title(measure)}\nno r: {found['reason']}", fontsize=8, wrap=True)
        return
    x, y = rows["answer_entropy"].to_numpy(), rows[measure].to_numpy().astype(float)
    z = (y - y.mean()) / y.std()
    axes.scatter(x, z, s=10, color=BLUE, alpha=0.5, linewidths=0)
    slope, start = np.polyfit(x, z, 1)
    ends = np.array([x.min(), x.max()])
    axes.plot(ends, start + slope * ends, color=_LINE, linewidth=1.6)
    p = "p < 0.0001" if found["p"] < 1e-4 else f"p = {found['p']:.4f}"
    axes.set_title(f"{measure_title(measure)}\nr = {found['r']:.3f}, {p}", fontsize=9)
