"""Calibration of probabilities, beside scikit-learn."""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from entropy_sentinel.statistics.probability_calibration import BINS, sum_by_bin, summarise_calibration


def test_it_agrees_with_scikit_learn_over_domains() -> None:
    rng = np.random.default_rng(4)
    p = rng.beta(1, 2, 500)
    correct = rng.random(500) < p**1.5
    found = summarise_calibration([sum_by_bin(p[:200], correct[:200]), sum_by_bin(p[200:], correct[200:])])
    assert found.n == 500
    assert found.brier == pytest.approx(brier_score_loss(correct, p))
    share, mean = calibration_curve(correct, p, n_bins=BINS)
    assert [part.correct for part in found.bins] == pytest.approx(share.tolist())
    assert [part.predicted for part in found.bins] == pytest.approx(mean.tolist())
    counts = np.histogram(p, bins=BINS, range=(0, 1))[0]
    assert [part.n for part in found.bins] == [count for count in counts if count]
    assert found.ece == pytest.approx(np.abs(share - mean) @ counts[counts > 0] / 500)


def test_the_ends_and_nothing() -> None:
    found = summarise_calibration([sum_by_bin([0.0, 1.0], [False, True])])
    assert [(part.lower, part.upper, part.n) for part in found.bins] == [(0.0, 0.1, 1), (0.9, 1.0, 1)]
    assert (found.brier, found.ece) == (0, 0)
    assert summarise_calibration([]) is None
    assert summarise_calibration([sum_by_bin([], [])]) is None
