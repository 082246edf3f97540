"""Intervals of slices without labels: by hand, from the published tables, and how often they hold."""

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

from entropy_sentinel.statistics import slice_intervals
from entropy_sentinel.statistics.slice_intervals import Residuals
from entropy_sentinel.study.analyses import accuracy

MANY = 10**9
FOUR = Residuals([0.55, 0.45, 0.52, 0.6], [0.5] * 4, [MANY] * 4, n_training=4)


def test_labels_added_to_a_domain_agree_with_its_estimate() -> None:
    """(1 + 4 x .05) / 24 = .05; (0 + 4 x .02) / 24 = 1/300, because an estimate of 0 counts as .02."""
    found = Residuals([0.05, 0.0], [0.05, 0.0], [20, 20], 2).variances
    assert found == pytest.approx([0.05 * 0.95 / 20, (1 / 300) * (299 / 300) / 20])


def test_errors_of_one_domain_are_larger_by_the_published_ratio() -> None:
    folder = f"{accuracy.__path__[0]}/published"
    sizes = pl.read_csv(f"{folder}/table_4_group_size.csv").group_by("k").agg(pl.col("aee_median").median())
    by_size = dict(sizes.iter_rows())
    assert by_size[1] / by_size[2] == pytest.approx(slice_intervals.ONE_DOMAIN, abs=0.005)


def test_a_conformal_interval_by_hand() -> None:
    errors = [0.02, -0.05, 0.01, 0.08]
    residuals = Residuals([0.5 + error for error in errors], [0.5] * 4, [MANY] * 4, n_training=4)
    result = residuals.conformal_intervals([0.5, 0.95], [MANY, MANY], 0.8)
    # The largest of four errors, for sampling adds nothing; cut at 1.
    np.testing.assert_allclose(result.lower, [0.42, 0.87], atol=1e-6)
    np.testing.assert_allclose(result.upper, [0.58, 1.0], atol=1e-6)
    assert result.basis == "conformal"
    assert residuals.conformal_intervals([0.5], [MANY], 0.6).upper[0] == pytest.approx(0.55, abs=1e-6)


def test_a_small_slice_has_a_wider_interval() -> None:
    lower, upper, _ = FOUR.conformal_intervals([0.5, 0.5], [MANY, 96], 0.8)
    # 0.25 / 96 is the variance of a share of half among 96: 50 of 100 with two of each added.
    expected = math.sqrt(0.1**2 + stats.norm.ppf(0.9) ** 2 * 0.25 / 96)
    np.testing.assert_allclose(upper - 0.5, [0.1, expected], atol=1e-6)
    np.testing.assert_allclose(0.5 - lower, upper - 0.5)


def test_a_large_slice_has_no_narrower_one_and_domains_differ_in_size() -> None:
    residuals = Residuals([0.55, 0.45, 0.52, 0.6], [0.5] * 4, [96, 96, MANY, MANY], n_training=4)
    assert residuals.conformal_intervals([0.5], [MANY], 0.8).upper[0] == pytest.approx(0.6, abs=1e-6)
    # At 60 % the third of four: of the errors .05, .05 as they are, of .02 and .1 with the chance of 96 responses.
    chance = stats.norm.ppf(0.8) ** 2 * 0.25 / 96
    errors = sorted([0.05, 0.05, math.sqrt(0.02**2 + chance), math.sqrt(0.1**2 + chance)])
    assert residuals.conformal_intervals([0.5], [96], 0.6).upper[0] == pytest.approx(0.5 + errors[2], abs=5e-4)


def test_above_the_level_that_k_domains_reach_there_is_no_conformal_interval() -> None:
    lower, upper, basis = FOUR.conformal_intervals([0.5, 0.4], [MANY, 10], 0.81)
    assert basis == "conformal"
    assert np.isnan([*lower, *upper]).all()
    assert not np.isnan(FOUR.conformal_intervals([0.5], [MANY], 0.8).lower[0])


def test_the_predictive_interval_by_hand() -> None:
    lower, upper, basis = FOUR.intervals([0.5], [MANY], 0.9)
    # As if one and a half domains more had been seen, off by .18.
    variance = (1.5 * 0.18**2 + 0.05**2 + 0.05**2 + 0.02**2 + 0.1**2) / 5.5
    assert basis == "predictive"
    assert upper[0] - 0.5 == pytest.approx(stats.t.ppf(0.95, 5.5) * math.sqrt(variance), rel=1e-3)
    assert lower[0] == pytest.approx(1 - upper[0])


