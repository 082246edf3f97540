"""Labels, a judge's verdicts and predictions together: against known truths."""

import numpy as np
import pytest
from labelled_slices import labelled_slice
from scipy.stats import norm

from entropy_sentinel.statistics.monitoring.judged import Powers, Verdicts, judged_mean, powers_of
from entropy_sentinel.statistics.monitoring.prediction_powered import prediction_powered_mean


def verdicts(correct: np.ndarray, sensitivity: float, specificity: float, rng: np.random.Generator) -> np.ndarray:
    return np.where(correct, rng.random(len(correct)) < sensitivity, rng.random(len(correct)) > specificity) * 1.0


def test_the_estimate_by_hand() -> None:
    """Six responses, four judged, two labelled."""
    p = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
    judged = Verdicts([1.0, 1.0, 0.0, 0.0], p[:4], None)
    found = judged_mean([1.0, 0.0], [1.0, 1.0], p[:2], judged, p, 0.9, Powers([0.5] * 2, [0.2] * 2))
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
    found = judged_mean([1.0, 0.0], [1.0, 1.0], p[:2], judged, p, 0.9, Powers([1.0] * 2, [0.0] * 2), [5.0, 1.0])
    assert found.estimate == pytest.approx(5 / 6)
    even = judged_mean([1.0, 0.0], [1.0, 1.0], p[:2], judged, p, 0.9, Powers([1.0] * 2, [0.0] * 2))
    # Of shares 5/6 and 1/6, the sum of squares is 13/18 in place of 1/2: they are worth fewer labels.
    variance, alone = 2 * 2 * (5 / 36) ** 2, 5 / 36 * 2 / 2
    whole = prediction_powered_mean(np.ones(6), p, p, 0.9)
    variance += whole.estimate * (1 - whole.estimate) / whole.n_effective
    unseen = norm.ppf(0.95) ** 2 / 4 / 2**2
    assert found.n_effective == pytest.approx(2 * (alone + unseen) / (variance + unseen * 13 / 9))
    assert found.n_effective < even.n_effective


def test_the_powers_are_slopes_within_slices_without_the_label_itself() -> None:
    """By least squares on the other labels, on dummies of the slices, and on the two pseudo-labels with their own."""
    rng = np.random.default_rng(0)
    slices = np.repeat([0, 1], 20)
    z, p = rng.integers(0, 2, 40).astype(float), rng.random(40)
    # The slices differ by .5, which is no sign of the judge's quality.
    y = 0.1 + 0.5 * slices + 0.3 * z + 0.4 * p + 0.1 * rng.standard_normal(40)
    powers = powers_of(y, z, p, slices)
    for left_out in range(40):
        rest = np.arange(40) != left_out
        rows = np.column_stack([z, p, slices == 0, slices == 1, np.zeros(40)])[rest]
        rows = np.vstack([rows, [[1, 0, 0, 0, 1], [0, 0, 0, 0, 1]]])
        slopes = np.linalg.lstsq(rows, np.append(y[rest], [1, 0]), rcond=None)[0]
        assert (powers.verdict[left_out], powers.prediction[left_out]) == pytest.approx(slopes[:2])
    assert powers_of(y[:9], z[:9], p[:9], slices[:9]) is not None
    assert powers_of(y[:8], z[:8], p[:8], slices[:8]) is None
    same = powers_of(y, z, np.full(40, 0.5), slices)
    assert np.asarray(same.prediction).max() == 0


@pytest.mark.parametrize(("sensitivity", "specificity"), [(1.0, 1.0), (0.9, 0.85), (0.97, 0.3), (0.5, 0.5)])
@pytest.mark.parametrize("accuracy", [0.95, 0.5])
def test_with_few_labels_the_estimate_is_right_on_average(
    sensitivity: float, specificity: float, accuracy: float
) -> None:
    """Ten labels and 200 verdicts of 400 responses; the rule before was wrong by .028 with a perfect judge at .95."""
    rng, errors = np.random.default_rng(3), []
    for _ in range(1500):
        correct, p = rng.random(400) < accuracy, rng.beta(4, 2, 400)
        z = verdicts(correct, sensitivity, specificity, rng)
        powers = powers_of(correct[:10] * 1.0, z[:10], p[:10], np.zeros(10))
        share = np.full(10, 0.1)
        whole = prediction_powered_mean(z[:200], p[:200], p, 0.9).estimate
        # Without the limits of the estimate, 0 and 1, which alone move the mean.
        corrections = powers.verdict * (whole - z[:10]) + powers.prediction * (p.mean() - p[:10])
        estimate = share @ (correct[:10] + corrections)
        if not len(errors) % 100:
            found = judged_mean(correct[:10] * 1.0, z[:10], p[:10], Verdicts(z[:200], p[:200], None), p, 0.9, powers)
            assert found.estimate == pytest.approx(np.clip(estimate, 0, 1))
        errors.append(estimate - correct.mean())
    assert abs(np.mean(errors)) < 3.5 * np.std(errors) / np.sqrt(1500) + 1e-12
    assert np.std(errors) < 1.35 * np.sqrt(accuracy * (1 - accuracy) / 10)


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
        assert powers is not None
        powers = Powers(*(np.asarray(values)[:20] for values in powers))
        (correct, p), z = slices[0], judged[0]
        labels = correct[:20] * 1.0
        found = judged_mean(labels, z[:20], p[:20], Verdicts(z[:300], p[:300], None), p, 0.9, powers)
        alone = prediction_powered_mean(labels, p[:20], p, 0.9)
        inside.append(found.lower <= correct.mean() <= found.upper)
        widths.append((found.upper - found.lower, alone.upper - alone.lower))
    assert np.mean(inside) >= 0.9
    with_judge, without = np.mean(widths, axis=0)
    assert with_judge <= most * without
