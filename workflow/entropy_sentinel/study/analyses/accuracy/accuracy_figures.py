"""The figures declared in accuracy_exhibits.py, drawn from the study's frames, without those in scatter_panels.py."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from scipy.stats import gaussian_kde

from entropy_sentinel.formatting.text_format import format_count
from entropy_sentinel.rendering.exhibit_files import save_figures
from entropy_sentinel.rendering.exhibit_style import Style
from entropy_sentinel.rendering.figure_style import BLUE, ORANGE, Drawing, draw_empty, new_figure, style_axes
from entropy_sentinel.schemas.estimate_schema import ESTIMATES
from entropy_sentinel.schemas.file_sets import read_all
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS
from entropy_sentinel.study.analyses.accuracy.accuracy_exhibits import FIGURES
from entropy_sentinel.study.analyses.accuracy.exhibit_inputs import AccuracyFigureInputs
from entropy_sentinel.study.analyses.accuracy.measuring.accuracy_frames import AUROC, DOMAINS, SWEEP, AccuracyFiles
from entropy_sentinel.study.analyses.accuracy.measuring.study_validation import read_validations
from entropy_sentinel.study.analyses.accuracy.sweep_aggregation import (
    LARGEST_K,
    bin_errors,
    compute_group_accuracies,
    list_distinct,
    list_signals,
    name_confident_signals,
)
from entropy_sentinel.study.analyses.display_names import ExhibitSettings

_BINS = 10
# A density this many times lower than another looks flat on the other's scale.
_FLAT = 5


def figure_2_entropy_densities(inputs: AccuracyFigureInputs) -> Drawing:
    """Draw the density of a response's largest entropy, correct against incorrect, for one model on one benchmark.

    `observations` is the model's frame OBSERVATIONS. A class with fewer than two different values has no density; its
    value is drawn as a line. If one class's peak would make the other look flat, each gets its own panel.
    """
    rows = inputs.observations.filter(
        pl.col("benchmark") == inputs.figure_benchmark, pl.col("label").is_not_null(), pl.col("max").is_not_null()
    )
    correct = rows.filter(pl.col("label"))["max"].to_numpy()
    incorrect = rows.filter(~pl.col("label"))["max"].to_numpy()
    peaks = [peak for peak in (_find_peak(correct), _find_peak(incorrect)) if peak is not None]
    is_split = len(peaks) == 2 and max(peaks) > _FLAT * min(peaks)
    width = inputs.style.width(6.2)
    height = width * (5.4 if is_split else 4.2) / 6.2
    figure = new_figure(width, height, inputs.style.label)
    panels = figure.subplots(2 if is_split else 1, 1, squeeze=False, sharex=True).flatten()
    _draw_class(panels[0], correct, is_correct=True, style=inputs.style)
    _draw_class(panels[-1], incorrect, is_correct=False, style=inputs.style)
    for axes in panels:
        axes.set(ylabel="Density", ylim=(0, None))
        axes.legend(frameon=False, fontsize=inputs.style.points(9), loc="best")
        style_axes(axes, size=inputs.style.points(9))
    panels[-1].set(xlabel="Largest entropy of a token in the response (nats)", xlim=(0, None))
    subtitle = f"{inputs.style.model(inputs.figure_model)} on {inputs.style.benchmark(inputs.figure_benchmark)}"
    title = inputs.style.title(subtitle)
    panels[0].set_title(title, fontsize=inputs.style.points(11))
    scales = " The two scales of density differ." if is_split else ""
    # A style without titles, as in a paper, has the subtitle in the caption.
    where = "" if title else f" {subtitle}."
    return Drawing(
        figure,
        f"Density of a response's largest token entropy.{where}{scales}",
    )


def _find_peak(values: np.ndarray) -> float | None:
    """The height of the drawn density's peak; None if fewer than two different values leave it undefined."""
    if len(np.unique(values)) < 2:
        return None
    density = gaussian_kde(values)
    return float(density(np.linspace(0, values.max(), 200)).max())


def _draw_class(axes: Axes, values: np.ndarray, is_correct: bool, style: Style) -> None:
    """Draw the density of one class's largest entropies, or a vertical line if all are equal."""
    color, line = (BLUE, "-") if is_correct else (ORANGE, "--")
    legend = f"{'correct' if is_correct else 'incorrect'} ({format_count(len(values), 'response')})"
    if len(np.unique(values)) > 1:
        # Both areas are drawn below both lines, so that neither line is covered.
        shared = {"x": values, "ax": axes, "clip": (0, np.inf), "color": color}
        sns.kdeplot(**shared, fill=True, alpha=0.18, linewidth=0, zorder=1)
        sns.kdeplot(**shared, linestyle=line, linewidth=style.points(1.8), zorder=2, label=legend)
    elif len(values):
        axes.axvline(values[0], color=color, linestyle=line, label=f"{legend}, all at one value")
    else:
        # Only the entry in the legend, with its count of 0.
        axes.plot([], [], color=color, linestyle=line, label=legend)


