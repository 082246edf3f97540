"""The figures of the catalogue, from the items of all models and single trajectories of the pass."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from entropy_sentinel.formatting.text_format import format_count
from entropy_sentinel.rendering.exhibit_files import DrawnFigure, FigureInputs, save_figures
from entropy_sentinel.rendering.figure_style import (
    BLUE,
    GREEN,
    ORANGE,
    Drawing,
    collect_legend,
    draw_empty,
    new_figure,
    style_axes,
)
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.file_sets import read_by_owner
from papers.entropy_area.area_exhibits import ANSWERS, FIGURES, AreaExhibitSettings, list_measures, measure_title
from papers.entropy_area.area_frames import CORRELATIONS, ITEMS
from papers.entropy_area.area_measures import RANGES, select_benchmarks, select_complete_items
from papers.entropy_area.correlation import explain_no_correlation
from papers.entropy_area.trajectories import Trajectory, has_options, load_trajectory, select_median_item

_LINE = "#C00000"
# Files of the pass by model and benchmark.
Passes = Mapping[str, Mapping[str, str]]


class AreaFigureSettings(AreaExhibitSettings):
    """Settings of the figures: also the benchmark of Figures 1 and 3, null for the first with options."""

    figure_benchmark: str | None


@dataclass(frozen=True, kw_only=True)
class AreaFigureInputs(FigureInputs):
    """The settings of the figures, frames of the contracts ITEMS and CORRELATIONS, and files FORCED_ANSWERS.

    `passes` has these files by model and benchmark.
    """

    settings: AreaFigureSettings
    items: pl.DataFrame
    correlations: pl.DataFrame
    passes: Passes


def figure_2_correlations(inputs: AreaFigureInputs) -> Drawing:
    """Draw four panels: z-scores of EAS, mean EAS, perplexity and length, with a regression line."""
    model_items = select_benchmarks(inputs.items, inputs.model, inputs.settings["sets"][inputs.benchmark])
    rows = select_complete_items(model_items, list_measures(inputs.settings["answers"]), "answer_entropy")
    if len(rows) < 2:
        return draw_empty(f"{inputs.model} on {inputs.benchmark}: {len(rows)} items have all measures", inputs.label)
    figure = new_figure(11, 3, inputs.label)
    panels = figure.subplots(1, 4, sharex=True, sharey=True)
    answer = inputs.settings["answer"]
    for axes, measure in zip(panels, (f"eas_{answer}", f"mean_eas_{answer}", "ppl", "n_tokens"), strict=True):
        correlation = inputs.correlations.filter(
            model=inputs.model, benchmark=inputs.benchmark, measure=measure, target="answer_entropy"
        )
        _draw_panel(axes, rows, measure, correlation.row(0, named=True))
        axes.set_xlabel("Answer entropy, bits", fontsize=9)
    panels[0].set_ylabel("z-score of the measure", fontsize=9)
    return Drawing(
        figure,
        f"{inputs.model} on {inputs.benchmark}: {len(rows)} items. Each measure is of the first response, as its "
        "z-score over the items; the answer entropy is of all samples. Line: linear regression.",
    )


def _draw_panel(axes: Axes, rows: pl.DataFrame, measure: str, correlation: dict[str, Any]) -> None:
    """Draw a standardised measure by answer entropy, with its regression line, or say why there is no correlation.

    `rows` are of ITEMS, `correlation` is the measure's row of CORRELATIONS.
    """
    style_axes(axes)
    is_undefined = any(explain_no_correlation(rows[name], rows[name]) for name in ("answer_entropy", measure))
    if is_undefined:
        axes.set_title(f"{measure_title(measure)}\nno r: {correlation['reason']}", fontsize=8, wrap=True)
        return
    x = rows["answer_entropy"].to_numpy()
    y = rows[measure].to_numpy().astype(float)
    z = (y - y.mean()) / y.std()
    axes.scatter(x, z, s=10, color=BLUE, alpha=0.5, linewidths=0)
    slope, start = np.polyfit(x, z, 1)
    ends = np.array([x.min(), x.max()])
    axes.plot(ends, start + slope * ends, color=_LINE, linewidth=1.6)
    p = "p < 0.0001" if correlation["p"] < 1e-4 else f"p = {correlation['p']:.4f}"
    axes.set_title(f"{measure_title(measure)}\nr = {correlation['r']:.3f}, {p}", fontsize=9)


# Colour and dash of the line for each option: colours of Okabe and Ito, dashes that differ as well.
_OPTION_STYLES: Mapping[str, tuple[str, str]] = {
    "A": (BLUE, "-"),
    "B": (ORANGE, "--"),
    "C": (GREEN, "-."),
    "D": ("#CC79A7", ":"),
    "E": ("#E69F00", "-"),
    "F": ("#56B4E9", "--"),
    "G": ("#999999", "-."),
    "H": ("#000000", ":"),
    "I": ("#F0E442", "-"),
    "J": (BLUE, ":"),
}
_POSITION_LABEL = "Token t after which the answer is inserted"


def figure_1_trajectory(inputs: AreaFigureInputs) -> Drawing:
    """Draw the entropy after each token of one response, and the area under it, its entropy area score (EAS).

    The response is the one of median EAS on the benchmark.
    """
    benchmark = _choose_benchmark(inputs.passes[inputs.model], inputs.settings)
    answer, label = inputs.settings["answer"], inputs.label
    item = select_median_item(select_benchmarks(inputs.items, inputs.model, [benchmark]), f"eas_{answer}")
    if item is None:
        return draw_empty(f"No response of {inputs.model} to {benchmark} has a trajectory", label)
    trajectory = load_trajectory(inputs.passes[inputs.model][benchmark], item, answer)
    figure = new_figure(7.5, 3.2, label)
    axes = figure.subplots()
    _draw_entropy(axes, trajectory)
    axes.set(xlabel=_POSITION_LABEL, ylabel="H(t), bits")
    axes.set_title(f"EAS {trajectory.eas:.1f} bits, mean {trajectory.mean_eas:.2f}", fontsize=10)
    inserted = "" if trajectory.answer_text is None else f" and all but the last token of {trajectory.answer_text}"
    return Drawing(
        figure,
        f"{inputs.model} on {trajectory.item_id}: entropy of the next token, in bits, if the first t tokens of the "
        f"response are followed by \\boxed{{{inserted} ({ANSWERS[answer]}). The area is EAS. Of the items of "
        f"{benchmark}, this one's first response has the median EAS.",
    )


def figure_3_ranges(inputs: AreaFigureInputs) -> Drawing:
    """Draw a column for each range of answer entropy: decayed probabilities of the options, and the entropy below."""
    benchmark = _choose_benchmark(inputs.passes[inputs.model], inputs.settings)
    answer, label = inputs.settings["answer"], inputs.label
    model_items = select_benchmarks(inputs.items, inputs.model, [benchmark])
    n_items: dict[str, int] = {}
    by_range: dict[str, Trajectory] = {}
    for name, (_, in_range) in RANGES.items():
        range_items = model_items.filter(in_range)
        n_items[name] = len(range_items)
        if item := select_median_item(range_items, f"eas_{answer}"):
            by_range[name] = load_trajectory(inputs.passes[inputs.model][benchmark], item, answer)
    if not by_range:
        return draw_empty(f"No response of {inputs.model} to {benchmark} has a trajectory", label)
    has_probabilities = any(trajectory.probabilities is not None for trajectory in by_range.values())
    figure = new_figure(10.5, 5.2 if has_probabilities else 3, label)
    grid = figure.subplots(2 if has_probabilities else 1, len(RANGES), squeeze=False, sharey="row")
    highest = max(trajectory.entropies.max() for trajectory in by_range.values())
    for column, (name, (title, _)) in zip(grid.T, RANGES.items(), strict=True):
        description = _describe_trajectory(by_range[name], answer) if name in by_range else ""
        column[0].set_title(
            f"{name.title()}, {title} bits: {format_count(n_items[name], 'item')}\n{description}", fontsize=9
        )
        _draw_column(column, by_range.get(name), inputs.settings["alpha"])
        column[-1].set(xlabel="Token t", ylim=(0, highest * 1.05 or 1))
    grid[-1, 0].set_ylabel("H(t), bits")
    if has_probabilities:
        grid[0, 0].set_ylabel(f"Decayed sum, alpha {inputs.settings['alpha']:g}")
        legend = collect_legend(grid[0])
        legend_style: dict[str, Any] = {"ncols": len(legend), "frameon": False, "fontsize": 9}
        figure.legend(list(legend.values()), list(legend), loc="outside lower center", **legend_style)
    return Drawing(
        figure, _format_caption(inputs.model, benchmark, answer, inputs.settings["alpha"], has_probabilities)
    )


def _choose_benchmark(passes: Mapping[str, str], settings: AreaFigureSettings) -> str:
    """The benchmark of the settings, or else the first whose questions have options, or else the first.

    `passes` are files FORCED_ANSWERS by benchmark.
    """
    if settings["figure_benchmark"]:
        return settings["figure_benchmark"]
    for benchmark, path in passes.items():
        if has_options(path):
            return benchmark
    return next(iter(passes))


def _format_caption(model: str, benchmark: str, answer: str, alpha: float, has_options: bool) -> str:
    """The caption of Figure 3; `answer` is the inserted one, `has_options` whether the options' panels are drawn."""
    selection = (
        f"{model} on {benchmark}: of the items in each range of answer entropy the one whose first response has the "
        "median EAS. "
    )
    curve = f"the entropy after each token with the answer inserted ({ANSWERS[answer]}), and its area, EAS"
    if not has_options:
        return (
            f"{selection}It shows {curve}. The probabilities of the options are left out: either the questions of this "
            "benchmark offer none, or signals.forced_answer.options is not set."
        )
    return (
        f"{selection}Above: probabilities of the options' letters right after the brace, summed over the tokens so far "
        f"with the weight (t - k + 1)^-{alpha:g}; they are not renormalised, and one outside the 20 most "
        f"likely tokens counts as 0. Below: {curve}."
    )


