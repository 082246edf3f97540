"""Split conformal prediction (Papadopoulos et al. 2002; Lei et al. 2018): intervals from the ranks of errors.

If the calibration scores and the new score are exchangeable, the new score is at most `quantile(scores, level)` with
probability at least `level`, whatever their distribution. This probability is over all draws of the scores. It does
not hold conditionally on the observed scores, or on anything decided by them.
"""

import math

import numpy as np

from entropy_sentinel.statistics.agreement import LEVEL, Interval, wilson
from entropy_sentinel.statistics.numbers import Numbers

# 0.9 * (9 + 1) is 9, in binary too.
_ROUNDING = 1e-9


def quantile(scores: Numbers, level: float) -> np.ndarray:
    """The smallest score that is large enough: of k scores, (..., k), the one of rank ceil(level * (k + 1)), (...).

    Infinite if no score is large enough, because `level` is above `highest_level(k)`.
    """
    scores = np.asarray(scores, dtype=float)
    k = scores.shape[-1]
    at = rank(k, level)
    return np.sort(scores, axis=-1)[..., at - 1] if at <= k else np.full(scores.shape[:-1], math.inf)


def rank(k: int, level: float) -> int:
    """The rank of the quantile among k calibration scores, 1 for the smallest; above k if no score is large enough."""
    return max(math.ceil(level * (k + 1) - _ROUNDING), 1)


def nonconformity(lower: Numbers, upper: Numbers, true: Numbers) -> np.ndarray:
    """How far each true value is outside its interval, (n,); negative inside, by the distance to the nearer end.

    Moving the ends outwards by this much makes the interval just contain the true value (Romano et al. 2019).
    """
    lower, upper, true = (np.asarray(values, dtype=float) for values in (lower, upper, true))
    outside: np.ndarray = np.maximum(lower - true, true - upper)
    return outside


def highest_level(k: int) -> float:
    """The highest level that k calibration scores reach with a finite interval: k / (k + 1)."""
    return k / (k + 1)


def fewest(level: float) -> int:
    """The fewest calibration scores that reach the level with a finite interval."""
    return math.ceil(level / (1 - level) - _ROUNDING)


def reaches(k: int, level: float) -> bool:
    """Whether k calibration scores give a finite interval of this level."""
    return level <= highest_level(k) + _ROUNDING


def covered(lower: Numbers, upper: Numbers, true: Numbers) -> np.ndarray:
    """Return whether each true value, (n,), is inside its interval, ends included, (n,) of bool."""
    lower, upper, true = (np.asarray(values, dtype=float) for values in (lower, upper, true))
    inside: np.ndarray = (lower <= true) & (true <= upper)
    return inside


def coverage(lower: Numbers, upper: Numbers, true: Numbers, level: float = LEVEL) -> Interval:
    """The share of the true values, (n,), inside their intervals, ends included, with Wilson's interval of `level`."""
    inside = covered(lower, upper, true)
    return wilson(int(inside.sum()), len(inside), level)