def test_the_smaller_the_slice_the_wider_the_predictive_interval() -> None:
    residuals = Residuals([0.5, 0.45, 0.52, 0.4], [0.5] * 4, [200] * 4, n_training=4)
    lower, upper, _ = residuals.intervals([0.5] * 4, [0, 10, 100, MANY], 0.9)
    assert (lower[0], upper[0]) == (0.0, 1.0)
    assert (np.diff(upper - lower) < -0.005).all()


def test_without_any_residual_the_prior_alone_speaks_and_more_widely_for_one_domain() -> None:
    for n_training, scale in {1: 0.18 * 1.64, 2: 0.18}.items():
        lower, upper, basis = Residuals([], [], [], n_training).intervals([0.5], [MANY], 0.8)
        assert basis == "prior"
        assert upper[0] - 0.5 == pytest.approx(min(stats.t.ppf(0.9, 1.5) * scale, 0.5), rel=1e-3)
        assert lower[0] == pytest.approx(1 - upper[0])


def test_without_an_estimate_there_is_no_interval() -> None:
    assert np.isnan(FOUR.intervals([math.nan], [10], 0.8)[:2]).all()


@pytest.mark.parametrize("level", [0.0, 1.0, 90])
def test_a_level_is_a_share(level: float) -> None:
    with pytest.raises(ValueError, match="level must be above 0 and below 1"):
        Residuals([], [], [], 2).intervals([0.5], [10], level)


@pytest.mark.parametrize("groups", [None, list("aabbcdddd"), list("aaaaaaaab"), list("abcdefghi")])
@pytest.mark.parametrize("n_training", [9, 2])
def test_held_out_intervals_are_those_of_the_other_domains(groups: list[str] | None, n_training: int) -> None:
    rng = np.random.default_rng(3)
    true, n = rng.uniform(0.1, 0.9, 9), rng.integers(20, 300, 9)
    residuals = Residuals(true + rng.normal(0, 0.1, 9), true, n, n_training, groups=groups)
    together = residuals.held_out_intervals(0.9)
    for place in range(9):
        alone = residuals.leave_out(place).intervals([residuals.estimated[place]], [n[place]], 0.9)
        found = [together.lower[place], together.upper[place]]
        np.testing.assert_allclose(found, [alone.lower[0], alone.upper[0]], atol=1e-7)
        assert together.basis == alone.basis


def test_one_domain_leaves_the_prior() -> None:
    one = Residuals([0.5], [0.4], [100], n_training=1)
    assert one.held_out_intervals(0.9).basis == "prior"
    assert one.held_out_intervals(0.9).upper == pytest.approx(one.leave_out(0).intervals([0.5], [100], 0.9).upper)


@pytest.mark.slow
@pytest.mark.parametrize("error", [0.0, 0.03, 0.08])
@pytest.mark.parametrize("n", [20, 50, 200, 5000])
def test_slices_of_any_size_are_covered(n: int, error: float) -> None:
    """Ten domains of 200 labels, an estimator of this error, 90 %: at least that, three standard errors aside."""
    rng, held, draws = np.random.default_rng(n), 0, 2000
    for _ in range(draws):
        p = rng.uniform(0.2, 0.8, 11)
        estimated = np.clip(p + error * rng.normal(size=11), 0, 1)
        seen = rng.binomial([200] * 10 + [n], p) / [*[200] * 10, n]
        residuals = Residuals(estimated[:10], seen[:10], [200] * 10, 10)
        lower, upper, _ = residuals.intervals(estimated[10:], [n], 0.9)
        held += lower[0] <= seen[10] <= upper[0]
    assert held / draws >= 0.9 - 3 * math.sqrt(0.09 / draws)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "level"), [(4, 0.8), (9, 0.8), (9, 0.9), (19, 0.95)])
def test_where_domains_are_alike_conformal_intervals_hold_as_often_as_they_say(k: int, level: float) -> None:
    """Errors of any shape, the same for all domains, and sampling of 200 responses each: 3,000 worlds."""
    rng, held = np.random.default_rng(k), 0
    for _ in range(3000):
        true = rng.uniform(0.2, 0.8, k + 1)
        estimated = np.clip(true + 0.12 * rng.standard_t(3, k + 1) / math.sqrt(3), 0, 1)
        seen = rng.binomial(200, true) / 200
        residuals = Residuals(estimated[:k], seen[:k], [200] * k, k)
        lower, upper, _ = residuals.conformal_intervals(estimated[k:], [200], level)
        held += lower[0] <= seen[k] <= upper[0]
    # At least the level, and at most 1 / (k + 1) more; give or take three standard errors.
    slack = 3 * math.sqrt(level * (1 - level) / 3000)
    assert level - slack <= held / 3000 <= level + 1 / (k + 1) + slack
