"""The figure of the catalogue: overlap, difficulty and length of the selections, a row of panels for each model."""

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from entropy_sentinel.formatting.text_format import format_number
from entropy_sentinel.rendering.figure_style import BLUE, ORANGE, Drawing, collect_legend, new_figure, style_axes
from entropy_sentinel.statistics.judge_agreement import wilson_interval
from papers.selection.selection_tables import SelectionInputs, measure_overlaps, stack_selections, strategy_title

_WIDTH, _HEIGHT = 11.0, 3.1
_CAPTION = (
    "Left: overlap of two selections, as Jaccard's index (shared items over the items of either), with the number "
    "of shared items. Middle: mean pass rate over the tries, and accuracy of the first responses with Wilson's "
    "interval at 95 %; harder items are further left. Right: tokens of the first responses: median, quartiles, range."
)


def figure_selections(inputs: SelectionInputs) -> Drawing:
    """Draw overlap, difficulty and length, a row of panels for each model."""
    models = inputs.candidates["model"].unique(maintain_order=True).to_list()
    figure = new_figure(_WIDTH, _HEIGHT * len(models) + 0.2, inputs.label)
    grid = figure.subplots(len(models), 3, squeeze=False, width_ratios=[1, 1.1, 1.1])
    for model, (overlap, difficulty, length) in zip(models, grid, strict=True):
        model_selections = inputs.selections.filter(model=model)
        rows = stack_selections(inputs.candidates.filter(model=model), model_selections)
        _draw_overlap(overlap, model_selections)
        overlap.set_title(model, fontsize=10, loc="left")
        _draw_difficulty(difficulty, rows)
        _draw_length(length, rows)
    return Drawing(figure, _CAPTION)


def _draw_overlap(axes: Axes, selections: pl.DataFrame) -> None:
    """Draw for every two strategies how many items both select, and the Jaccard index."""
    names = selections["strategy"].unique(maintain_order=True).to_list()
    position = {name: number for number, name in enumerate(names)}
    shares = np.eye(len(names))
    counts = np.diag([float((selections["strategy"] == name).sum()) for name in names])
    for row in measure_overlaps(selections).iter_rows(named=True):
        first, second = position[row["first"]], position[row["second"]]
        shares[first, second] = shares[second, first] = np.nan if row["jaccard"] is None else row["jaccard"]
        counts[first, second] = counts[second, first] = row["shared"]
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for (first, second), share in np.ndenumerate(shares):
        text = f"{counts[first, second]:.0f}" + ("" if first == second else f"\n{format_number(share, '.2f')}")
        axes.text(second, first, text, ha="center", va="center", fontsize=8, color="white" if share > 0.5 else "black")
    titles = [strategy_title(name) for name in names]
    axes.set_xticks(range(len(names)), titles, rotation=25, ha="right", fontsize=8)
    axes.set_yticks(range(len(names)), titles, fontsize=8)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)


def _place_strategies(rows: pl.DataFrame) -> tuple[list[str], np.ndarray]:
    """The strategies in the order of the rows, and the heights at which they are drawn, the first at the top.

    The first is `all`, the candidates (`stack_selections`).
    """
    names = rows["strategy"].unique(maintain_order=True).to_list()
    return names, np.arange(len(names))[::-1]


def _draw_difficulty(axes: Axes, rows: pl.DataFrame) -> None:
    """Draw mean pass rate, and accuracy with its interval, a line for each strategy of `stack_selections`."""
    names, places = _place_strategies(rows)
    for name, place in zip(names, places, strict=True):
        strategy_rows = rows.filter(strategy=name)
        labels = strategy_rows["label"].drop_nulls().to_numpy()
        rates = strategy_rows["pass_rate"].drop_nulls().to_numpy()
        if len(rates):
            axes.plot(float(rates.mean()), place + 0.12, "s", color=ORANGE, label="pass rate")
        if len(labels):
            accuracy, lower, upper = wilson_interval(int(labels.sum()), len(labels)).require_values()
            axes.plot([lower, upper], [place - 0.12] * 2, color=BLUE)
            axes.plot(accuracy, place - 0.12, "o", color=BLUE, label="accuracy")
    axes.set_yticks(places, [strategy_title(name) for name in names])
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.6, len(names) - 0.4), xlabel="correct")
    legend = collect_legend([axes])
    axes.legend(legend.values(), legend.keys(), fontsize=7, frameon=False, loc="best")
    style_axes(axes)


def _draw_length(axes: Axes, rows: pl.DataFrame) -> None:
    """Draw a box plot of the responses' tokens for each strategy of `stack_selections`."""
    names, places = _place_strategies(rows)
    lengths = [rows.filter(strategy=name)["n_tokens"].to_numpy() for name in names]
    axes.boxplot(
        lengths,
        positions=places.tolist(),
        orientation="horizontal",
        widths=0.5,
        whis=(0, 100),
        medianprops={"color": ORANGE},
        manage_ticks=False,
    )
    axes.set_yticks(places, [strategy_title(name) for name in names])
    axes.set(xlabel="tokens", ylim=(-0.6, len(names) - 0.4), xlim=(0, None))
    style_axes(axes)
