"""Whether a slice has changed: a test for the difference of the mean value of two sets of responses.

The values are the estimator's, one number per response: where it has several, they are weighted by how much each
moves the estimate. With n1 and n0 responses, means m1 and m0, and S^2 the variance (over N - 1) of all N = n1 + n0
values together,

    z = (m1 - m0) / sqrt(S^2 (1 / n1 + 1 / n0))

is the difference over its standard deviation under all ways to divide the N values into n1 and n0 (Pitman 1937, the
permutation test of two means), and near normal for groups that are not small. Of values of 0 and 1 it is the "N - 1"
chi-squared test of two shares (Campbell 2007). A slice of equal values, as of a few certain ones, has no variance of
its own, which Welch's test would take for certainty. Many slices: Benjamini and Hochberg (1995).
"""

from collections.abc import Callable

import numpy as np
from scipy.stats import false_discovery_control, norm

from entropy_sentinel.monitor.sums import covariance

# How far values are moved to see how the estimate moves.
_STEP = 1e-4

Accuracy = Callable[[np.ndarray], float]


def p_of_change(
    accuracy_of: Accuracy, now: tuple[int, np.ndarray, np.ndarray], then: tuple[int, np.ndarray, np.ndarray]
) -> float:
    """The two-sided p of the difference between two sets of responses, each n, sums (k,) and sums of products."""
    (n1, sums1, products1), (n0, sums0, products0) = now, then
    n = n1 + n0
    weights = weights_at(accuracy_of, (sums1 + sums0) / n)
    difference = float(weights @ (sums1 / n1 - sums0 / n0))
    variance = float(weights @ covariance(sums1 + sums0, products1 + products0, n) @ weights)
    # Of equal values rounding leaves some 1e-17.
    if variance <= 1e-12:
        return 1.0
    return float(2 * norm.sf(abs(difference) / np.sqrt(variance * (1 / n1 + 1 / n0))))


def weights_at(accuracy_of: Accuracy, mean: np.ndarray) -> np.ndarray:
    """(k,) how much the estimate moves with each of the mean values; equal weights where it does not move at all."""
    k = len(mean)
    steps = np.eye(k) * _STEP
    moved = [as_accuracy(accuracy_of, mean + step) - as_accuracy(accuracy_of, mean - step) for step in steps]
    slope = np.array(moved) / (2 * _STEP)
    return slope if np.abs(slope).max() > 1e-9 else np.full(k, 1 / k)


def as_accuracy(accuracy_of: Accuracy, mean: np.ndarray) -> float:
    """The accuracy that mean values (k,) stand for."""
    return accuracy_of(mean if len(mean) > 1 else mean[0])


def adjusted(p: np.ndarray) -> np.ndarray:
    """The p of many tests, (n,), adjusted for their number by Benjamini and Hochberg; NaN stays, and is no test."""
    found = p.copy()
    tested = ~np.isnan(p)
    if tested.any():
        found[tested] = false_discovery_control(p[tested])
    return found
