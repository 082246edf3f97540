"""Accuracies of slices from labels, several witnesses and predictions: by hand, and against drawn truths."""

import numpy as np
import pytest
from scipy.stats import norm

from entropy_sentinel.statistics.monitoring.prediction_powered import labelled_mean, prediction_powered_mean
from entropy_sentinel.statistics.monitoring.witnessed_mean import LabelledSample, WitnessValues, witnessed_mean
from entropy_sentinel.statistics.witness_powers import fit_witness_powers

UNKNOWN = np.nan


def test_two_witnesses_on_different_samples_by_hand() -> None:
    """Six responses; the labels 1 and 0 are of the first two; p is constant, so only the witnesses correct.

    The first witness says 1, 1, 0, 0 of the first four: its mean is 1/2, its power 1/2. The second says 1 of the first
    and 0, 1 of the last two: its mean is 2/3, its power 1/4; the second label is not corrected by it.
    Corrected labels: 1 + (1/2 - 1) / 2 + (2/3 - 1) / 4 = 2/3, and 0 + (1/2 - 1) / 2 = -1/4. Their mean is 5/24.
    What each response adds, before the factors n / (n - 1) of the three samples (2, 4/3 and 3/2, as square roots):
    labels 11/48 and -11/48; of the first witness 1/2 (z - 1/2) / 4, of the second 1/8 (z - 2/3) / 3, because only
    half of the labels have it.
    """
    first = WitnessValues([1, 1, 0, 0, UNKNOWN, UNKNOWN], [1, 1, 1, 1, 0, 0])
    second = WitnessValues([1, UNKNOWN, UNKNOWN, UNKNOWN, 0, 1], [1, 0, 0, 0, 1, 1])
    labelled = LabelledSample([1.0, 0.0], np.array([0, 1]))
    powers = np.array([[0.5, 0.25, 0.0]] * 2)
    found = witnessed_mean(labelled, [first, second], np.full(6, 0.3), powers, 0.9)
    assert found.estimate == pytest.approx(5 / 24)
    of_labels, of_first, of_second = 2**0.5, (4 / 3) ** 0.5, 1.5**0.5
    added = [
        of_labels * 11 / 48 + of_first / 16 + of_second / 72,
        -of_labels * 11 / 48 + of_first / 16,
        -of_first / 16,
        -of_first / 16,
        -of_second / 36,
        of_second / 72,
    ]
    variance = np.sum(np.square(added))
    unseen = norm.ppf(0.95) ** 2 / 4 / 2**2
    assert found.n_effective == pytest.approx(2 * (5 / 24 * 19 / 24 + unseen) / (variance + unseen))
    assert found.lower < found.estimate < found.upper


