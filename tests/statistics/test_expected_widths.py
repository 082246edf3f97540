"""The widths that are expected before anybody has labelled, compared with those of the monitor's intervals."""

import numpy as np
import pytest
from labelled_slices import labelled_slice

from entropy_sentinel.statistics.monitoring.expected_precision import (
    expected_size_with_judge,
    expected_size_with_predictions,
    expected_width,
)
from entropy_sentinel.statistics.monitoring.prediction_powered import prediction_powered_mean
from entropy_sentinel.statistics.monitoring.witnessed_mean import LabelledSample, WitnessValues, witnessed_mean
from entropy_sentinel.statistics.witness_powers import fit_witness_powers


def judge(correct: np.ndarray, sensitivity: float, specificity: float, rng: np.random.Generator) -> np.ndarray:
    return np.where(correct, rng.random(correct.shape) < sensitivity, rng.random(correct.shape) > specificity) * 1.0


@pytest.mark.parametrize(("accuracy", "quality"), [(0.3, 0.9), (0.7, 0.9), (0.7, 0.6), (0.9, 0.9)])
def test_labels_verdicts_and_an_estimator(accuracy: float, quality: float) -> None:
    """Thirty labels and 300 verdicts of 600 responses; the powers come from 600 labels of other slices."""
    rng, widths, expected = np.random.default_rng(8), [], []
    for number in range(120):
        correct, p = labelled_slice("calibrated", accuracy, 600, rng)
        z = judge(correct, quality, quality, rng)
        others, q = labelled_slice("calibrated", accuracy, 600, rng)
        witnesses = np.column_stack([judge(others, quality, quality, rng), q])
        powers = fit_witness_powers(others * 1.0, witnesses, np.zeros(600), [True, False])
        assert powers is not None
        judged = WitnessValues(z, (np.arange(600) < 300) * 1.0)
        found = witnessed_mean(
            LabelledSample(correct[:30] * 1.0, np.arange(30)), [judged], p, powers.by_label[:30], 0.9
        )
        widths.append(found.upper - found.lower)
        if number % 20 == 0:
            expected.append(expected_width(accuracy, expected_size_with_judge(p, 30, 300, quality, quality, 0.9), 0.9))
    assert np.mean(expected) == pytest.approx(np.mean(widths), rel=0.06)


@pytest.mark.parametrize(
    ("labels", "verdicts", "sensitivity", "specificity"),
    [(5, 50, 0.9, 0.85), (5, 200, 0.97, 0.95), (20, 200, 0.9, 0.85), (20, 20, 0.9, 0.85), (60, 400, 0.8, 0.95)],
)
def test_without_an_estimator(labels: int, verdicts: int, sensitivity: float, specificity: float) -> None:
    """Five slices of 600 responses with an accuracy of .5; the powers come from their labels, as in the monitor."""
    rng, alone, with_judge, same = np.random.default_rng(labels), [], [], np.full(600, 0.5)
    for _ in range(40):
        correct = rng.random((5, 600)) < 0.5
        z, y = judge(correct, sensitivity, specificity, rng), correct[:, :labels] * 1.0
        slices = np.repeat(range(5), labels)
        witnesses = np.column_stack([z[:, :labels].ravel(), np.full(5 * labels, 0.5)])
        powers = fit_witness_powers(y.ravel(), witnesses, slices, [True, False])
        assert powers is not None
        for number in range(5):
            judged = WitnessValues(z[number], (np.arange(600) < verdicts) * 1.0)
            labelled = LabelledSample(y[number], np.arange(labels))
            found = witnessed_mean(labelled, [judged], same, powers.by_label[slices == number], 0.9)
            with_judge.append(found.upper - found.lower)
            without = prediction_powered_mean(y[number], same[:labels], same, 0.9)
            alone.append(without.upper - without.lower)
    assert expected_width(0.5, labels, 0.9) == pytest.approx(np.mean(alone), rel=0.03)
    worth = expected_size_with_judge(same, labels, verdicts, sensitivity, specificity, 0.9)
    assert expected_width(0.5, worth, 0.9) == pytest.approx(np.mean(with_judge), rel=0.06)


def test_the_mean_width_of_two_labels_by_hand() -> None:
    """One of two is right with probability 1/2, both or none with 1/4 each; the intervals solve their equations.

    The upper limit u of 0 of 2 has .75 (1 - u)^2 = .05, the lower limit l of 1 of 2 .75 (2 l - l^2) + .25 l^2 = .05.
    """
    none = 1 - np.sqrt(0.05 / 0.75)
    one = 1 - 2 * (3 - np.sqrt(9 - 0.4)) / 2
    assert expected_width(0.5, 2, 0.9) == pytest.approx(none / 2 + one / 2, abs=1e-9)


def test_a_useless_judge_adds_nothing_to_what_is_expected() -> None:
    p = np.random.default_rng(0).beta(2, 1, 500)
    assert expected_size_with_judge(p, 20, 200, 0.5, 0.5, 0.9) == pytest.approx(
        expected_size_with_judge(p, 20, 20, 0.5, 0.5, 0.9)
    )
    assert expected_size_with_judge(p, 20, 200, 0.9, 0.9, 0.9) > 1.3 * expected_size_with_judge(
        p, 20, 200, 0.5, 0.5, 0.9
    )
    # Without spread, predictions add nothing either.
    assert expected_size_with_judge(np.full(500, 0.6), 20, 200, 0.5, 0.5, 0.9) == pytest.approx(20, rel=0.01)
    assert expected_size_with_predictions(np.full(500, 0.6), 20, 0.9) == pytest.approx(20)
    assert expected_size_with_predictions(p, 20, 0.9) > 20
