"""Test whether the estimate of a slice has changed between two sets of responses.

The estimate is a function f of the mean values of a set's responses, one value or several; for `median-of-seven` it is
the median of seven means. Sets of n1 and n0 responses have the estimates f(m1) and f(m0). Without a change, each of the
N = n1 + n0 responses could equally be in the other set (Pitman 1937). Let m and S be the mean and the covariance (over
N - 1) of all N responses. Then the difference d of the two means is approximately normal with covariance
S (1 / n1 + 1 / n0), and the change is

    T(d) = f(m + n0 / N d) - f(m - n1 / N d)

The two-sided p is the probability that T(d) is at least as far from 0 as the observed change. S follows from sums of
values and of products of two values, so responses need not be kept. If responses come in clusters, such as answers to
one question, the two parts of the covariance are multiplied by their design effects (`statistics.design_effects`).

T is linear in d for one value and for a mean of several. Then T is normal too, and for values of 0 and 1 this is the
"N - 1" chi-squared test of two shares (Campbell 2007). For a median, T is not linear: the member in the middle changes
with d. The normal distribution is then cut into parallel lines (line sampling: Koutsourelakis, Pradlwarter and
Schueller 2004). On each line we find the point where T reaches the change; the probability beyond it is a normal tail,
exact however small. The lines are the same in every run. For many slices, p is adjusted by Benjamini and Hochberg
(1995).
"""

from collections.abc import Callable

import numpy as np
from scipy.stats import false_discovery_control, norm

from entropy_sentinel.monitor.summing.slice_sums import compute_covariance
from entropy_sentinel.statistics.monitoring.change_points import normal_draws

# Number of lines for a T that is not linear: the error of p is about 4 %.
LINES = 256
# Length of a line to each side, in standard deviations, and number of halvings of the part with the crossing; T is
# interpolated linearly in the remaining part, of length 0.05.
_LINE_LENGTH, _HALVINGS = 12.0, 9
# If a larger share of the draws reaches the change, that share is the p, with an error of about 0.03. So large a p is
# no sign of a change, and lines would take ten times as long.
_LARGE_P = 0.3
# Smaller differences of estimates are rounding errors.
_ROUNDING_ERROR = 1e-12

# Accuracies (n,) of slices from their mean values, (n, k); and a set of responses: n, sums (k,), sums of products.
Accuracies = Callable[[np.ndarray], np.ndarray]
Side = tuple[int, np.ndarray, np.ndarray]
# The design effects of both sides (`statistics.design_effects`).
Effects = tuple[float, float]


def compute_p_value(accuracies_of: Accuracies, current: Side, reference: Side, effects: Effects = (1.0, 1.0)) -> float:
    """The two-sided p of the difference between the estimates of two sets of responses, `current` and `reference`.

    `effects` are their design effects. T is the change of the estimate if the two means differ by d, as the module's
    docstring defines it; p is the probability of a T at least as far from 0 as the observed change, by chance.
    """
    (n1, sums1, products1), (n0, sums0, products0) = current, reference
    n, mean = n1 + n0, (sums1 + sums0) / (n1 + n0)
    observed = float(np.abs(np.subtract(*accuracies_of(np.array([sums1 / n1, sums0 / n0])))))
    root = _factor_covariance(compute_covariance(sums1 + sums0, products1 + products0, n)) * np.sqrt(
        effects[0] / n1 + effects[1] / n0
    )
    if observed <= _ROUNDING_ERROR or np.abs(root).max() <= _ROUNDING_ERROR:
        return 1.0

    def compute_change(z: np.ndarray) -> np.ndarray:
        """T, (n,), of standard normal z, (n, k)."""
        d = z @ root.T
        return accuracies_of(mean + n0 / n * d) - accuracies_of(mean - n1 / n * d)

    z = normal_draws(LINES, len(mean))
    changes = compute_change(z)
    slope = z.T @ changes / len(z)
    size = float(np.linalg.norm(slope))
    if size > _ROUNDING_ERROR and np.abs(changes - z @ slope).max() <= 1e-9 * size:  # T is linear, so it is normal
        return float(2 * norm.sf(observed / size))
    if (share := np.mean(np.abs(changes) >= observed)) > _LARGE_P:
        return float(share)
    # T may be constant around 0, for example if the estimate is clipped to 1; moving all values together changes T.
    direction = slope if size > _ROUNDING_ERROR else root.sum(axis=0)
    direction = direction / np.linalg.norm(direction)
    # Parallel lines through the draws: on each, the probability beyond the points where T reaches the change.
    origins = z - np.outer(z @ direction, direction)
    levels = np.repeat([observed - _ROUNDING_ERROR, _ROUNDING_ERROR - observed], LINES)
    upper_crossings, lower_crossings = np.split(
        _find_crossings(compute_change, np.tile(origins, (2, 1)), direction, levels), 2
    )
    return float(np.mean(norm.sf(upper_crossings) + norm.cdf(lower_crossings)))


def _find_crossings(
    compute_change: Accuracies, origins: np.ndarray, direction: np.ndarray, level: np.ndarray
) -> np.ndarray:
    """The place on each line where the rising T reaches its `level`, (n,).

    A line goes through its origin, (n, k), in the `direction`, (k,). The place is inf if T never reaches the level, and
    -inf if it always does.
    """
    low, high = np.full(len(origins), -_LINE_LENGTH), np.full(len(origins), _LINE_LENGTH)

    def evaluate(position: np.ndarray) -> np.ndarray:
        return compute_change(origins + position[:, None] * direction)

    t_low, t_high = evaluate(low), evaluate(high)
    is_unreached, is_always_reached = t_high < level, t_low >= level
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        t = evaluate(middle)
        beyond = t >= level
        low, t_low = np.where(beyond, low, middle), np.where(beyond, t_low, t)
        high, t_high = np.where(beyond, middle, high), np.where(beyond, t, t_high)
    rise = np.where(t_high > t_low, t_high - t_low, 1)
    crossing = low + (high - low) * np.clip((level - t_low) / rise, 0, 1)
    return np.where(is_unreached, np.inf, np.where(is_always_reached, -np.inf, crossing))


def _factor_covariance(matrix: np.ndarray) -> np.ndarray:
    """R with R R' = `matrix` (k, k); eigenvalues that rounding made negative count as 0."""
    variances, directions = np.linalg.eigh(matrix)
    root: np.ndarray = directions * np.sqrt(np.clip(variances, 0, None))
    return root


def adjust_p_values(p: np.ndarray) -> np.ndarray:
    """The q of the p of many tests, (n,), by Benjamini and Hochberg; NaN stays NaN and does not count as a test."""
    q = p.copy()
    tested = ~np.isnan(p)
    if tested.any():
        q[tested] = false_discovery_control(p[tested])
    return q
