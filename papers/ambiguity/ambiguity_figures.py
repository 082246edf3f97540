"""The figures of the catalogue, from the uncertainties and estimators of all models, and from theory."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from scipy.special import entr

from entropy_sentinel.rendering.exhibit_files import DrawnFigure, FigureInputs, save_figures
from entropy_sentinel.rendering.figure_style import (
    BLUE,
    GREEN,
    ORANGE,
    Drawing,
    collect_legend,
    message_figure,
    new_figure,
    style_axes,
)
from entropy_sentinel.schemas.file_sets import read_by_owner
from papers.ambiguity.ambiguity_exhibits import ANSWERS, ESTIMATORS, FIGURES, PAPER_FORM, AmbiguityExhibitSettings
from papers.ambiguity.ambiguity_frames import ESTIMATES, P_STARS, UNCERTAINTIES
from papers.ambiguity.ambiguity_measures import join_estimates, select_common_items
from papers.ambiguity.concordance import measure_separation
from papers.ambiguity.entropy_bounds import (
    alpha_delta,
    compute_lower_bound,
    compute_upper_bound,
    gamma_delta,
)

# The threshold of the paper's ROC curves.
_UNCERTAIN = math.log(2)
_COLOURS = dict(zip(ESTIMATORS, (BLUE, ORANGE, GREEN, "#CC79A7"), strict=True))
_STEPS = 200


@dataclass(frozen=True, kw_only=True)
class AmbiguityFigureInputs(FigureInputs):
    """The settings of the figures, the items of the paper's form and the benchmarks' own p*, and a frame P_STARS."""

    settings: AmbiguityExhibitSettings
    items: pl.DataFrame
    p_stars: pl.DataFrame


def figure_3_relationship(inputs: AmbiguityFigureInputs) -> Drawing:
    """Draw epistemic uncertainty against semantic entropy, and ROC curves, for items with one answer and several."""
    # The model's items by their number of right answers, `one` or `several`.
    items_by_answers = {}
    for answers in ANSWERS:
        rows = inputs.items.filter(model=inputs.model, answers=answers)
        if len(rows.drop_nulls("se")):
            items_by_answers[answers] = rows
    if not items_by_answers:
        return Drawing(
            message_figure(f"{inputs.model}: no item has a semantic entropy", inputs.label),
            f"{inputs.model}: no semantic entropy.",
        )
    figure = new_figure(11, 3.2 * len(items_by_answers), inputs.label)
    panels = figure.subplots(len(items_by_answers), 2, squeeze=False)
    for (scatter, curves), (answers, rows) in zip(panels, items_by_answers.items(), strict=True):
        _draw_scatter(scatter, rows.drop_nulls("se"), answers)
        _draw_roc_curves(curves, select_common_items(rows), answers)
    return Drawing(
        figure,
        f"{inputs.model}. Left: each point is an item. With one answer, lines are the least epistemic uncertainty of "
        "Theorem 1 for as many classes as any item has, and the most of Theorem 2 where the likeliest class is right. "
        "Right: how well each estimator separates items with an epistemic uncertainty of log 2 or more from others.",
    )


def _draw_scatter(axes: Axes, rows: pl.DataFrame, answers: str) -> None:
    """Draw epistemic uncertainty by semantic entropy, for items with `one` right answer (and bounds) or `several`."""
    title = f"Right answers: {ANSWERS[answers]}, {len(rows)} items"
    style_axes(axes, "semantic entropy, nats", "epistemic uncertainty, nats", title)
    axes.scatter(rows["se"], rows["epistemic"], s=10, color=BLUE, alpha=0.4, linewidths=0)
    if answers == "one":
        # A right answer that the model never gave counts as a class too.
        n_classes = max(int((rows["n_classes"].cast(pl.Int64) + rows["n_imputed"]).max()), 2)  # type: ignore[arg-type]
        _draw_lower_bound(axes, n_classes, label=f"at least (K = {n_classes})")
        _draw_upper_bound(axes, label="at most, if the likeliest is right")
        axes.legend(fontsize=7, frameon=False, loc="best")


def _draw_lower_bound(axes: Axes, n_classes: int, **line_style: Any) -> None:
    """Draw the lower bound of the epistemic uncertainty by the entropy, for this number of classes (Theorem 1)."""
    _draw_bound(
        axes, lambda delta: compute_lower_bound(delta, n_classes), math.log(n_classes), color=ORANGE, **line_style
    )


def _draw_upper_bound(axes: Axes, label: str) -> None:
    """Draw the upper bound of the epistemic uncertainty by the entropy, if the likeliest class is right (Theorem 2)."""
    _draw_bound(axes, compute_upper_bound, math.log(2), color=GREEN, linestyle="--", label=label)


def _draw_bound(axes: Axes, bound: Callable[[float], float], highest: float, **line_style: Any) -> None:
    """Draw a bound of the epistemic uncertainty for entropies from 0 to `highest` nats."""
    entropies = np.linspace(0, highest, _STEPS)
    axes.plot(entropies, [bound(delta) for delta in entropies], **line_style)


def _draw_roc_curves(axes: Axes, rows: pl.DataFrame, answers: str) -> None:
    """Draw how well each estimator finds the uncertain items, among those with `one` right answer or `several`.

    `rows` have a column for each estimator, without nulls, or only nulls if no item has it.
    """
    from sklearn.metrics import roc_curve  # imports scikit-learn, which the other figures do not need

    title = f"Right answers: {ANSWERS[answers]}; EU at least log 2"
    style_axes(axes, "share of the certain items", "share of the uncertain items", title)
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    for name, estimator in ESTIMATORS.items():
        if rows[name].null_count():
            continue
        curve = measure_separation(rows[name], rows["epistemic"], _UNCERTAIN)
        if curve.auroc is None:
            axes.text(0.5, 0.5, f"no ROC curve: {curve.reason}", ha="center", fontsize=8)
            return
        certain, uncertain, _ = roc_curve((rows["epistemic"] >= _UNCERTAIN).to_numpy(), rows[name].to_numpy())
        axes.plot(certain, uncertain, color=_COLOURS[name], label=f"{estimator.title} {curve.auroc:.2f}")
    axes.legend(fontsize=7, frameon=False, title="AUROC", title_fontsize=7, loc="best")


def figure_4_collapse(inputs: AmbiguityFigureInputs) -> Drawing:
    """Draw mean semantic entropy and mean epistemic uncertainty of each model, by benchmark."""
    means = inputs.items.group_by("benchmark", "model", maintain_order=True).agg(
        pl.col("se", "epistemic", "aleatoric").mean()
    )
    benchmarks = means["benchmark"].unique(maintain_order=True)
    models = means["model"].unique(maintain_order=True).to_list()
    figure = new_figure(min(2.4 + 0.9 * len(models) * len(benchmarks), 14), 3.4, inputs.label)
    panels = np.atleast_1d(figure.subplots(1, len(benchmarks), sharey=True))
    for axes, benchmark in zip(panels, benchmarks, strict=True):
        model_means = means.filter(benchmark=benchmark)
        places = np.arange(len(model_means))
        style_axes(axes, title=str(benchmark))
        axes.bar(places - 0.2, model_means["se"].fill_null(0), 0.4, color=BLUE, label="semantic entropy")
        axes.bar(places + 0.2, model_means["epistemic"], 0.4, color=ORANGE, label="epistemic uncertainty")
        axes.hlines(model_means["aleatoric"], places - 0.42, places + 0.42, color="0.2", label="H(p*)", linewidth=1.2)
        axes.set_xticks(places, model_means["model"].to_list(), rotation=30, ha="right", fontsize=8)
    panels[0].set_ylabel("mean over items, nats", fontsize=9)
    handles = collect_legend(panels[:1])
    figure.legend(handles.values(), handles.keys(), fontsize=8, frameon=False, ncols=3, loc="outside lower center")
    return Drawing(
        figure,
        "Mean semantic entropy and epistemic uncertainty of each model's items; the line is the mean entropy of p*. A "
        "model whose entropy is far below the line gives one answer to questions with several.",
    )


_BINS = 25


def figure_2_p_star(inputs: AmbiguityFigureInputs) -> Drawing:
    """Draw a histogram of H(p*) for each benchmark."""
    return _draw_histograms(
        inputs.p_stars.filter(source=inputs.settings["source"]),
        "entropy",
        "H(p*), nats",
        inputs.label,
        "Entropy of p* over the items of each benchmark: their aleatoric uncertainty. An item with one answer has 0.",
        ["benchmark"],
    )


def figure_5_divergence(inputs: AmbiguityFigureInputs) -> Drawing:
    """Draw a histogram of how far the p* of each further source of counts is from the benchmark's own p*."""
    return _draw_histograms(
        inputs.p_stars.drop_nulls("divergence"),
        "divergence",
        "Jensen-Shannon, nats",
        inputs.label,
        f"Jensen-Shannon divergence of the p* of each source from that of {inputs.settings['source']}, over the "
        "items that both have. log 2 = 0.69 is the largest.",
        ["benchmark", "source"],
    )


