"""The figures of the catalogue, from the items of all models and single trajectories of the pass."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from entropy_sentinel.analyses.entropy_area.catalogue import (
    RANGES,
    AreaShown,
    answer_title,
    measure_title,
    measures,
    range_of,
)
from entropy_sentinel.analyses.entropy_area.correlation import why_none
from entropy_sentinel.analyses.entropy_area.frames import CORRELATIONS, ITEMS
from entropy_sentinel.analyses.entropy_area.measures import common, of_set
from entropy_sentinel.analyses.entropy_area.trajectories import (
    Trajectory,
    by_range,
    median_item,
    trajectory,
    with_options,
)
from entropy_sentinel.analyses.exhibits import read_several
from entropy_sentinel.frames.contract import read_provenance
from entropy_sentinel.report.figures import (
    BLUE,
    GREEN,
    ORANGE,
    Drawing,
    legend_of,
    new_figure,
    nothing,
    plain,
    style,
    write_figure,
)
from entropy_sentinel.report.pages import Exhibit

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
        correlation = correlations.filter(model=model, benchmark=benchmark, measure=measure, target="answer_entropy")
        _draw(axes, rows, measure, correlation.row(0, named=True))
        axes.set_xlabel("Answer entropy, bits", fontsize=9)
    panels[0].set_ylabel("z-score of the measure", fontsize=9)
    return Drawing(
        figure,
        f"{model} on {benchmark}: {len(rows)} items. Each measure is of the first response, as its z-score over the "
        "items; the answer entropy is of all samples. Line: linear regression.",
    )


def _draw(axes: Axes, rows: pl.DataFrame, measure: str, correlation: dict[str, Any]) -> None:
    plain(axes)
    if why_none(rows["answer_entropy"], rows["answer_entropy"]) or why_none(rows[measure], rows[measure]):
        axes.set_title(f"{measure_title(measure)}\nno r: {correlation['reason']}", fontsize=8, wrap=True)
        return
    x, y = rows["answer_entropy"].to_numpy(), rows[measure].to_numpy().astype(float)
    z = (y - y.mean()) / y.std()
    axes.scatter(x, z, s=10, color=BLUE, alpha=0.5, linewidths=0)
    slope, start = np.polyfit(x, z, 1)
    ends = np.array([x.min(), x.max()])
    axes.plot(ends, start + slope * ends, color=_LINE, linewidth=1.6)
    p = "p < 0.0001" if correlation["p"] < 1e-4 else f"p = {correlation['p']:.4f}"
    axes.set_title(f"{measure_title(measure)}\nr = {correlation['r']:.3f}, {p}", fontsize=9)


# Options A, B, C and so on: colours of Okabe and Ito, dashes that differ as well.
_LINES = (
    *((BLUE, "-"), (ORANGE, "--"), (GREEN, "-."), ("#CC79A7", ":")),
    *(("#E69F00", "-"), ("#56B4E9", "--"), ("#999999", "-."), ("#000000", ":"), ("#F0E442", "-"), (BLUE, ":")),
)
_POSITION = "Token t after which the answer is put in"


def figure_1_trajectory(shown: Trajectory | None, model: str, benchmark: str, answer: str, label: str) -> Drawing:
    """The entropies of one response with the area under them: the response of median EAS."""
    if shown is None:
        return nothing(f"No response of {model} to {benchmark} has a trajectory", label)
    figure = new_figure(7.5, 3.2, label)
    axes = figure.subplots()
    _draw_entropy(axes, shown)
    axes.set(xlabel=_POSITION, ylabel="H(t), bits")
    axes.set_title(f"EAS {shown.eas:.1f} bits, mean {shown.mean_eas:.2f}", fontsize=10)
    put_in = "" if shown.answer_text is None else f" and all but the last token of {shown.answer_text}"
    return Drawing(
        figure,
        f"{model} on {shown.item_id}: entropy of the next token, in bits, where after the first t tokens of the "
        f"response stands \\boxed{{{put_in} ({answer_title(answer)}). The area is EAS. Of the items of "
        f"{benchmark}, this one's first response has the median EAS.",
    )


def figure_3_ranges(
    by_range: Mapping[str, Trajectory | None],
    counts: Mapping[str, int],
    model: str,
    benchmark: str,
    answer: str,
    alpha: float,
    label: str,
) -> Drawing:
    """A column for each range of answer entropy: decayed probabilities of the options, and the entropy below."""
    known = [mean for mean in by_range.values() if mean]
    if not known:
        return nothing(f"No response of {model} to {benchmark} has a trajectory", label)
    has_options = any(mean.probabilities is not None for mean in known)
    figure = new_figure(10.5, 5.2 if has_options else 3, label)
    grid = figure.subplots(2 if has_options else 1, len(RANGES), squeeze=False, sharey="row")
    highest = max(mean.entropies.max() for mean in known)
    for place, (name, (title, *_)) in enumerate(RANGES.items()):
        column, shown = grid[:, place], by_range[name]
        items = "1 item" if counts[name] == 1 else f"{counts[name]} items"
        column[0].set_title(f"{name.title()}, {title} bits: {items}\n{_said(shown, answer)}", fontsize=9)
        if shown is None:
            for axes in column:
                axes.text(0.5, 0.5, "none with a trajectory", ha="center", va="center", transform=axes.transAxes)
        else:
            if has_options and shown.probabilities is not None:
                _draw_options(column[0], shown, alpha)
            _draw_entropy(column[-1], shown)
        column[-1].set(xlabel="Token t", ylim=(0, highest * 1.05 or 1))
        for axes in column:
            plain(axes)
            # An empty range has no tokens.
            axes.xaxis.set_visible(shown is not None)
    grid[-1, 0].set_ylabel("H(t), bits")
    if has_options:
        grid[0, 0].set_ylabel(f"Decayed sum, alpha {alpha:g}")
        legend = legend_of(grid[0])
        look: dict[str, Any] = {"ncols": len(legend), "frameon": False, "fontsize": 9}
        figure.legend(list(legend.values()), list(legend), loc="outside lower center", **look)
    return Drawing(figure, _caption(model, benchmark, answer, alpha, has_options))


def _caption(model: str, benchmark: str, answer: str, alpha: float, has_options: bool) -> str:
    chosen = (
        f"{model} on {benchmark}: of the items in each range of answer entropy the one whose first response has the "
        "median EAS. "
    )
    below = f"the entropy after each token with the answer put in ({answer_title(answer)}), and its area, EAS"
    if not has_options:
        return (
            f"{chosen}Shown is {below}. The probabilities of the options are left out: either the questions of this "
            "benchmark offer none, or signals.forced_answer.options is not set."
        )
    return (
        f"{chosen}Above: probabilities of the options' letters right after the brace, summed over the tokens so far "
        f"with the weight (t - k + 1)^-{alpha:g}; they are not renormalised, and one that is not among the 20 most "
        f"likely tokens counts as 0. Below: {below}."
    )


def _said(shown: Trajectory | None, answer: str) -> str:
    if shown is None:
        return ""
    letter = f", {answer_title(answer)} {shown.answer_text}" if shown.options and shown.answer_text else ""
    return f"{shown.item_id}{letter}\nanswer entropy {shown.answer_entropy:.2f}, EAS {shown.eas:.1f}"


def _draw_entropy(axes: Axes, shown: Trajectory) -> None:
    axes.fill_between(shown.positions, shown.entropies, color=BLUE, alpha=0.25, linewidth=0)
    axes.plot(shown.positions, shown.entropies, color=BLUE, linewidth=0.9)
    axes.set_ylim(bottom=0)
    plain(axes)


def _draw_options(axes: Axes, shown: Trajectory, alpha: float) -> None:
    sums = shown.decayed_options(alpha)
    for letter, values, (color, dash) in zip(shown.options, sums, _lines(shown.options), strict=True):
        axes.plot(range(1, len(values) + 1), values, color=color, linestyle=dash, linewidth=1.2, label=letter)
    axes.set_ylim(bottom=0)


def _lines(options: Sequence[str]) -> list[tuple[str, str]]:
    return [_LINES["ABCDEFGHIJ".index(letter)] for letter in options]


class FigureFiles(TypedDict):
    """Files of the figures: items of each model, correlations of all, and the pass of each model and benchmark."""

    by_item: Sequence[str]
    correlations: str
    passes: Sequence[str]


class FigureSettings(AreaShown):
    """Settings of the figures: also the benchmark of Figures 1 and 3, null for the first with options."""

    figure_benchmark: str | None


class DrawnFigure(TypedDict):
    """A figure to make: its name in the catalogue, its title, its model, and the set of benchmarks if it is of one."""

    figure: str
    title: str
    model: str
    benchmark: str | None


def write_figures(
    files: FigureFiles,
    settings: FigureSettings,
    exhibits: Mapping[str, DrawnFigure],
    models: Sequence[str],
    folder: str,
) -> None:
    """Write the figures, by the names of their files, to `folder`."""
    source = _Source(files, settings, models)
    for name, what in exhibits.items():
        with style():
            drawing = source.draw(what)
        write_figure(Exhibit("figure", name, what["title"]), drawing, folder)


class _Source:
    """What the figures are drawn from."""

    def __init__(self, files: FigureFiles, settings: FigureSettings, models: Sequence[str]) -> None:
        self.items = read_several(ITEMS, files["by_item"], {"model": models})
        self.correlations = CORRELATIONS.read(files["correlations"])
        self.settings, self.score = settings, f"eas_{settings['answer']}"
        self.passes: dict[str, dict[str, str]] = {}
        for path in files["passes"]:
            origin = read_provenance(path)
            self.passes.setdefault(origin["model"], {})[origin["benchmark"]] = path

    def draw(self, what: DrawnFigure) -> Drawing:
        settings, model = self.settings, what["model"]
        if what["figure"] == "2_correlations":
            name = str(what["benchmark"])
            own, answers = of_set(self.items, model, settings["sets"][name]), settings["answers"]
            return figure_2_correlations(
                own, self.correlations, measures(answers), settings["answer"], model, name, settings["label"]
            )
        benchmark = self._benchmark(model)
        own = of_set(self.items, model, [benchmark])
        path, answer = self.passes[model][benchmark], settings["answer"]
        if what["figure"] == "1_trajectory":
            item = median_item(own, self.score)
            shown = trajectory(path, item, answer) if item else None
            return figure_1_trajectory(shown, model, benchmark, answer, settings["label"])
        chosen = by_range(own, self.score)
        shown_by_range = {name: trajectory(path, item, answer) if item else None for name, item in chosen.items()}
        counts = dict.fromkeys(chosen, 0) | _counts(own)
        alpha, label = settings["alpha"], settings["label"]
        return figure_3_ranges(shown_by_range, counts, model, benchmark, answer, alpha, label)

    def _benchmark(self, model: str) -> str:
        """That of the settings, or the first with options, or else the first."""
        if self.settings["figure_benchmark"]:
            return self.settings["figure_benchmark"]
        passes = self.passes[model]
        return next(iter(with_options(passes)), next(iter(passes)))


def _counts(items: pl.DataFrame) -> dict[str, int]:
    ranges = [range_of(entropy) for entropy in items["answer_entropy"]]
    return {name: ranges.count(name) for name in ranges}
