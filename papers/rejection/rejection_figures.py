"""Accuracy-rejection curves, a panel for each set of responses and in it a line for each assessor."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from entropy_sentinel.formatting.text_format import format_number
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
from entropy_sentinel.schemas.file_sets import read_by_owner
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS
from entropy_sentinel.study.analyses.display_names import ROLES, TrainingGroup, find_training_group
from papers.rejection.assessor_names import DISTRIBUTIONS, RejectionExhibitSettings, assessor_title
from papers.rejection.evaluated_rows import EVERY, Slice, read_scores, slice_responses
from papers.rejection.rejection_curves import compute_accuracy_curve
from papers.rejection.rejection_exhibits import FIGURES, QUESTION_ONLY

# Line styles of the estimators in turn: colours of Okabe and Ito, each with its own dash.
_LINES: tuple[tuple[str, Any], ...] = (
    (BLUE, "-"),
    (ORANGE, "--"),
    ("#CC79A7", "-."),
    ("#E69F00", (0, (5, 1))),
    ("#56B4E9", (0, (3, 1, 1, 1))),
)
_QUESTION_LINE: tuple[str, Any] = (GREEN, (0, (1, 1)))
_WIDTH, _HEIGHT = 2.75, 2.45
_EVERY_TITLES = {"held_out": "unseen domains", "training": "training domains, test split"}
_CAPTION = (
    "Accuracy of the responses that are kept when the least certain ones are rejected. On the left none are; on "
    "the far right only a few are left, and each one matters. Grey: the accuracy of all responses, "
    "which a random order has at every rejection rate. Thin lines: "
)


class AssessorPanel(NamedTuple):
    """Responses with a column of scores per assessor, and the panel's heading."""

    title: str
    rows: pl.DataFrame
    model: str


@dataclass(frozen=True, kw_only=True)
class RejectionFigureInputs(FigureInputs):
    """The responses of each model, slice by slice, the training group shown, and the names of its assessors in order.

    `accuracies` are the wanted ones, drawn as lines.
    """

    by_model: Mapping[str, Sequence[Slice]]
    group: TrainingGroup
    names: Sequence[str]
    accuracies: Sequence[float]


def figure_curves_by_domain(
    inputs: RejectionFigureInputs,
) -> Drawing:
    """Draw a panel for each labelled domain of one model, after a panel for all domains of each distribution."""
    panels = []
    for part in _sort_slices(inputs.by_model[inputs.model]):
        title = _EVERY_TITLES[part.role] if part.benchmark == EVERY else f"{part.benchmark} ({ROLES[part.role]})"
        panels.append(AssessorPanel(title, part.rows, inputs.model))
    return _draw_panels(
        panels,
        inputs.names,
        inputs.accuracies,
        f"{inputs.model}, assessors trained on {inputs.group.benchmarks}",
        inputs.label,
    )


def figure_curves_by_model(
    inputs: RejectionFigureInputs,
) -> Drawing:
    """Draw two panels per model: all unseen domains together, and the test splits of all training domains."""
    panels = []
    for model, parts in inputs.by_model.items():
        for part in _sort_slices(parts):
            if part.benchmark == EVERY:
                panels.append(AssessorPanel(f"{model}: {_EVERY_TITLES[part.role]}", part.rows, model))
    return _draw_panels(
        panels, inputs.names, inputs.accuracies, f"Assessors trained on {inputs.group.benchmarks}", inputs.label
    )


def _sort_slices(slices: Sequence[Slice]) -> list[Slice]:
    """The slices with responses: all domains together before single ones, unseen domains first, by falling accuracy."""

    def key(part: Slice) -> tuple[bool, int, float]:
        accuracy = part.rows["label"].to_numpy().mean()
        return part.benchmark != EVERY, list(DISTRIBUTIONS).index(part.role), -accuracy

    return sorted((part for part in slices if len(part.rows)), key=key)


