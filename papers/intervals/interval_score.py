"""The quality of intervals: Winkler's interval score, and the difference in score between two methods.

Source: Winkler, A Decision-Theoretic Approach to Interval Estimation (1972); with the factor 2 / alpha as in Gneiting
and Raftery (2007), section 6.2, and Epstein et al., FermiEval (2025). Limits may be infinite, and belong to the
interval.
"""

from typing import NamedTuple

import numpy as np

from entropy_sentinel.statistics.array_types import Numbers
from entropy_sentinel.statistics.bootstrap import percentile_interval


def compute_winkler_scores(lower: Numbers, upper: Numbers, true: Numbers, alpha: float) -> np.ndarray:
    """The interval score of each question, (n,), in the unit of the bounds; lower is better.

    It is the width plus 2 / alpha times the distance of the true value from the interval. `alpha` is 1 - level: 0.05
    for an interval of 95 %. An infinite interval has an infinite score. Raises ValueError if an interval is NaN or its
    limits are in the wrong order.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is 1 - level and must be above 0 and below 1, got {alpha}")
    lower, upper, true = (np.asarray(values, dtype=float) for values in (lower, upper, true))
    if not (lower <= upper).all():
        index = int(np.flatnonzero(~(lower <= upper))[0])
        raise ValueError(f"lower must be at most upper, got {lower[index]} and {upper[index]} in place {index}")
    distance = np.maximum(np.maximum(lower - true, true - upper), 0)
    scores: np.ndarray = (upper - lower) + 2 / alpha * distance
    return scores


class Difference(NamedTuple):
    """The mean of first - second over questions, with its 95 % interval; `reason` says why it is null."""

    mean: float | None
    lower: float | None
    upper: float | None
    reason: str | None = None


def compare_scores(first: Numbers, second: Numbers, n_resamples: int, seed: int) -> Difference:
    """The difference in mean score between two methods on the same questions, (n,) each.

    The interval has percentiles over bootstrap samples of questions, each with both of its scores. Null if a score is
    infinite.
    """
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if not len(first):
        return Difference(None, None, None, "no question")
    if not np.isfinite([first, second]).all():
        return Difference(None, None, None, "an interval is infinite")
    differences = first - second
    n, generator = len(differences), np.random.default_rng(seed)
    means = np.array([differences[generator.integers(n, size=n)].mean() for _ in range(n_resamples)])
    return Difference(float(differences.mean()), *percentile_interval(means))
