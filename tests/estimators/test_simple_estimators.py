"""ATC, DoC and the training group's accuracy, worked out by hand."""

import numpy as np
import pytest
from rows import SETTINGS, frame, rows

from entropy_sentinel.estimators.estimator_base import FitFailure
from entropy_sentinel.estimators.training_rows import TrainingRows, fit_estimators, score_slices

# Six training rows, four of them correct. Entropies grow with uncertainty: the confident side is the low one.
MAX = [0.1, 0.2, 0.3, 0.3, 0.3, 0.9]
LNTP = [0.9, 0.8, 0.7, 0.6, 0.5, 0.1]
CORRECT = np.array([True, True, False, True, True, False])


TRAINING = TrainingRows(frame(max=MAX, lntp=LNTP), CORRECT, SETTINGS)


def test_atc_counts_rows_at_the_threshold_with_the_weight_that_makes_the_training_share_exact() -> None:
    atc = TRAINING.fit("atc-max")
    # Four correct: two rows below 0.3, and two of the three at 0.3.
    assert (atc.threshold, atc.tied_weight) == (-0.3, pytest.approx(2 / 3))
    assert atc.accuracy(TRAINING.features) == pytest.approx(4 / 6)
    # 0.25 and 0.0 are on the confident side, 0.3 counts two thirds, 0.31 not.
    assert atc.accuracy(frame(max=[0.25, 0.3, 0.31, 0.0])) == pytest.approx((1 + 2 / 3 + 0 + 1) / 4)


def test_atc_takes_a_confidence_with_its_own_sign() -> None:
    atc = TRAINING.fit("atc-lntp")
    assert (atc.threshold, atc.tied_weight) == (0.6, 1.0)
    assert atc.accuracy(frame(lntp=[0.61, 0.6, 0.59, 0.99])) == 0.75


def test_atc_of_a_constant_feature_is_the_training_accuracy() -> None:
    assert TRAINING.fit("atc-mean").accuracy(frame(mean=[0.0, 0.0])) == pytest.approx(4 / 6)


@pytest.mark.parametrize(("label", "share"), [(True, 1.0), (False, 0.0)])
def test_atc_and_group_accuracy_take_groups_of_one_class(label: bool, share: float) -> None:
    training = TrainingRows(frame(max=MAX), np.full(6, label), SETTINGS)
    assert training.fit("atc-max").accuracy(training.features) == share
    assert training.fit("group-accuracy").accuracy(frame(max=[7.0])) == share


def test_group_accuracy_is_the_same_for_every_slice() -> None:
    assert TRAINING.fit("group-accuracy").accuracy(frame(max=[0.0, 5.0])) == pytest.approx(4 / 6)


def test_doc_shifts_the_training_accuracy_by_the_change_of_the_mean_confidence() -> None:
    doc = TRAINING.fit("doc-lntp")
    # Mean lntp of the training rows: 3.6 / 6 = 0.6.
    assert doc.accuracy(frame(lntp=[0.4, 0.6])) == pytest.approx(4 / 6 + 0.5 - 0.6)
    assert doc.accuracy(frame(lntp=[1.0, 1.0])) == 1.0, "clipped"
    assert doc.accuracy(frame(lntp=[0.0, 0.0])) == pytest.approx(4 / 6 - 0.6)
    assert doc.p_correct(frame(lntp=[0.5])) is None


def test_doc_on_another_estimator_takes_its_p() -> None:
    features, y = rows()
    training = TrainingRows(features, y, SETTINGS)
    other, _ = rows(50, seed=3)
    name = "logistic-10d-balanced-uncalibrated"
    p = training.fit(name).p_correct
    expected = y.mean() + p(other).mean() - p(features).mean()
    assert training.fit(f"doc-{name}").accuracy(other) == pytest.approx(expected, abs=1e-12)


def test_an_estimator_that_cannot_be_fitted_says_why() -> None:
    one_class = TrainingRows(frame(max=MAX), np.full(6, True), SETTINGS)
    names = ["baseline-max", "doc-baseline-max", "atc-max"]
    result = fit_estimators(one_class, names)
    assert list(result) == names
    assert result["baseline-max"] == FitFailure("baseline-max", "all training rows are correct")
    assert result["doc-baseline-max"] == FitFailure("doc-baseline-max", "all training rows are correct")
    none = TrainingRows(frame(max=[]), np.array([], dtype=bool), SETTINGS)
    for name in ("group-accuracy", "atc-max", "doc-mtp", "baseline-max"):
        assert none.fit(name).reason == "the training group has no row with a label and features"


def test_score_of_slices_is_the_accuracy_of_each() -> None:
    features, _ = rows(40, seed=1)
    training = TrainingRows(*rows(), SETTINGS)
    first = np.arange(40) < 15
    slices = {"first": first, "rest": ~first, "none": np.zeros(40, dtype=bool)}
    for name in ("forest-3d-balanced-uncalibrated", "atc-se_sum", "doc-mtp", "group-accuracy"):
        estimator = training.fit(name)
        result = score_slices(estimator, features, slices)
        assert result["none"] is None
        assert result["first"] == pytest.approx(estimator.accuracy(features.filter(first)), abs=1e-12)
        assert result["rest"] == pytest.approx(estimator.accuracy(features.filter(~first)), abs=1e-12)
    assert score_slices(FitFailure("x", "why"), features, slices) == {"first": None, "rest": None, "none": None}