def _draw_histograms(rows: pl.DataFrame, value: str, title: str, label: str, caption: str, by: list[str]) -> Drawing:
    """Draw a histogram of the column `value`, with `title` below it, for each group of rows by the columns `by`."""
    groups = list(rows.group_by(by, maintain_order=True))
    if not groups:  # only divergences, which need a second source, can be absent
        text = "This study has one source of p*."
        return Drawing(message_figure(text, label), text)
    figure = new_figure(min(3.2 * len(groups) + 0.6, 12), 2.8, label)
    panels = np.atleast_1d(figure.subplots(1, len(groups), sharex=True))
    edges = np.linspace(0, max(float(rows[value].to_numpy().max()), 0.1), _BINS + 1)
    for axes, (key_values, group) in zip(panels, groups, strict=True):
        style_axes(axes, title, title=f"{', '.join(map(str, key_values))}: {len(group)} items")
        axes.hist(group[value].to_numpy(), bins=edges, color=BLUE)
    panels[0].set_ylabel("items", fontsize=9)
    return Drawing(figure, caption)


# Entropies of the two lines in the triangles, in nats.
_LOW, _HIGH = 0.35, 0.95
_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(3) / 2]])
_CLASSES = (2, 3, 5, 10)


def figure_1_bounds(inputs: AmbiguityFigureInputs) -> Drawing:
    """Draw the simplex of three classes with one answer and with several, and the bounds by the entropy."""
    figure = new_figure(11, 3.6, inputs.label)
    single, multiple, bounds = figure.subplots(1, 3)
    for axes, title in ((single, "One answer (AU = 0)"), (multiple, "Several answers (AU > 0)")):
        _draw_simplex(axes)
        axes.set_title(title, fontsize=9)
    single.scatter(*_CORNERS.T, s=40, color=BLUE, zorder=3, label="where p* can be")
    _mark_share(single, gamma_delta(_LOW), "\u03b3", GREEN)
    _mark_share(single, alpha_delta(_HIGH, 3), "\u03b1", ORANGE)
    multiple.fill(*_CORNERS.T, color=BLUE, alpha=0.25, zorder=0, label="where p* can be")
    for axes in (single, multiple):
        axes.legend(fontsize=7, frameon=False, loc="upper left")
    _draw_bounds(bounds)
    return Drawing(
        figure,
        "Left and middle: distributions over three classes, with the lines of entropy "
        f"{_LOW} (green) and {_HIGH} nats (orange). With one answer p* is a corner. Inside the orange line p is far "
        "from all corners (Theorem 1). Beyond the green one it is near one corner, the right one for a model that is "
        "seldom confidently wrong (Theorem 2). With several answers, p* can be anywhere, and the entropy of p "
        "does not show its distance (Proposition 1). Right: the lower bound of Theorem 1 on EU by the "
        "entropy, for K classes, and the upper bound of Theorem 2, which holds if the likeliest class is right; "
        "for two classes they are equal.",
    )


