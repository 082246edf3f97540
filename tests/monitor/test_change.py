"""The test of a change, against scipy on the same values."""

from collections.abc import Callable

import numpy as np
import pytest
from production import fitted, traffic
from scipy.stats import chi2, chi2_contingency, permutation_test
from scipy.stats import false_discovery_control as fdr

from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.monitor.estimating.change_test import adjust_p_values, compute_p_value
from entropy_sentinel.monitor.summing.slice_sums import list_pairs

pytestmark = pytest.mark.slow


def side(values: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
    products = [(values[:, i] * values[:, j]).sum() for i, j in list_pairs(values.shape[1])]
    return len(values), values.sum(axis=0), np.array(products)


def one(means: np.ndarray) -> np.ndarray:
    """The accuracies of an estimator of one value."""
    return means[:, 0]


def median(means: np.ndarray) -> np.ndarray:
    """Those of one that takes the median of several."""
    return np.median(means, axis=1)


def test_of_shares_it_is_the_chi_squared_test_with_n_minus_1() -> None:
    now, then = np.repeat([1.0, 0.0], [30, 20])[:, None], np.repeat([1.0, 0.0], [90, 20])[:, None]
    n = len(now) + len(then)
    statistic = chi2_contingency([[30, 20], [90, 20]], correction=False).statistic * (n - 1) / n
    assert compute_p_value(one, side(now), side(then)) == pytest.approx(chi2.sf(statistic, 1), rel=1e-9)


def test_a_few_equal_values_are_not_proof() -> None:
    # Five of five where 900 of 1,000 were: likely (0.9^5 = 0.59), though the five have no variance.
    now, then = np.ones((5, 1)), np.repeat([1.0, 0.0], [900, 100])[:, None]
    assert compute_p_value(one, side(now), side(then)) == pytest.approx(0.457, abs=0.005)
    assert compute_p_value(one, side(now), side(np.ones((9, 1)))) == 1
    assert compute_p_value(one, side(np.ones((20, 1))), side(np.zeros((20, 1)))) < 1e-8


@pytest.mark.parametrize("seed", range(4))
def test_of_a_median_it_is_the_permutation_test_of_the_change_that_is_shown(seed: int) -> None:
    # Seven values whose means lie so near to each other that chance says which is in the middle.
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(260, 1))
    values = 0.6 * common + rng.normal(size=(260, 7)) * np.linspace(0.2, 1.5, 7)
    values[:60] += rng.uniform(0, 0.3)
    number = np.arange(260)
    exact = permutation_test(
        (number[:60], number[60:]),
        lambda a, b: np.median(values[a].mean(0)) - np.median(values[b].mean(0)),
        permutation_type="independent",
        vectorized=False,
        n_resamples=4000,
        rng=1,
    )
    result = compute_p_value(median, side(values[:60]), side(values[60:]))
    # Where it is plainly none, it is known less well.
    assert result == pytest.approx(exact.pvalue, abs=0.02 if exact.pvalue < 0.3 else 0.09)


def test_far_out_it_is_a_tail_and_no_count_of_draws() -> None:
    rng = np.random.default_rng(6)
    values = rng.normal(size=(400, 1)) + 0.1 * rng.normal(size=(400, 7))
    values[:100] += 1
    result = compute_p_value(median, side(values[:100]), side(values[100:]))
    alone = compute_p_value(one, side(values[:100, [0]]), side(values[100:, [0]]))
    assert 0 < result < 1e-12
    assert np.log10(result) == pytest.approx(np.log10(alone), abs=1)


@pytest.fixture(scope="module", params=["median-of-seven", "consensus"])
def population(request: pytest.FixtureRequest) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
    """An estimator's accuracies and its values of 5,000 responses, (5000, k)."""
    estimator = fitted(request.param).estimator
    return estimator.accuracies_of, estimator.values(traffic(5000, seed=5).select(FEATURES))


N, RUNS = (60, 400), 800


def test_without_a_change_one_in_twenty_is_below_5_percent(population) -> None:
    (accuracies_of, values), rng, result = population, np.random.default_rng(7), np.zeros(RUNS)
    for run in range(RUNS):
        drawn = values[rng.integers(0, len(values), sum(N))]
        result[run] = compute_p_value(accuracies_of, side(drawn[: N[0]]), side(drawn[N[0] :]))
    for level in (0.05, 0.2):
        assert np.mean(result < level) == pytest.approx(level, abs=3 * np.sqrt(level * (1 - level) / RUNS))


def test_an_estimate_that_is_clipped_at_1_changes_as_it_is_shown() -> None:
    def held(means: np.ndarray) -> np.ndarray:
        return np.clip(means[:, 0] + 0.9, 0, 1)

    high, higher = np.linspace(0.5, 0.6, 40)[:, None], np.linspace(0.8, 0.9, 40)[:, None]
    # Both are shown as 1.000.
    assert compute_p_value(held, side(high), side(higher)) == 1
    assert compute_p_value(held, side(high - 0.7), side(higher)) < 1e-6


def test_benjamini_and_hochberg_over_the_tests_there_are() -> None:
    p = np.array([0.01, np.nan, 0.04, 0.03, np.nan])
    result = adjust_p_values(p)
    assert result[[0, 2, 3]].tolist() == fdr([0.01, 0.04, 0.03]).tolist() == [0.03, 0.04, 0.04]
    assert np.isnan(result[[1, 4]]).all()
    assert np.isnan(adjust_p_values(np.full(2, np.nan))).all()
