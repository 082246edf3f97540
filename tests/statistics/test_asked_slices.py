"""Accuracies from what a witness says: by hand, by SciPy, and in drawn worlds."""

import numpy as np
import pytest
from scipy.special import logit
from scipy.stats import norm, t

from entropy_sentinel.statistics.monitoring.requested_slices import (
    PRIOR,
    WitnessedSlice,
    estimate_from_witness,
    measure_witness_errors,
)
from entropy_sentinel.statistics.monitoring.verdict_calibration import STEEPEST, calibrate_verdicts

NONE = np.full(30, np.nan)


def asked(agrees: int, n: int = 30, **more: object) -> WitnessedSlice:
    return WitnessedSlice(np.repeat([1.0, 0.0], [agrees, n - agrees]), np.full(n, np.nan), n, **more)  # type: ignore[arg-type]


def test_mean_and_variance_by_hand() -> None:
    """30 asked, 24 agree: (24 + 2) / 34 of 34 with two of either added. Averaged with .4: half the distance."""
    mean, variance = asked(24).mean()
    assert (mean, variance) == (pytest.approx(0.8), pytest.approx(26 / 34 * 8 / 34 / 30))
    both = asked(24, estimated=0.4)
    mean, variance = both.mean()
    # x is .2 or .7: the draw has a quarter of the variance, and x (1 - x) is left of each of the 30 responses.
    left = 0.8 * 0.7 * 0.3 + 0.2 * 0.2 * 0.8
    assert (mean, variance) == (pytest.approx(0.6), pytest.approx(26 / 34 * 8 / 34 / 30 / 4 + left / 30))


def test_weights_and_clusters_by_hand() -> None:
    """Weights 3 and 1: (3 * 1 + 1 * 0) / 4, as exact as 16 / 10 responses. Two pairs of clusters count as two."""
    values, labels = np.array([1.0, 0.0]), np.full(2, np.nan)
    mean, variance = WitnessedSlice(values, labels, 100, weights=[3, 1]).mean()
    share = (0.75 * 1.6 + 2) / 5.6
    assert (mean, variance) == (pytest.approx(0.75), pytest.approx(share * (1 - share) / 1.6))
    values, labels = np.array([1.0, 1.0, 0.0, 0.0]), np.full(4, np.nan)
    mean, variance = WitnessedSlice(values, labels, 100, clusters=[1, 1, 2, 2]).mean()
    assert (mean, variance) == (0.5, pytest.approx(0.25 / 2))
    # A response without a weight is not part of the sample.
    mean, _ = WitnessedSlice([1.0, 1.0, 0.0], np.full(3, np.nan), 100, weights=[1, 1, np.nan]).mean()
    assert mean == 1
    assert (
        estimate_from_witness(WitnessedSlice([1.0], [1.0], 100, weights=[np.nan]), measure_witness_errors([]), 0.9)
        is None
    )


def test_errors_of_labelled_slices_by_hand() -> None:
    """Six labels: agreement 4 / 6, correct 3 / 6, one pair differs. Four labels do not count.

    x - y has the values 1, 0, 0, 0, 0, 0 in the first slice, so the sum of squares is 1 - 1 / 6; in the second, 1, -1
    and four times 0: 2. Pooled: (5 / 6 + 2 + .5) / (5 + 5 + 1).
    """
    nan = np.nan
    one = WitnessedSlice([1, 1, 1, 1, 0, 0, 1], [0, 1, 1, 1, 0, 0, nan], 7)
    two = WitnessedSlice([1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], 6)
    few = WitnessedSlice([1, 0, 0, 0], [0, 1, 1, 1], 4)
    found = measure_witness_errors([one, two, few])
    assert found.estimated == pytest.approx([4 / 6, 1 / 6])
    assert found.true == pytest.approx([3 / 6, 1 / 6])
    assert found.variances == pytest.approx([(5 / 6 + 2.5) / 11 / 6] * 2)


