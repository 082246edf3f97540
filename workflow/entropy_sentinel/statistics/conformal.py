"""Split conformal prediction (Papadopoulos et al. 2002; Lei et al. 2018): intervals from the ranks of errors.

If the calibration scores and the new score are exchangeable, the new score is at most `conformal_quantile(scores,
level)` with probability at least `level`, whatever their distribution. This probability is over all draws of the
scores. It does not hold conditionally on the observed scores, or on a decision based on them.
"""

import math

import numpy as np

from entropy_sentinel.statistics.array_types import Numbers
from entropy_sentinel.statistics.judge_agreement import LEVEL, Interval, wilson_interval

# Makes 0.9 * (9 + 1) equal 9 in floating point.
_ROUNDING = 1e-9


def conformal_quantile(scores: Numbers, level: float) -> np.ndarray:
    """The conformal quantile of k scores, (..., k): the one of rank ceil(level * (k + 1)), (...).

    It is infinite if `level` is above `highest_level(k)`, because then no score is large enough.
    """
    scores = np.asarray(scores, dtype=float)
    k = scores.shape[-1]
    rank = quantile_rank(k, level)
    if rank > k:
        return np.full(scores.shape[:-1], math.inf)
    return np.asarray(np.sort(scores, axis=-1)[..., rank - 1])


def quantile_rank(k: int, level: float) -> int:
    """The rank of the quantile among k calibration scores, from 1; above k if no score is large enough."""
    return max(math.ceil(level * (k + 1) - _ROUNDING), 1)


def nonconformity_scores(lower: Numbers, upper: Numbers, true: Numbers) -> np.ndarray:
    """How far each true value, (n,), lies outside its interval; inside, minus the distance to the nearer limit.

    An interval widened by this amount at both limits just contains the true value (Romano et al. 2019).
    """
    lower, upper, true = (np.asarray(values, dtype=float) for values in (lower, upper, true))
    outside: np.ndarray = np.maximum(lower - true, true - upper)
    return outside


def highest_level(k: int) -> float:
    """The highest level at which k calibration scores give a finite interval: k / (k + 1)."""
    return k / (k + 1)


def smallest_calibration_size(level: float) -> int:
    """The smallest number of calibration scores that give a finite interval of this level."""
    return math.ceil(level / (1 - level) - _ROUNDING)


def can_reach_level(k: int, level: float) -> bool:
    """Whether k calibration scores give a finite interval of this level."""
    return level <= highest_level(k) + _ROUNDING


def contains_truth(lower: Numbers, upper: Numbers, true: Numbers) -> np.ndarray:
    """Whether each true value, (n,), is inside its interval, limits included, (n,) of bool."""
    lower, upper, true = (np.asarray(values, dtype=float) for values in (lower, upper, true))
    inside: np.ndarray = (lower <= true) & (true <= upper)
    return inside


def measure_coverage(lower: Numbers, upper: Numbers, true: Numbers, level: float = LEVEL) -> Interval:
    """The share of true values, (n,), inside their intervals, limits included, with Wilson's interval."""
    inside = contains_truth(lower, upper, true)
    return wilson_interval(int(inside.sum()), len(inside), level)