def test_predictions_improve_the_mean_of_a_witness() -> None:
    """As `prediction_powered_mean` of its sample; a value outside of the sample only corrects the witness."""
    rng = np.random.default_rng(0)
    p = rng.random(30)
    z = (rng.random(30) < p) * 1.0
    inside = np.arange(30) < 20
    labelled = LabelledSample([1.0, 0.0], np.array([0, 25]))
    powers = np.array([[0.5, 0.2]] * 2)
    values = np.where(inside | (np.arange(30) == 25), z, UNKNOWN)
    found = witnessed_mean(labelled, [WitnessValues(values, inside * 1.0)], p, powers, 0.9)
    whole = prediction_powered_mean(z[:20], p[:20], p, 0.9)
    assert whole.power > 0.1
    corrected = [1 + 0.5 * (whole.estimate - z[0]), 0.5 * (whole.estimate - z[25])]
    assert found.estimate == pytest.approx(np.mean(corrected) + 0.2 * (p.mean() - p[[0, 25]].mean()))
    # All in one cluster, or in pairs, they tell less.
    clustered = witnessed_mean(labelled, [WitnessValues(values, inside * 1.0)], p, powers, 0.9, np.arange(30) // 2 % 7)
    assert clustered.estimate == found.estimate
    assert clustered.n_effective != found.n_effective


def test_weights_count() -> None:
    """Labels of 5 and 1 responses, and a witness's sample of 1, 1 and 2: the same as repeated responses."""
    p = np.full(6, 0.5)
    witness = WitnessValues([1, 1, 0, UNKNOWN, UNKNOWN, UNKNOWN], [1, 1, 2, 0, 0, 0])
    labelled = LabelledSample([1.0, 0.0], np.array([0, 1]), [5.0, 1.0])
    found = witnessed_mean(labelled, [witness], p, np.array([[1.0, 0.0]] * 2), 0.9)
    assert found.estimate == pytest.approx(5 / 6 + (0.5 - 1))
    even = witnessed_mean(labelled._replace(weights=None), [witness], p, np.array([[1.0, 0.0]] * 2), 0.9)
    assert even.estimate == 0


# Labels a slice, limits of the accuracies, whether the witnesses' errors follow P(correct), and six slices or one.
WORLDS = [(5, 0.2, 0.8, True, 6), (5, 0.01, 0.99, False, 6), (10, 0.9, 0.99, True, 6), (10, 0.05, 0.05, False, 1)]


@pytest.mark.parametrize(("n", "low", "high", "follows", "k"), WORLDS)
def test_two_witnesses_are_right_on_average_and_intervals_hold(
    n: int, low: float, high: float, follows: bool, k: int
) -> None:
    """Witnesses of .9/.85 and .7/.95 on 200 and 100 of 400 responses, each on a sample of its own.

    The mean is that before an estimate is limited to [0, 1], which alone moves it near 0 and 1.
    """
    rng, off, held, alone = np.random.default_rng(4), [], [], []
    for _ in range(300 // k):
        slices = []
        for accuracy in rng.uniform(low, high, k):
            p = rng.beta(6 * accuracy, 6 * (1 - accuracy), 400)
            right = rng.random(400) < p
            tilt = 0.3 * (p - accuracy) if follows else 0.0
            values = []
            for size, sensitivity, specificity in ((200, 0.9, 0.85), (100, 0.7, 0.95)):
                says = rng.random(400) < np.where(right, sensitivity, 1 - specificity) + tilt
                seen = np.zeros(400)
                seen[[*range(n), *rng.choice(np.arange(n, 400), size - n, replace=False)]] = 1
                values.append(WitnessValues(np.where(seen > 0, says, UNKNOWN), seen))
            slices.append((accuracy, p, right * 1.0, values))
        rows = [np.column_stack([*(np.asarray(w.values)[:n] for w in ws), p[:n]]) for _, p, _, ws in slices]
        labels = np.concatenate([right[:n] for _, _, right, _ in slices])
        powers = fit_witness_powers(labels, np.vstack(rows), np.repeat(range(k), n), [True, True, False])
        assert powers is not None
        for number, (accuracy, p, right, values) in enumerate(slices):
            each = powers.by_label[number * n : (number + 1) * n]
            found = witnessed_mean(LabelledSample(right[:n], np.arange(n)), values, p, each, 0.9)
            held.append(found.lower <= accuracy <= found.upper)
            off.append(found.estimate - accuracy)
            alone.append(labelled_mean(right[:n], 0.9).estimate - accuracy)
    assert np.mean(held) >= 0.88
    # 300 or so intervals: a standard error of 1.8 points. With five labels they are wider than they need be.
    assert np.std(off) < 0.97 * np.std(alone)
    assert abs(np.mean(off)) < 0.025


@pytest.mark.parametrize(("quality", "most"), [(1.0, 0.7), (0.5, 1.06)])
def test_a_perfect_judge_at_95_percent_with_ten_labels_and_a_useless_one(quality: float, most: float) -> None:
    """One slice. The estimate of a perfect judge was once off by .028; a useless one does no harm."""
    rng, off, alone = np.random.default_rng(3), [], []
    for _ in range(1200):
        right, p = (rng.random(400) < 0.95) * 1.0, rng.beta(4, 2, 400)
        z = np.where(rng.random(400) < quality, right, 1 - right)
        seen = (np.arange(400) < 200) * 1.0
        powers = fit_witness_powers(right[:10], np.column_stack([z, p])[:10], np.zeros(10), [True, False])
        assert powers is not None
        found = witnessed_mean(
            LabelledSample(right[:10], np.arange(10)), [WitnessValues(z, seen)], p, powers.by_label, 0.9
        )
        off.append(found.estimate - 0.95)
        alone.append(right[:10].mean() - 0.95)
    assert np.std(off) < most * np.std(alone)
    assert abs(np.mean(off)) < (0.005 if quality == 1 else 0.012)
