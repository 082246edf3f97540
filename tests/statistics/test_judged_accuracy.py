"""Labels, a judge's verdicts and predictions together: against known truths."""

import numpy as np
import pytest
from labelled_slices import labelled_slice
from scipy.stats import norm

from entropy_sentinel.statistics.judged import Powers, Verdicts, expected_worth, judged_mean, powers_of
from entropy_sentinel.statistics.prediction_powered import binomial_interval, prediction_powered_mean


def verdicts(correct: np.ndarray, sensitivity: float, specificity: float, rng: np.random.Generator) -> np.ndarray:
    return np.where(correct, rng.random(len(correct)) < sensitivity, rng.random(len(correct)) > specificity) * 1.0


def test_the_estimate_by_hand() -> None:
    """Six responses, four judged, two labelled."""
    p = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
    judged = Verdicts([1.0, 1.0, 0.0, 0.0], p[:4], None)
    found = judged_mean([1.0, 0.0], [1.0, 1.0], p[:2], judged, p, 0.9, Powers(0.5, 0.2))
    whole = prediction_powered_mean([1.0, 1.0, 0.0, 0.0], p[:4], p, 0.9)
    corrections = [1 - 0.5 - 0.2 * 0.9, 0 - 0.5 - 0.2 * 0.8]
    assert found.estimate == pytest.approx(0.5 * whole.estimate + 0.2 * p.mean() + np.mean(corrections))
    assert found.lower < found.estimate < found.upper
    # The variance of the corrections' mean, and that of the mean of half the verdicts.
    variance = np.var(corrections, ddof=1) / 2 + 0.25 * whole.estimate * (1 - whole.estimate) / whole.n_effective
    unseen = norm.ppf(0.95) ** 2 / 4 / 2**2
    alone = found.estimate * (1 - found.estimate) / (2 - 1)
    assert found.n_effective == pytest.approx(2 * (alone + unseen) / (variance + unseen))


def test_weights_count() -> None:
    p = np.full(6, 0.5)
    judged = Verdicts(np.ones(6), p, None)
    found = judged_mean([1.0, 0.0], [1.0, 1.0], p[:2], judged, p, 0.9, Powers(1.0, 0.0), [5.0, 1.0])
    assert found.estimate == pytest.approx(5 / 6)


def test_the_powers_are_slopes_within_slices() -> None:
    rng = np.random.default_rng(0)
    slices = np.repeat([0, 1], 40)
    z, p = rng.integers(0, 2, 80).astype(float), rng.random(80)
    # The slices differ by .5, which is no sign of the judge's quality.
    y = 0.1 + 0.5 * slices + 0.3 * z + 0.4 * p
    assert powers_of(y, z, p, slices) == pytest.approx((0.3, 0.4))
    assert powers_of(y[:9], z[:9], p[:9], slices[:9]) is not None
    assert powers_of(y[:8], z[:8], p[:8], slices[:8]) is None


@pytest.mark.parametrize(("sensitivity", "specificity", "most"), [(0.95, 0.9, 0.85), (0.8, 0.7, 1.0), (0.5, 0.5, 1.03)])
def test_a_good_judge_narrows_intervals_and_a_useless_one_does_no_harm(
    sensitivity: float, specificity: float, most: float
) -> None:
    """Twenty labels in each of six slices of 600 responses, of which the judge has seen 300; `most` of the width."""
    rng = np.random.default_rng(5)
    inside, widths = [], []
    for _ in range(120):
        slices = [labelled_slice("calibrated", rng.uniform(0.2, 0.9), 600, rng) for _ in range(6)]
        judged = [verdicts(correct, sensitivity, specificity, rng) for correct, _ in slices]
        powers = powers_of(
            np.concatenate([correct[:20] * 1.0 for correct, _ in slices]),
            np.concatenate([z[:20] for z in judged]),
            np.concatenate([p[:20] for _, p in slices]),
            np.repeat(range(6), 20),
        )
        (correct, p), z = slices[0], judged[0]
        labels = correct[:20] * 1.0
        found = judged_mean(labels, z[:20], p[:20], Verdicts(z[:300], p[:300], None), p, 0.9, powers)
        alone = prediction_powered_mean(labels, p[:20], p, 0.9)
        inside.append(found.lower <= correct.mean() <= found.upper)
        widths.append((found.upper - found.lower, alone.upper - alone.lower))
    assert np.mean(inside) >= 0.9
    with_judge, without = np.mean(widths, axis=0)
    assert with_judge <= most * without


@pytest.mark.parametrize(("accuracy", "quality"), [(0.3, 0.9), (0.7, 0.9), (0.7, 0.6), (0.9, 0.9)])
def test_the_expected_width_is_that_of_the_intervals(accuracy: float, quality: float) -> None:
    """Thirty labels and 300 verdicts of 600 responses; the powers come from 600 labels of other slices."""
    rng, widths, expected = np.random.default_rng(8), [], []
    for _ in range(150):
        correct, p = labelled_slice("calibrated", accuracy, 600, rng)
        z = verdicts(correct, quality, quality, rng)
        others, q = labelled_slice("calibrated", accuracy, 600, rng)
        powers = powers_of(others * 1.0, verdicts(others, quality, quality, rng), q, np.zeros(600))
        judged = Verdicts(z[:300], p[:300], None)
        found = judged_mean(correct[:30] * 1.0, z[:30], p[:30], judged, p, 0.9, powers)
        widths.append(found.upper - found.lower)
        lower, upper = binomial_interval(accuracy, expected_worth(p, 30, 300, quality, 0.9), 0.9)
        expected.append(upper - lower)
    assert np.mean(expected) == pytest.approx(np.mean(widths), rel=0.06)


def test_a_useless_judge_adds_nothing_to_what_is_expected() -> None:
    p = np.random.default_rng(0).beta(2, 1, 500)
    assert expected_worth(p, 20, 200, 0.5, 0.9) == pytest.approx(expected_worth(p, 20, 20, 0.5, 0.9))
    assert expected_worth(p, 20, 200, 0.9, 0.9) > 1.3 * expected_worth(p, 20, 200, 0.5, 0.9)
    # Without spread, predictions add nothing either.
    assert expected_worth(np.full(500, 0.6), 20, 200, 0.5, 0.9) == pytest.approx(20, rel=0.01)
