"""The test of a change, against scipy on the same values."""

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency, permutation_test
from scipy.stats import false_discovery_control as fdr

from entropy_sentinel.monitor.change import adjusted, p_of_change, weights_at
from entropy_sentinel.monitor.sums import pairs


def side(values: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
    products = [(values[:, i] * values[:, j]).sum() for i, j in pairs(values.shape[1])]
    return len(values), values.sum(axis=0), np.array(products)


def test_of_shares_it_is_the_chi_squared_test_with_n_minus_1() -> None:
    now, then = np.repeat([1.0, 0.0], [30, 20])[:, None], np.repeat([1.0, 0.0], [90, 20])[:, None]
    n = len(now) + len(then)
    statistic = chi2_contingency([[30, 20], [90, 20]], correction=False).statistic * (n - 1) / n
    assert p_of_change(float, side(now), side(then)) == pytest.approx(chi2.sf(statistic, 1), rel=1e-9)


def test_it_is_near_the_permutation_test() -> None:
    rng = np.random.default_rng(3)
    now, then = rng.gamma(2, 1, 40), rng.gamma(2.4, 1, 160)
    exact = permutation_test(
        (now, then), lambda a, b: a.mean() - b.mean(), permutation_type="independent", n_resamples=20_000, rng=1
    )
    assert p_of_change(float, side(now[:, None]), side(then[:, None])) == pytest.approx(exact.pvalue, abs=0.01)


def test_p_is_uniform_where_nothing_has_changed() -> None:
    rng = np.random.default_rng(4)
    found = [
        p_of_change(float, side((rng.random((60, 1)) < 0.9) * 1.0), side((rng.random((400, 1)) < 0.9) * 1.0))
        for _ in range(2000)
    ]
    assert np.mean(np.array(found) < 0.05) == pytest.approx(0.05, abs=0.015)


def test_a_few_equal_values_are_no_proof() -> None:
    # Five of five where 900 of 1,000 were: likely (0.9^5 = 0.59), though the five have no variance.
    now, then = np.ones((5, 1)), np.repeat([1.0, 0.0], [900, 100])[:, None]
    assert p_of_change(float, side(now), side(then)) == pytest.approx(0.457, abs=0.005)
    assert p_of_change(float, side(now), side(np.ones((9, 1)))) == 1
    assert p_of_change(float, side(np.ones((20, 1))), side(np.zeros((20, 1)))) < 1e-8


def test_several_values_count_as_much_as_they_move_the_estimate() -> None:
    rng = np.random.default_rng(5)
    now, then = rng.random((50, 3)), rng.random((70, 3)) + [0.1, 0, 0.3]
    median = p_of_change(lambda mean: float(np.median(mean)), side(now), side(then))
    middle = np.argsort(now.sum(axis=0) + then.sum(axis=0))[1]
    assert median == pytest.approx(p_of_change(float, side(now[:, [middle]]), side(then[:, [middle]])), rel=1e-6)
    whole = p_of_change(lambda mean: float(np.mean(mean)), side(now), side(then))
    assert whole == pytest.approx(p_of_change(float, side(now.mean(1)[:, None]), side(then.mean(1)[:, None])), rel=1e-6)


def test_where_an_estimate_is_cut_off_at_1_the_values_still_count() -> None:
    assert weights_at(lambda mean: float(np.clip(mean + 0.9, 0, 1)), np.array([0.5])).tolist() == [1.0]
    now, then = np.full((40, 1), 0.5) + np.linspace(0, 0.1, 40)[:, None], np.linspace(0.8, 0.9, 40)[:, None]
    assert p_of_change(lambda mean: float(np.clip(mean + 0.9, 0, 1)), side(now), side(then)) < 1e-6


def test_benjamini_and_hochberg_over_the_tests_there_are() -> None:
    p = np.array([0.01, np.nan, 0.04, 0.03, np.nan])
    found = adjusted(p)
    assert found[[0, 2, 3]].tolist() == fdr([0.01, 0.04, 0.03]).tolist() == [0.03, 0.04, 0.04]
    assert np.isnan(found[[1, 4]]).all()
    assert np.isnan(adjusted(np.full(2, np.nan))).all()