def _describe_trajectory(trajectory: Trajectory, answer: str) -> str:
    """Item, inserted answer if it is the letter of an option (others may be long), and scores, for a panel's title."""
    letter = f", {ANSWERS[answer]} {trajectory.answer_text}" if trajectory.options and trajectory.answer_text else ""
    return f"{trajectory.item_id}{letter}\nanswer entropy {trajectory.answer_entropy:.2f}, EAS {trajectory.eas:.1f}"


def _draw_column(column: Sequence[Axes], trajectory: Trajectory | None, alpha: float) -> None:
    """Draw the entropies in the last panel of a column, and above them, if it has two, the options' probabilities.

    `trajectory` is None for a range of answer entropies without a response.
    """
    for axes in column:
        style_axes(axes)
        # An empty range has no tokens.
        axes.xaxis.set_visible(trajectory is not None)
        if trajectory is None:
            axes.text(0.5, 0.5, "none with a trajectory", ha="center", va="center", transform=axes.transAxes)
    if trajectory is not None:
        if trajectory.probabilities is not None:
            _draw_options(column[0], trajectory, alpha)
        _draw_entropy(column[-1], trajectory)


def _draw_entropy(axes: Axes, trajectory: Trajectory) -> None:
    """Draw the entropy after each position, and fill the area below."""
    axes.fill_between(trajectory.positions, trajectory.entropies, color=BLUE, alpha=0.25, linewidth=0)
    axes.plot(trajectory.positions, trajectory.entropies, color=BLUE, linewidth=0.9)
    axes.set_ylim(bottom=0)
    style_axes(axes)