def figure_4_errors_by_group_accuracy(inputs: AccuracyFigureInputs) -> Drawing:
    """Draw the default estimator's AEE on unseen domains against the weighted accuracy of the training group.

    The figure also shows the median AEE over all domains, including the training domains' test splits.
    """
    picked = inputs.sweep.filter(
        pl.col("estimator") == inputs.default, pl.col("k") <= LARGEST_K, pl.col("aee").is_not_null()
    )
    joined = picked.join(compute_group_accuracies(inputs.domains, picked["group"]), on="group").drop_nulls(
        "group_accuracy"
    )
    points = joined.filter(pl.col("scope") == "held_out")
    over_all = joined.filter(pl.col("scope") == "all")
    if points.is_empty():
        return draw_empty("No training group has an AEE and an accuracy", inputs.style.label)
    width = inputs.style.width(6.6)
    figure = new_figure(width, width * 4.5 / 6.6, inputs.style.label)
    axes = figure.add_subplot()
    _draw_errors(axes, points, over_all, inputs.style)
    axes.set(xlabel="Weighted accuracy of the training group", ylabel="AEE", ylim=(0, None))
    groups, models = points["group"].n_unique(), points["model"].n_unique()
    counts = f"{format_count(groups, 'training group')}, {format_count(models, 'model')}"
    axes.set_title(inputs.style.title(counts), fontsize=inputs.style.points(11))
    axes.legend(frameon=False, fontsize=inputs.style.points(9), loc="best")
    style_axes(axes, size=inputs.style.points(9))
    remark = "" if inputs.style.title(counts) else f" ({counts})"
    return Drawing(
        figure,
        "Median and interquartile range of the default estimator's AEE on unseen domains, in ten bins of equal width "
        f"of the weighted accuracy; groups of up to four benchmarks, all models{remark}. Dashed: the median over all "
        "domains, including the training domains' test splits.",
    )


def _draw_errors(axes: Axes, points: pl.DataFrame, over_all: pl.DataFrame, style: Style) -> None:
    """Draw points, binned median and quartiles of `points` (unseen domains), and the binned median of `over_all`.

    Both frames have the columns `group_accuracy` and `aee`, a row for each model and training group.
    """
    grey: dict[str, Any] = {"s": style.area(9), "color": "0.6", "alpha": 0.5, "linewidth": 0}
    axes.scatter(points["group_accuracy"], points["aee"], label="one model and group, unseen domains", **grey)
    binned = bin_errors(points, _BINS)
    blue: dict[str, Any] = {"color": BLUE, "alpha": 0.2, "linewidth": 0}
    axes.fill_between(binned["centre"], binned["lower"], binned["upper"], label="IQR of a bin, unseen domains", **blue)
    dots: dict[str, Any] = {"color": BLUE, "marker": "o", "markersize": style.points(4)}
    axes.plot(binned["centre"], binned["median"], label="median of a bin, unseen domains", **dots)
    if len(over_all):
        binned = bin_errors(over_all, _BINS)
        thin: dict[str, Any] = {"color": ORANGE, "linestyle": "--", "linewidth": 1}
        axes.plot(binned["centre"], binned["median"], label="median of a bin, all domains", **thin)


_COLOUR_MAP = "RdBu"
# Cells this far from chance are dark, so their numbers are white.
_DARK = 0.32
_ROW, _COLUMN = 0.27, 0.44  # inches


