"""Intervals for differences of two accuracies: by hand without labels' noise, and their coverage by simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from entropy_sentinel.statistics.monitoring.accuracy_differences import half_widths_independent, half_widths_paired
from entropy_sentinel.statistics.slice_intervals import Residuals

MANY = 10**9


def residuals(errors: np.ndarray, n: int = MANY) -> Residuals:
    true = np.full(len(errors), 0.5)
    return Residuals(true + errors, true, [n] * len(errors), len(errors))


def test_with_many_labels_the_interval_is_student_t_of_the_differences_of_errors() -> None:
    first, second = np.array([0.1, -0.05, 0.02, 0.08]), np.array([0.06, 0.01, 0.03, -0.02])
    [half] = half_widths_paired(residuals(first), residuals(second), [0.0], 0.9)
    freedom = 4 + 1.5
    scale = math.sqrt((1.5 * 0.18**2 + np.sum((second - first) ** 2)) / freedom)
    assert half == pytest.approx(stats.t.ppf(0.95, freedom) * scale, rel=1e-3)


def test_equal_errors_leave_only_the_prior() -> None:
    errors = np.array([0.2, -0.3, 0.1, 0.25, -0.2])
    [same] = half_widths_paired(residuals(errors), residuals(errors), [0.0], 0.9)
    [none] = half_widths_paired(residuals(0 * errors), residuals(0 * errors), [0.0], 0.9)
    assert same == pytest.approx(none)
    assert half_widths_independent([0.3], [0.4]) == pytest.approx([0.5])


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("k", [4, 8, 16])
def test_coverage_by_simulation(k: int, correlation: float) -> None:
    """Errors of .1 with a correlation; 60 labels a domain for each model, on the same questions; slices of 200."""
    rng, level, n_labels, n_slice, inside = np.random.default_rng(k), 0.9, 60, 200, []
    errors = rng.multivariate_normal([0, 0], 0.01 * np.array([[1, correlation], [correlation, 1]]), (300, k + 1))
    for trial in errors:
        # Latent normal variables of a question, half of which both models share.
        shared = rng.normal(size=(k, n_labels, 1))
        right = math.sqrt(0.5) * (shared + rng.normal(size=(k, n_labels, 2))) > 0
        labelled = right.mean(axis=1)
        sides = [Residuals(0.5 + trial[:k, place], labelled[:, place], [n_labels] * k, k) for place in (0, 1)]
        [half] = half_widths_paired(*sides, [2 * 0.25 / n_slice], level)
        truth = rng.binomial(n_slice, 0.5, 2) / n_slice
        off = (0.5 + trial[k, 1] - 0.5 - trial[k, 0]) - (truth[1] - truth[0])
        inside.append(abs(off) <= half)
    assert np.mean(inside) >= level - 0.03
