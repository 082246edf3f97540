"""Figures 3 and 4: the theory of the perception tunnel, by simulation on a normal distribution."""

import numpy as np
from matplotlib.axes import Axes
from scipy.stats import norm

from entropy_sentinel.analyses.intervals.tunnel import (
    asymptotic_covariance,
    perceived,
    quantiles_of_quantiles,
    simulate,
)
from entropy_sentinel.report.figures import BLUE, GREEN, ORANGE, Drawing, new_figure, plain

# Of the shown queries: the share of the distribution that each perceives, where two of them begin, and their level.
_BETA = 0.5
_STARTS = (0.05, 0.45)
_ALPHA = 0.1
_BETAS = {0.2: BLUE, 0.5: ORANGE, 0.8: GREEN}
_N_QUERIES = (10, 20, 50, 100, 200, 500, 1000, 2000)
_N_REPEATS, _SEED = 400, 42
# Where curves are drawn.
_GRID = np.linspace(-3.5, 3.5, 701)


def figure_3_tunnel(label: str) -> Drawing:
    """The inferred distribution, what two queries perceive of it, and the intervals that they state."""
    figure = new_figure(6, 3.2, label)
    axes = figure.subplots()
    axes.plot(_GRID, norm.pdf(_GRID), color="black", linewidth=2, label="Inferred distribution F")
    for number, (start, colour) in enumerate(zip(_STARTS, (ORANGE, GREEN), strict=True)):
        low, high = norm.ppf([start, start + _BETA])
        inside = np.linspace(low, high, 201)
        axes.fill_between(inside, norm.pdf(inside) / _BETA, color=colour, alpha=0.3, linewidth=0)
        ends = [float(end[0]) for end in perceived(norm.ppf, np.array([start]), _BETA, _ALPHA)]
        height = -0.06 * (number + 1)
        axes.plot(ends, [height, height], color=colour, linewidth=3, label=f"Query {number + 1}: seen, and stated")
    _dress(axes)
    return Drawing(
        figure,
        f"A query sees a share of {_BETA} of the distribution, which begins at random, and takes it for all of it "
        f"(filled, as a density). Lines below: the {100 * (1 - _ALPHA):.0f} % intervals that it then states.",
    )


def figure_4_bounds(label: str) -> Drawing:
    """How the bounds of many queries are spread, and how fast their quantiles come to those of the distribution."""
    figure = new_figure(10, 3.4, label)
    left, right = figure.subplots(1, 2)
    lower, upper = simulate(norm.ppf, _BETA, _ALPHA, (20_000,), _SEED)
    left.plot(_GRID, norm.pdf(_GRID), color="black", linewidth=2, label="F")
    for ends, colour, name in ((lower, ORANGE, "Lower bounds"), (upper, BLUE, "Upper bounds")):
        left.hist(ends, bins=80, density=True, color=colour, alpha=0.4, linewidth=0, label=name)
    for end in norm.ppf([_ALPHA / 2, 1 - _ALPHA / 2]):
        left.axvline(end, color="0.4", linestyle="--", linewidth=1)
    _dress(left)
    for beta, colour in _BETAS.items():
        right.plot(_N_QUERIES, [_error(beta, n) for n in _N_QUERIES], "o", color=colour, label=f"beta {beta}")
        density = float(norm.pdf(norm.ppf(_ALPHA / 2)))
        expected = np.sqrt(asymptotic_covariance(_ALPHA, beta, (density, density))[0, 0] / np.array(_N_QUERIES))
        right.plot(_N_QUERIES, expected, color=colour, linewidth=1)
    plain(right)
    right.set(xscale="log", yscale="log")
    for axis in (right.xaxis, right.yaxis):
        # Plain numbers: labels are not read as formulas here.
        axis.set_major_formatter("{x:g}")
    right.set_xlabel("Queries", fontsize=9)
    right.set_ylabel("Standard error of the lower quantile", fontsize=9)
    right.legend(fontsize=8, frameon=False)
    return Drawing(
        figure,
        f"Left: bounds that 20,000 queries state at {100 * (1 - _ALPHA):.0f} %, each of which sees a share of {_BETA}; "
        "dashed: the quantiles of F, which the bounds have as outer quantiles. Right: how far the estimate from "
        f"repeated queries is off, over {_N_REPEATS} simulations (points), and the limit of Proposition 1, with the "
        "variance derived anew (lines): the rate is the root of the number of queries, beta moves the constant alone.",
    )


def _error(beta: float, n_queries: int) -> float:
    found, _ = quantiles_of_quantiles(*simulate(norm.ppf, beta, _ALPHA, (_N_REPEATS, n_queries), _SEED), _ALPHA)
    return float(np.sqrt(np.mean((found - norm.ppf(_ALPHA / 2)) ** 2)))


def _dress(axes: Axes) -> None:
    plain(axes)
    axes.set_xlabel("Answer", fontsize=9)
    axes.set_ylabel("Density", fontsize=9)
    axes.legend(fontsize=8, frameon=False)
