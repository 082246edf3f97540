"""P(correct) of training responses from estimators that have not seen their labels."""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from production import fitted, saved
from rows import SETTINGS, rows
from sklearn.linear_model import LogisticRegression

import entropy_sentinel as es
from entropy_sentinel.core.errors import ContractError
from entropy_sentinel.estimators.parameter_encoding import NotPlain, decode_training
from entropy_sentinel.estimators.training_predictions import NO_PREDICTIONS, TrainingPredictions, predict_responses
from entropy_sentinel.estimators.training_rows import TrainingRows

FEATURES, LABELS = rows(60)
DOMAINS = np.array([f"domain-{number % 3}" for number in range(60)])


def predictions(labels: np.ndarray, name: str = "log-3d", **changes) -> TrainingPredictions:
    training = TrainingRows(FEATURES, labels, SETTINGS | {"trees": 5}, DOMAINS, **changes)
    return TrainingPredictions.fit(training.fit(name), training)


def of_rows(found: TrainingPredictions, features: pl.DataFrame = FEATURES) -> np.ndarray:
    return found.find(features)[1].to_numpy()


@pytest.mark.parametrize("name", ["log-3d", "forest-3d-unbalanced-uncalibrated", "recommended"])
def test_no_prediction_depends_on_its_own_label(name: str) -> None:
    before = of_rows(predictions(LABELS, name))
    for row in (0, 7):
        changed = LABELS.copy()
        changed[row] = not changed[row]
        after = of_rows(predictions(changed, name))
        assert after[row] == before[row]
        assert (after != before).sum() > 30, "the other folds have the label"


def test_each_fold_is_predicted_by_an_estimator_fitted_on_the_others() -> None:
    """A fold is where predictions do not depend on a label; the same numbers by scikit-learn without that fold."""
    found = of_rows(predictions(LABELS, "baseline-max"))
    changed = LABELS.copy()
    changed[0] = not changed[0]
    fold = found == of_rows(predictions(changed, "baseline-max"))
    assert [int((fold & (domain == DOMAINS)).sum()) for domain in np.unique(DOMAINS)] == [4, 4, 4]
    x = FEATURES.select("max").to_numpy()
    x = (x - x[~fold].mean()) / x[~fold].std()
    wanted = LogisticRegression(max_iter=1000).fit(x[~fold], LABELS[~fold]).predict_proba(x[fold])[:, 1]
    assert found[fold] == pytest.approx(wanted, abs=1e-4)


def test_dependent_and_equal_responses_are_in_one_fold() -> None:
    items = np.arange(60)
    items[:4] = 0
    before = of_rows(predictions(LABELS, items=items))
    changed = LABELS.copy()
    changed[3] = not changed[3]
    assert (of_rows(predictions(changed, items=items))[:4] == before[:4]).all()
    twice = FEATURES.with_columns(pl.when(pl.int_range(pl.len()) == 1).then(pl.all().first()).otherwise(pl.all()))
    parts = []
    for labels in (LABELS, changed_at(1)):
        training = TrainingRows(twice, labels, SETTINGS, DOMAINS)
        parts.append(TrainingPredictions.fit(training.fit("log-3d"), training))
    assert len(parts[0].hashes) == 59
    assert of_rows(parts[0], twice)[0] == of_rows(parts[1], twice)[0]


def changed_at(row: int) -> np.ndarray:
    changed = LABELS.copy()
    changed[row] = not changed[row]
    return changed


def test_only_training_responses_are_found() -> None:
    found = predictions(LABELS)
    assert found.find(FEATURES)[0].all()
    shifted = FEATURES.with_columns(pl.col("max") * (1 + 1e-6))
    assert not found.find(shifted)[0].any()
    almost = FEATURES.with_columns(pl.all() * (1 + 1e-15))
    assert found.find(almost)[0].all()
    assert not NO_PREDICTIONS.find(FEATURES)[0].any()


def test_labels_too_few_for_a_fold_give_no_prediction() -> None:
    """Isotonic calibration needs five rows of each class; without a fold there are four."""
    rare = np.arange(60) < 5
    found = predictions(rare, "logistic-1d-unbalanced-isotonic")
    assert found.find(FEATURES)[0].all()
    assert np.isnan(found.p).all()


def test_a_file_has_them_and_refuses_invalid_ones(tmp_path: Path) -> None:
    estimator = fitted("log-3d")
    assert estimator.training is not None
    assert not np.isnan(estimator.training.p).any()
    path = saved(tmp_path, "log-3d")
    es.save(replace(estimator, training=None), tmp_path / "without.estimator")
    # 400 responses of 12 bytes, and the headers of two arrays.
    assert path.stat().st_size - (tmp_path / "without.estimator").stat().st_size < 400 * 12 + 1000
    assert es.load(tmp_path / "without.estimator").training is None
    loaded = es.load(path).training
    assert (loaded.hashes == estimator.training.hashes).all()
    assert (loaded.p == estimator.training.p).all()
    hashes, p = estimator.training
    for wrong in (
        (hashes[::-1], p),
        (hashes[:-1], p),
        (hashes.astype(np.int64), p),
        (hashes, p + 2),
        (hashes, p[:, None]),
    ):
        with pytest.raises(ContractError, match="must have"):
            es.save(replace(estimator, training=TrainingPredictions(*wrong)), tmp_path / "wrong.estimator")
        forged = io.BytesIO()
        np.savez(forged, training_hashes=wrong[0], training_p=wrong[1])
        with pytest.raises(NotPlain, match="training responses"):
            decode_training(forged.getvalue())


def test_predictions_of_an_estimator_without_p_correct_are_its_estimates() -> None:
    training = TrainingRows(FEATURES, LABELS, SETTINGS, DOMAINS)
    assert set(predict_responses(training.fit("atc-max"), FEATURES)) <= {0.0, 1.0}