def test_the_interval_without_labels_is_that_of_the_prior() -> None:
    """Without chance, a scaled inverse chi-squared spread gives Student's t with PRIOR.freedom degrees."""
    many = WitnessedSlice(np.repeat([1.0, 0.0], [10**6, 10**6]), np.full(2 * 10**6, np.nan), 10**9)
    found = estimate_from_witness(many, measure_witness_errors([]), 0.9)
    assert found is not None
    half = t(PRIOR.freedom).ppf(0.95) * PRIOR.scale
    assert (found.estimate, found.half_width) == (pytest.approx(0.5), pytest.approx(half, abs=1e-3))
    assert found.average(0.9, 0.1).estimate == pytest.approx(0.7)
    both = found.average(0.9, 0.1)
    assert (both.lower, both.upper) == pytest.approx((0.65 - half / 2, 0.75 + half / 2), abs=1e-3)


def test_many_labelled_slices_without_error_leave_the_chance_of_the_draw() -> None:
    same = np.tile([1.0, 0.0], 200)
    slices = [WitnessedSlice(same, same, 400) for _ in range(400)]
    found = estimate_from_witness(asked(15), measure_witness_errors(slices), 0.9)
    assert found is not None
    half = norm.ppf(0.95) * np.sqrt(0.25 / 30)
    assert found.half_width == pytest.approx(half, rel=0.05)


def test_calibrated_verdicts_are_two_shares_and_probabilities_a_logistic() -> None:
    """Of 40 called correct 32 are, of 20 others 3: (32.5 / 41) and (3.5 / 21). Labels that fit a slope of 3 get 2."""
    values, labels = np.repeat([1.0, 0.0], [40, 20]), np.repeat([1.0, 0.0, 1.0, 0.0], [32, 8, 3, 17])
    found = calibrate_verdicts(values, labels)
    assert found is not None
    assert found.probabilities([1, 0]) == pytest.approx([32.5 / 41, 3.5 / 21], abs=1e-4)
    p = np.linspace(0.2, 0.8, 4001)
    rng = np.random.default_rng(0)
    odds = 3 * logit(p)
    steep = calibrate_verdicts(p, rng.random(len(p)) < 1 / (1 + np.exp(-odds)))
    mild = calibrate_verdicts(p, rng.random(len(p)) < 1 / (1 + np.exp(-0.8 * logit(p) - 0.5)))
    assert steep is not None
    assert mild is not None
    assert steep.slope == STEEPEST
    assert (mild.intercept, mild.slope) == (pytest.approx(0.5, abs=0.1), pytest.approx(0.8, abs=0.15))
    opposite = calibrate_verdicts(p, p < 0.5)
    assert opposite is not None
    assert opposite.probabilities([0.1, 0.9]) == pytest.approx([0.5, 0.5], abs=1e-3)


def test_too_few_labels_calibrate_nothing() -> None:
    assert calibrate_verdicts(np.ones(19), np.tile([1, 0], 10)[:19]) is None
    assert calibrate_verdicts(np.ones(60), np.repeat([1, 0], [56, 4])) is None
    assert calibrate_verdicts(np.ones(60), np.repeat([1, 0], [55, 5])) is not None


def test_intervals_hold_in_a_world_of_their_own_kind() -> None:
    """Kinds with accuracies .1 to .9 whose agreement is off by a normal error of .1; 30 asked, ten labelled slices."""
    rng = np.random.default_rng(1)
    inside = []
    for _ in range(300):
        true = rng.uniform(0.1, 0.9, 11)
        # One number decides agreement and truth of a response, so they go together.
        u = rng.random((11, 30))
        values, labels = u < np.clip(true + rng.normal(0, 0.1, 11), 0.02, 0.98)[:, None], u < true[:, None]
        slices = [WitnessedSlice(values[k].astype(float), labels[k].astype(float), 30) for k in range(11)]
        found = estimate_from_witness(slices[0]._replace(labels=NONE), measure_witness_errors(slices[1:]), 0.9)
        assert found is not None
        inside.append(abs(found.estimate - true[0]) <= found.half_width)
    assert 0.88 <= np.mean(inside) <= 0.97