def _mark_share(axes: Axes, share: float, name: str, colour: str) -> None:
    """Write a share of the first class at the point where the others share the rest equally."""
    place = np.array([share, (1 - share) / 2, (1 - share) / 2]) @ _CORNERS
    text = f"{name} = {share:.2f}"
    axes.annotate(text, place, fontsize=8, color=colour, textcoords="offset points", xytext=(4, 3))


def _draw_simplex(axes: Axes) -> None:
    """Draw the triangle of the distributions over three classes, with lines of equal entropy at _LOW and _HIGH."""
    steps = np.linspace(0, 1, _STEPS)
    first, second = np.meshgrid(steps, steps)
    third = 1 - first - second
    p = np.stack([first, second, third], axis=-1)
    # Points of the grid with a negative third share are outside the triangle.
    entropy = np.where(third < -1e-9, np.nan, entr(np.clip(p, 0, 1)).sum(axis=-1))
    x, y = np.moveaxis(p @ _CORNERS, -1, 0)
    axes.contour(x, y, entropy, levels=[_LOW, _HIGH], colors=[GREEN, ORANGE], linewidths=1.4)
    axes.plot(*np.vstack([_CORNERS, _CORNERS[:1]]).T, color="0.3", linewidth=1)
    axes.set_aspect("equal")
    axes.set_xlim(-0.08, 1.08)
    axes.set_ylim(-0.08, 1.12)
    axes.axis("off")


def _draw_bounds(axes: Axes) -> None:
    """Draw the lower bound of Theorem 1 for several numbers of classes, and the upper bound of Theorem 2."""
    style_axes(axes, "H(p), nats", "epistemic uncertainty, nats", "Bounds with one answer")
    for n_classes, shade in zip(_CLASSES, np.linspace(0.35, 1, len(_CLASSES)), strict=True):
        _draw_lower_bound(axes, n_classes, alpha=shade, label=f"at least, K = {n_classes}")
    _draw_upper_bound(axes, label="Theorem 2")
    axes.legend(fontsize=7, frameon=False, loc="best")


def write_figures(
    uncertainties: Sequence[str],
    estimates: Sequence[str],
    p_stars: str,
    settings: AmbiguityExhibitSettings,
    exhibits: Mapping[str, DrawnFigure],
    folder: str,
) -> None:
    """Write the figures in `exhibits`, keyed by file name, to `folder`.

    `uncertainties` and `estimates` are files UNCERTAINTIES and ESTIMATES, one for each model, `p_stars` a file P_STARS.
    """
    expected = {"model": settings["models"]}
    items = join_estimates(
        read_by_owner(UNCERTAINTIES, uncertainties, expected), read_by_owner(ESTIMATES, estimates, expected)
    )
    inputs = AmbiguityFigureInputs(
        label=settings["label"],
        settings=settings,
        items=items.filter(form=PAPER_FORM, source=settings["source"]),
        p_stars=P_STARS.read(p_stars),
    )
    save_figures(FIGURES, exhibits, inputs, folder)
