"""Combine the estimate of a slice's accuracy with a few labels of the slice.

Before any label, the accuracy has the distribution of the predictive interval: the estimate, plus an error whose spread
has the posterior of the validation (`statistics.predictive_posterior`), plus the chance of the slice's responses. The
labels of n responses, of which c are correct, multiply it with theta^c (1 - theta)^(n - c) (Bayes). So the result rests
on both assumptions: that the slice resembles the labelled domains as they resemble each other, and that the labels were
drawn as their weights say.

The first assumption may be wrong, and few labels cannot show it. So the distribution before the labels has a part
UNLIKE in which every accuracy is equally probable (the robust prior of clinical trials: Schmidli et al. 2014). Labels
that are improbable under the estimate alone contradict it; then they stand alone.

The labels count as the accuracy and the effective number of `statistics.prediction_powered`, which also cover unequal
weights. benchmarks/bench_combined.py measures how often the interval holds if the assumption is wrong, and if it is
not.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import betainc

from entropy_sentinel.statistics.predictive_posterior import Spread

# If the labels, or any further from the estimate, were less probable than this, they contradict it.
CONTRADICTION = 0.05
# The probability, before any label, that the slice is unlike the labelled domains.
UNLIKE = 0.2
# The grid of accuracies, the middles of equal parts of [0, 1].
_GRID = (np.arange(1000) + 0.5) / 1000


class CombinedEstimate(NamedTuple):
    """The most probable accuracy and the shortest interval; `p_value` is that of the labels under the estimate."""

    estimate: float
    lower: float
    upper: float
    p_value: float

    @property
    def contradicts(self) -> bool:
        """Whether the labels contradict the estimate."""
        return self.p_value < CONTRADICTION


def combine_labels(
    spread: Spread, estimate: float, variance: float, share: float, n: float, level: float
) -> CombinedEstimate:
    """Combine the `estimate` of a slice's accuracy with `n` labels of which `share` are correct; n may be a fraction.

    `spread` is the posterior of the estimator's errors, `variance` the sampling variance of the slice's accuracy, and
    `level` that of the interval.
    """
    predictive = spread.density(_GRID - estimate, variance)
    predictive /= predictive.sum()
    correct = share * n
    prior = (1 - UNLIKE) * predictive + UNLIKE / len(_GRID)
    logarithm = np.log(prior) + correct * np.log(_GRID) + (n - correct) * np.log1p(-_GRID)
    posterior = np.exp(logarithm - logarithm.max())
    posterior /= posterior.sum()
    lower, upper = _shortest_interval(posterior, level)
    return CombinedEstimate(float(_GRID[posterior.argmax()]), lower, upper, _mid_p_value(predictive, correct, n))


def _shortest_interval(weights: np.ndarray, level: float) -> tuple[float, float]:
    """The ends of the shortest interval with the probability `level` that contains the most probable accuracy.

    `weights` are the probabilities of the accuracies of the grid, (n_grid,), and add up to 1. Unlike an interval with
    equal tails it may end at 0. If labels and estimate disagree, the weights may have two peaks; the interval may then
    contain only one.
    """
    edges = np.arange(len(weights) + 1) / len(weights)
    cumulative = np.concatenate([[0.0], np.cumsum(weights)])
    starts, targets = edges[:-1], cumulative[:-1] + level
    ends = np.interp(targets, cumulative, edges)
    mode = _GRID[weights.argmax()]
    eligible = (targets <= cumulative[-1]) & (starts <= mode) & (mode <= ends)
    start = int(np.argmin(np.where(eligible, ends - starts, np.inf)))
    return float(starts[start]), float(ends[start])


def _mid_p_value(predictive: np.ndarray, correct: float, n: float) -> float:
    """The two-sided mid-p value of `correct` of `n` labels under the estimate: small if they contradict it.

    `predictive`, (n_grid,), are the probabilities of the accuracies of the grid before any label, by the estimate.
    """
    tail = _binomial_tail(correct, n) @ predictive
    tail_beyond = _binomial_tail(correct + 1, n) @ predictive
    mid_p = float(tail + tail_beyond) / 2
    return 2 * min(mid_p, 1 - mid_p)


def _binomial_tail(count: float, n: float) -> np.ndarray:
    """The probability of at least `count` correct labels of n for each accuracy of the grid, (n_grid,)."""
    if count <= 0:
        return np.ones(len(_GRID))
    if count > n:
        return np.zeros(len(_GRID))
    probability: np.ndarray = betainc(count, n - count + 1, _GRID)
    return probability
