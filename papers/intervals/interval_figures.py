"""The figures of the catalogue: coverage of intervals, the right answers, and simulations of the perception tunnel."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from scipy.stats import norm

from entropy_sentinel.rendering.exhibit_files import FigureInputs, save_figures
from entropy_sentinel.rendering.figure_style import BLUE, GREEN, ORANGE, Drawing, draw_empty, new_figure, style_axes
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from papers.intervals.half_questions import read_exponents
from papers.intervals.interval_exhibits import FIGURES, TEST, IntervalsExhibitSettings, method_title
from papers.intervals.interval_frames import SCORES
from papers.intervals.perception_tunnel import (
    asymptotic_covariance,
    compute_stated_limits,
    quantiles_of_quantiles,
    simulate_queries,
)

_COLOURS, _MARKERS = (BLUE, ORANGE, GREEN), "osD^vP"
_BARS = "Bars: Wilson's 95 % interval."
# What Figure 6 of the paper shows.
_EXPONENT_RANGE = (-20, 40)


@dataclass(frozen=True, kw_only=True)
class IntervalsFigureInputs(FigureInputs):
    """The models with open weights, a frame SCORES, and the right answers to all questions, as powers of ten."""

    open_models: Sequence[str]
    scores: pl.DataFrame
    answers: np.ndarray


def figure_1_calibration(inputs: IntervalsFigureInputs) -> Drawing:
    """Draw observed against nominal coverage of the intervals that models state, a curve for each model."""
    return _draw_calibration(inputs.scores, inputs.scores["model"].unique(maintain_order=True).to_list(), inputs.label)


def figure_5_open_models(inputs: IntervalsFigureInputs) -> Drawing:
    """Draw observed against nominal coverage, for models with open weights."""
    return _draw_calibration(inputs.scores, inputs.open_models, inputs.label)


def _draw_calibration(scores: pl.DataFrame, models: Sequence[str], label: str) -> Drawing:
    """Draw the coverage of the stated intervals by their level, a curve for each model."""
    rows = scores.filter(pl.col("model").is_in(models), half=TEST, method="base").drop_nulls("coverage")
    if not len(rows):
        return draw_empty("no such model has an interval that is used", label)
    figure = new_figure(5.5, 4, label)
    axes = figure.subplots()
    for number, model in enumerate(rows["model"].unique(maintain_order=True)):
        _draw_curve(axes, rows.filter(model=model), model, number)
    _draw_identity(axes, rows)
    axes.legend(fontsize=8, frameon=False, loc="best")
    return Drawing(figure, f"Below the line: overconfident. {_BARS} On the test half, of the intervals that are used.")


def figure_2_conformal(inputs: IntervalsFigureInputs) -> Drawing:
    """Draw a panel for each model: observed against nominal coverage, as stated and after conformal adjustment."""
    rows = inputs.scores.filter(pl.col("method").is_in(["base", "conformal"]), half=TEST).drop_nulls("coverage")
    models = rows["model"].unique(maintain_order=True).to_list()
    if not models:
        return draw_empty("no model has an interval that can be read", inputs.label)
    n_columns = min(3, len(models))
    n_rows = math.ceil(len(models) / n_columns)
    figure = new_figure(1 + 3.4 * n_columns, 0.6 + 3 * n_rows, inputs.label)
    panels = figure.subplots(n_rows, n_columns, squeeze=False, sharex=True, sharey=True).flat
    for axes, model in zip(panels, models, strict=False):
        model_rows = rows.filter(model=model)
        for number, method in enumerate(("base", "conformal")):
            _draw_curve(axes, model_rows.filter(method=method), method_title(method), number)
        _draw_identity(axes, model_rows, model)
    for axes in list(panels)[len(models) :]:
        axes.set_visible(False)
    next(iter(figure.axes)).legend(fontsize=8, frameon=False, loc="best")
    infinite = rows.filter(pl.col("n_infinite") > 0).select("model", "level").rows()
    note = "".join(f" {model}, {level:g} %: infinite after adjustment." for model, level in infinite)
    return Drawing(figure, f"Test half, adjusted by the calibration half. {_BARS}{note}")


def _draw_curve(axes: Axes, rows: pl.DataFrame, name: str, number: int) -> None:
    """Draw coverage by level, from rows of SCORES; `number` is that of the curve in its panel.

    It gives colour and marker, and a slight shift, so that bars do not hide each other.
    """
    level_rows = rows.sort("level")
    x = level_rows["level"].to_numpy() + 0.12 * number
    y = 100 * level_rows["coverage"].to_numpy()
    ends = 100 * level_rows.select("coverage_lower", "coverage_upper").to_numpy().T
    axes.errorbar(
        x,
        y,
        yerr=np.abs(ends - y),
        label=name,
        color=_COLOURS[number % len(_COLOURS)],
        marker=_MARKERS[number % len(_MARKERS)],
        markersize=5,
        linewidth=1.2,
        elinewidth=0.8,
    )


def _draw_identity(axes: Axes, rows: pl.DataFrame, title: str = "") -> None:
    """Draw the line of perfect calibration over the levels of rows of SCORES, and label the axes."""
    ends = np.array([rows["level"].min(), rows["level"].max()], dtype=float)
    axes.plot(ends, ends, color="0.4", linestyle="--", linewidth=1, label="Perfect calibration")
    style_axes(axes, "Nominal coverage, %", "Observed coverage, %", title)
    axes.set_ylim(0, 102)


def figure_6_answers(inputs: IntervalsFigureInputs) -> Drawing:
    """Draw the number of questions by the power of ten that is the right answer, from -20 to 40."""
    low, high = _EXPONENT_RANGE
    inside = inputs.answers[(inputs.answers >= low) & (inputs.answers <= high)]
    figure = new_figure(6, 3, inputs.label)
    axes = figure.subplots()
    axes.hist(inside, bins=[at - 0.5 for at in range(low, high + 2)], color=BLUE, linewidth=0)
    style_axes(axes, "Right answer, power of ten", "Questions")
    outside = len(inputs.answers) - len(inside)
    return Drawing(
        figure,
        f"{len(inputs.answers)} questions of both halves; {outside} answers are outside {low} to {high} and not shown.",
    )


# For the shown queries: the share of the distribution that each perceives, where two of them begin, and their level.
_BETA = 0.5
_STARTS = (0.05, 0.45)
_ALPHA = 0.1
_BETAS = {0.2: BLUE, 0.5: ORANGE, 0.8: GREEN}
_QUERY_COUNTS = (10, 20, 50, 100, 200, 500, 1000, 2000)
_N_REPEATS, _SEED = 400, 42
# The points at which curves are drawn.
_GRID = np.linspace(-3.5, 3.5, 701)


def figure_3_tunnel(inputs: IntervalsFigureInputs) -> Drawing:
    """Draw the inferred distribution, what two queries perceive of it, and the intervals that they state."""
    figure = new_figure(6, 3.2, inputs.label)
    axes = figure.subplots()
    axes.plot(_GRID, norm.pdf(_GRID), color="black", linewidth=2, label="Inferred distribution F")
    for number, (start, colour) in enumerate(zip(_STARTS, (ORANGE, GREEN), strict=True)):
        low, high = norm.ppf([start, start + _BETA])
        inside = np.linspace(low, high, 201)
        axes.fill_between(inside, norm.pdf(inside) / _BETA, color=colour, alpha=0.3, linewidth=0)
        [lower], [upper] = compute_stated_limits(norm.ppf, np.array([start]), _BETA, _ALPHA)
        height = -0.06 * (number + 1)
        name = f"Query {number + 1}: seen, and stated"
        axes.plot([lower, upper], [height, height], color=colour, linewidth=3, label=name)
    style_axes(axes, "Answer", "Density")
    axes.legend(fontsize=8, frameon=False, loc="best")
    return Drawing(
        figure,
        f"A query sees a share of {_BETA} of the distribution, which begins at random, and treats it as the whole "
        f"(filled, as a density). Lines below: the {100 * (1 - _ALPHA):.0f} % intervals that it then states.",
    )


def figure_4_bounds(inputs: IntervalsFigureInputs) -> Drawing:
    """Draw the distribution of many queries' bounds, and how their quantiles converge to those of the distribution."""
    figure = new_figure(10, 3.4, inputs.label)
    left, right = figure.subplots(1, 2)
    lower, upper = simulate_queries(norm.ppf, _BETA, _ALPHA, (20_000,), _SEED)
    left.plot(_GRID, norm.pdf(_GRID), color="black", linewidth=2, label="F")
    for ends, colour, name in ((lower, ORANGE, "Lower bounds"), (upper, BLUE, "Upper bounds")):
        left.hist(ends, bins=80, density=True, color=colour, alpha=0.4, linewidth=0, label=name)
    for end in norm.ppf([_ALPHA / 2, 1 - _ALPHA / 2]):
        left.axvline(end, color="0.4", linestyle="--", linewidth=1)
    style_axes(left, "Answer", "Density")
    left.legend(fontsize=8, frameon=False, loc="best")
    for beta, colour in _BETAS.items():
        right.plot(
            _QUERY_COUNTS, [_simulate_error(beta, n) for n in _QUERY_COUNTS], "o", color=colour, label=f"beta {beta}"
        )
        # The densities at both quantiles, which are equal by symmetry.
        density = float(norm.pdf(norm.ppf(_ALPHA / 2)))
        lower_variance = asymptotic_covariance(_ALPHA, beta, (density, density))[0, 0]
        expected = np.sqrt(lower_variance / np.array(_QUERY_COUNTS))
        right.plot(_QUERY_COUNTS, expected, color=colour, linewidth=1)
    style_axes(right, "Queries", "Standard error of the lower quantile")
    right.set(xscale="log", yscale="log")
    for axis in (right.xaxis, right.yaxis):
        # Plain numbers, because labels are not parsed as formulas here.
        axis.set_major_formatter("{x:g}")
    right.legend(fontsize=8, frameon=False, loc="best")
    return Drawing(
        figure,
        f"Left: bounds that 20,000 queries state at {100 * (1 - _ALPHA):.0f} %, each of which sees a share of {_BETA}; "
        "dashed: the quantiles of F, which are the bounds' outer quantiles. Right: the error of the estimate from "
        f"repeated queries, over {_N_REPEATS} simulations (points), and the limit of Proposition 1, with the "
        "variance derived anew (lines): the rate is the root of the number of queries; beta changes only the constant.",
    )


def _simulate_error(beta: float, n_queries: int) -> float:
    """The standard error, over simulations, of the lower quantile that `n_queries` queries give; each sees `beta`."""
    lowers, uppers = simulate_queries(norm.ppf, beta, _ALPHA, (_N_REPEATS, n_queries), _SEED)
    estimates, _ = quantiles_of_quantiles(lowers, uppers, _ALPHA)
    return float(np.sqrt(np.mean((estimates - norm.ppf(_ALPHA / 2)) ** 2)))


def write_figures(
    benchmarks: Sequence[str],
    scores: str,
    settings: IntervalsExhibitSettings,
    figures: Sequence[str],
    folder: str,
) -> None:
    """Write the figures of these names to `folder`, from files BENCHMARKS and a file SCORES."""
    answers: list[int] = []
    for path in benchmarks:
        answers += read_exponents(BENCHMARKS.read(path)).values()
    inputs = IntervalsFigureInputs(**settings, scores=SCORES.read(scores), answers=np.array(answers))
    save_figures(FIGURES, figures, inputs, folder)
