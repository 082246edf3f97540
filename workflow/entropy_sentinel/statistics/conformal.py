"""Split conformal prediction (Papadopoulos et al. 2002; Lei et al. 2018): intervals from the ranks of errors.

Where the calibration scores and the new one are exchangeable, the new one is at most `quantile(scores, level)` with a
probability of at least `level`, whatever their distribution. That is over all draws of the scores: not given what the
scores were, nor given anything that was decided by them.
"""

import math

import numpy as np

from entropy_sentinel.statistics.agreement import LEVEL, Interval, wilson
from entropy_sentinel.statistics.numbers import Numbers

# 0.9 * (9 + 1) is 9, in binary too.
_ROUNDING = 1e-9


def quantile(scores: Numbers, level: float) -> np.ndarray:
    """The smallest score that is large enough: of k scores, (..., k), the one of rank ceil(level * (k + 1)), (...).

    Infinite where there is none, for `level` is above `highest_level(k)`.
    """
    scores = np.asarray(scores, dtype=float)
    rank, k = math.ceil(level * (scores.shape[-1] + 1) - _ROUNDING), scores.shape[-1]
    return np.sort(scores, axis=-1)[..., max(rank, 1) - 1] if rank <= k else np.full(scores.shape[:-1], math.inf)


def highest_level(k: int) -> float:
    """The highest level that k calibration scores reach with a finite interval: k / (k + 1)."""
    return k / (k + 1)


def fewest(level: float) -> int:
    """The fewest calibration scores that reach the level with a finite interval."""
    return math.ceil(level / (1 - level) - _ROUNDING)


def reaches(k: int, level: float) -> bool:
    """Whether k calibration scores give a finite interval of this level."""
    return level <= highest_level(k) + _ROUNDING


def coverage(lower: Numbers, upper: Numbers, true: Numbers, level: float = LEVEL) -> Interval:
    """The share of the true values, (n,), inside their intervals, ends included, with Wilson's interval of `level`."""
    inside = (np.asarray(lower) <= true) & (np.asarray(true) <= upper)
    return wilson(int(inside.sum()), len(inside), level)


def winkler(lower: Numbers, upper: Numbers, true: Numbers, level: float) -> np.ndarray:
    """The interval score of each interval of `level`, (n,): lower is better (Winkler 1972; Gneiting and Raftery 2007).

    The width, and for a true value outside 2 / (1 - level) times its distance from the interval.
    """
    lower, upper, true = (np.asarray(one, dtype=float) for one in (lower, upper, true))
    outside = np.maximum(lower - true, 0) + np.maximum(true - upper, 0)
    scores: np.ndarray = upper - lower + 2 / (1 - level) * outside
    return scores
