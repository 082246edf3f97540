"""Figures 1 and 3: the entropy of an answer that is put in after each token, and the area under it."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from entropy_sentinel.analyses.entropy_area.catalogue import RANGES
from entropy_sentinel.analyses.entropy_area.headings import answer_title
from entropy_sentinel.analyses.entropy_area.trajectories import Trajectory
from entropy_sentinel.report.figures import BLUE, GREEN, ORANGE, Drawing, legend_of, new_figure, nothing, plain

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
    known = [one for one in by_range.values() if one]
    if not known:
        return nothing(f"No response of {model} to {benchmark} has a trajectory", label)
    has_options = any(one.probabilities is not None for one in known)
    figure = new_figure(10.5, 5.2 if has_options else 3, label)
    grid = figure.subplots(2 if has_options else 1, len(RANGES), squeeze=False, sharey="row")
    highest = max(one.entropies.max() for one in known)
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