def _draw_panels(
    panels: Sequence[AssessorPanel], names: Sequence[str], accuracies: Sequence[float], title: str, label: str
) -> Drawing:
    """Draw a grid of panels, at most 4 in a row, with one legend below; `names` are the assessors to draw."""
    if not panels:
        return draw_empty("No labelled responses", label)
    columns = min(4, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure = new_figure(_WIDTH * columns, _HEIGHT * rows + 0.9, label)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).flatten()
    for axes in grid[len(panels) :]:
        axes.remove()
    line_styles = _choose_line_styles(names)
    for axes, panel in zip(grid, panels, strict=False):
        _draw_panel(axes, panel, line_styles, accuracies)
    # The lowest panel of each column, and below the first of each row.
    for axes in grid[max(0, len(panels) - columns) : len(panels)]:
        axes.set_xlabel("Share rejected", fontsize=9)
        axes.tick_params(labelbottom=True)
    for axes in grid[: len(panels) : columns]:
        axes.set_ylabel("Accuracy of the rest", fontsize=9)
    legend = collect_legend(grid[: len(panels)])
    legend_style: dict[str, Any] = {
        "loc": "outside lower center",
        "ncols": min(4, columns),
        "frameon": False,
        "fontsize": 9,
    }
    figure.legend(list(legend.values()), list(legend), title=title, **legend_style)
    levels = ", ".join(f"{accuracy:g}" for accuracy in accuracies)
    return Drawing(figure, " ".join([f"{_CAPTION}{levels}.", *_note_missing_lines(panels, names)]))


def _note_missing_lines(panels: Sequence[AssessorPanel], names: Sequence[str]) -> list[str]:
    """A sentence for each assessor that some of the models lack."""
    sentences = []
    for name in names:
        models = dict.fromkeys(panel.model for panel in panels if name not in panel.rows.columns)
        if models:
            title = assessor_title(name)
            sentences.append(f"{title} has no line for {', '.join(models)}, where it could not be fitted.")
    return sentences


def _choose_line_styles(names: Sequence[str]) -> dict[str, tuple[str, Any]]:
    """Colour and dash of every assessor, as matplotlib's `color` and `linestyle`."""
    estimators = [name for name in names if name != QUESTION_ONLY]
    line_styles = {name: _LINES[place % len(_LINES)] for place, name in enumerate(estimators)}
    return line_styles | {QUESTION_ONLY: _QUESTION_LINE}


def _draw_panel(
    axes: Axes, panel: AssessorPanel, line_styles: dict[str, tuple[str, Any]], accuracies: Sequence[float]
) -> None:
    """Draw the accuracy of the responses that are left by the share that is rejected, a line for each assessor."""
    correct, n = panel.rows["label"].to_numpy(), len(panel.rows)
    for accuracy in accuracies:
        axes.axhline(accuracy, color="0.85", linewidth=0.7, zorder=1)
    axes.axhline(correct.mean(), color="0.5", linewidth=1, label="no order (random)", zorder=2)
    for name, (color, dash) in line_styles.items():
        if name in panel.rows.columns:
            rejected = 1 - np.arange(1, n + 1) / n
            line_style: dict[str, Any] = {"color": color, "linestyle": dash, "linewidth": 1.5, "zorder": 3}
            axes.plot(
                rejected,
                compute_accuracy_curve(panel.rows[name].to_numpy(), correct),
                label=assessor_title(name),
                **line_style,
            )
    axes.set(xlim=(0, 1), ylim=(0, 1.03))
    axes.set_title(f"{panel.title}\n{n:,} responses, accuracy {format_number(correct.mean(), '.2f')}", fontsize=8.5)
    style_axes(axes)
    axes.tick_params(labelsize=8)


def write_figures(
    observations: Sequence[str],
    scores: Sequence[str],
    questions: Sequence[str],
    settings: RejectionExhibitSettings,
    exhibits: Mapping[str, DrawnFigure],
    models: Sequence[str],
    folder: str,
) -> None:
    """Write the figures in `exhibits`, keyed by file name, to `folder`, for the headline training group.

    `observations` are files OBSERVATIONS, one for each of `models`; `scores` are files SCORES of the named groups, and
    `questions` files ASSESSMENTS of the assessor that sees only the question.
    """
    responses = read_by_owner(OBSERVATIONS, observations, {"model": models})
    score_rows = read_scores(scores, questions)
    group = find_training_group(settings["groups"], settings["headline_group"])
    group_assessors = settings["assessors"][group.group_id]
    by_model = {}
    for model in models:
        by_model[model] = list(
            slice_responses(responses.filter(model=model), score_rows, group.group_id, group_assessors)
        )
    scored_assessors = {name for parts in by_model.values() for part in parts for name in part.assessors}
    names = [name for name in group_assessors if name in scored_assessors]
    inputs = RejectionFigureInputs(
        label=settings["label"], by_model=by_model, group=group, names=names, accuracies=settings["accuracies"]
    )
    save_figures(FIGURES, exhibits, inputs, folder)