def figure_auroc_by_domain(inputs: AccuracyFigureInputs) -> Drawing:
    """Draw the AUROC of every signal (columns) in every domain (rows), with a panel for every model.

    A domain without an AUROC is a grey row that names the class of its responses.
    """
    models = list_distinct(inputs.auroc, "model")
    if not models:
        return draw_empty("No model has features and labels", inputs.style.label)
    heights = [inputs.auroc.filter(pl.col("model") == model)["benchmark"].n_unique() for model in models]
    signals = list_signals(inputs.auroc)
    width = _COLUMN * len(signals) + 2.6
    figure = new_figure(width, _ROW * sum(heights) + 0.45 * len(models) + 1.7, inputs.style.label)
    panels = figure.subplots(len(models), 1, squeeze=False, gridspec_kw={"height_ratios": heights}).flatten()
    for axes, model in zip(panels, models, strict=True):
        _draw_auroc(axes, inputs.auroc.filter(pl.col("model") == model), list(signals))
        axes.set_title(model, fontsize=10, loc="left")
    panels[-1].set_xticks(range(len(signals)), [signal.title for signal in signals.values()], rotation=45, ha="right")
    colours = panels[0].images[0]
    bar = figure.colorbar(colours, ax=list(panels), location="bottom", shrink=0.5, aspect=40, pad=0.02)
    bar.set_label("AUROC as a score for an incorrect response (0.5 is chance)", fontsize=9)
    bar.ax.tick_params(labelsize=8)
    return Drawing(
        figure,
        "AUROC of every statistic of a response as a score for an incorrect one, by model and domain; "
        f"1 - AUROC for {name_confident_signals(signals)}, which grow with confidence. "
        "Blue: larger for incorrect responses; red: the reverse; white: no better than chance. "
        "In brackets: the responses of the rarer class; with few, an AUROC is mostly chance. "
        "Grey: no AUROC, because all responses are of one class or none has a label.",
    )


def _draw_auroc(axes: Axes, auroc: pl.DataFrame, signals: Sequence[str]) -> None:
    """Draw one model's AUROCs (rows of frame AUROC) as a heat map: a row for each benchmark, a column per signal."""
    benchmarks = list_distinct(auroc, "benchmark")
    values = np.full((len(benchmarks), len(signals)), np.nan)
    for cell in auroc.iter_rows(named=True):
        if cell["auroc"] is not None:
            values[benchmarks.index(cell["benchmark"]), signals.index(cell["feature"])] = cell["auroc"]
    axes.imshow(values, cmap=_COLOUR_MAP, vmin=0, vmax=1, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            color = "white" if abs(value - 0.5) > _DARK else "black"
            axes.text(column, row, f"{value:.2f}".lstrip("0"), ha="center", va="center", fontsize=7, color=color)
    names = []
    for row, name in enumerate(benchmarks):
        domain = auroc.filter(pl.col("benchmark") == name)
        # Counts are the same for all signals, except for those that some responses lack.
        n_correct, n_incorrect = domain.select("n_correct", "n_incorrect").row(-1)
        names.append(f"{name} ({min(n_correct, n_incorrect)})")
        if not np.isfinite(values[row]).any():
            _write_over_row(axes, row, describe_one_class(domain.row(0, named=True)), len(signals))
    axes.set_yticks(range(len(benchmarks)), names)
    axes.set_xticks([])
    axes.tick_params(length=0, labelsize=8)
    axes.spines[:].set_visible(False)


def _write_over_row(axes: Axes, row: int, text: str, width: int) -> None:
    """Grey out a row and write a text over it."""
    grey: dict[str, Any] = {"facecolor": "0.9", "edgecolor": "white", "linewidth": 1}
    axes.add_patch(Rectangle((-0.5, row - 0.5), width, 1, **grey))
    axes.text((width - 1) / 2, row, text, ha="center", va="center", fontsize=8, color="0.25")


def describe_one_class(domain: Mapping[str, Any]) -> str:
    """Why a domain has no AUROC, from one of its rows of frame AUROC."""
    n_correct, n_incorrect = domain["n_correct"], domain["n_incorrect"]
    if n_correct:
        return f"one class: all {n_correct} responses are correct"
    if n_incorrect:
        return f"one class: all {n_incorrect} responses are incorrect"
    return str(domain["reason"])


class AccuracyFigureFiles(AccuracyFiles):
    """Files of the figures; `estimates` are those of the headline group, `observations` those of the figure's model."""

    auroc: str
    observations: str


class AccuracyFigureSettings(ExhibitSettings):
    """Settings of the figures."""

    default: str
    figure_model: str
    figure_benchmark: str


def write_figures(
    files: AccuracyFigureFiles, settings: AccuracyFigureSettings, figures: Sequence[str], folder: str
) -> None:
    """Write the figures of these names to `folder`."""
    inputs = AccuracyFigureInputs(
        **settings,
        style=Style(settings["label"]),
        sweep=SWEEP.read(files["sweep"]),
        auroc=AUROC.read(files["auroc"]),
        domains=DOMAINS.read(files["domains"]),
        estimates=read_all(ESTIMATES, files["estimates"]),
        validations=read_validations(files["validation"]),
        observations=OBSERVATIONS.read(files["observations"]),
    )
    save_figures(FIGURES, figures, inputs, folder)