def _draw_options(axes: Axes, trajectory: Trajectory, alpha: float) -> None:
    """Draw a line for each option: the sum of its probabilities up to each token, earlier ones decayed by `alpha`."""
    for letter, decayed_sums in zip(trajectory.options, trajectory.decayed_options(alpha), strict=True):
        color, dash = _OPTION_STYLES[letter]
        tokens = range(1, len(decayed_sums) + 1)
        axes.plot(tokens, decayed_sums, color=color, linestyle=dash, linewidth=1.2, label=letter)
    axes.set_ylim(bottom=0)


def write_figures(
    by_item: Sequence[str],
    correlations: str,
    passes: Sequence[str],
    settings: AreaFigureSettings,
    exhibits: Mapping[str, DrawnFigure],
    models: Sequence[str],
    folder: str,
) -> None:
    """Write the figures in `exhibits`, keyed by file name, to `folder`.

    `by_item` are files ITEMS, one for each of `models`, `correlations` is a file CORRELATIONS, and `passes` are files
    FORCED_ANSWERS of all models and benchmarks.
    """
    passes_by_model: dict[str, dict[str, str]] = {}
    for path in passes:
        origin = read_provenance(path)
        passes_by_model.setdefault(origin["model"], {})[origin["benchmark"]] = path
    inputs = AreaFigureInputs(
        label=settings["label"],
        settings=settings,
        items=read_by_owner(ITEMS, by_item, {"model": models}),
        correlations=CORRELATIONS.read(correlations),
        passes=passes_by_model,
    )
    save_figures(FIGURES, exhibits, inputs, folder)
