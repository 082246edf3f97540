"""Estimators against scikit-learn on the same arrays, and what is said where none can be trained."""

import numpy as np
import polars as pl
import pytest
from rows import SETTINGS, rows
from sklearn.linear_model import LogisticRegression

from entropy_sentinel.estimators import forest, mlp
from entropy_sentinel.estimators.estimator_base import Estimator, FitFailure
from entropy_sentinel.estimators.training_rows import TrainingRows
from entropy_sentinel.features.feature_registry import FEATURES


def scaled(features: pl.DataFrame) -> np.ndarray:
    """By the definition: population standard deviation, scale 1 where it is 0."""
    x = features.to_numpy()
    spread = x.std(axis=0, ddof=0)
    return (x - x.mean(axis=0)) / np.where(spread == 0, 1, spread)


def predict(x: pl.DataFrame, y: np.ndarray, estimator: str) -> np.ndarray:
    return TrainingRows(x, y, SETTINGS).fit(estimator).p_correct(x)


def test_baseline_is_platt_scaling_of_one_feature() -> None:
    x, y = rows()
    column = scaled(x)[:, [FEATURES.index("se_sum")]]
    expected = LogisticRegression().fit(column, y).predict_proba(column)[:, 1]
    assert np.allclose(predict(x, y, "baseline-se_sum"), expected, atol=1e-12)


def test_baseline_on_se_sum_is_the_simplest_configuration() -> None:
    x, y = rows()
    assert np.array_equal(predict(x, y, "baseline-se_sum"), predict(x, y, "logistic-1d-unbalanced-uncalibrated"))


def test_a_constant_feature_is_scaled_by_one() -> None:
    x, y = rows()
    x = x.with_columns(mean=pl.lit(3.0))
    group = TrainingRows(x, y, SETTINGS)
    assert group.scaler.scale_[0] == 1
    assert np.isfinite(predict(x, y, "forest-10d-balanced-isotonic")).all()


def test_chosen_setting_is_recorded_and_of_the_grid() -> None:
    x, y = rows()
    group = TrainingRows(x, y, SETTINGS)
    assert group.fit("forest-10d-balanced-isotonic").chosen["max_depth"] in (3, 5)
    assert group.fit("mlp-10d-balanced-isotonic").chosen["hidden_layer_sizes"] in ([5], [8, 4])


def test_calibrated_and_uncalibrated_share_the_folds_forests(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = rows()
    group = TrainingRows(x, y, SETTINGS)
    grown = []
    original = forest.fit_grid
    monkeypatch.setattr(forest, "fit_grid", lambda *given, **more: grown.append(1) or original(*given, **more))
    group.fit("forest-10d-balanced-isotonic")
    assert len(grown) == 5, "one per fold"
    group.fit("forest-10d-balanced-uncalibrated")
    assert len(grown) == 6, "and the one on all rows"
    group.fit("forest-10d-unbalanced-uncalibrated")
    assert len(grown) == 12


def chess_board(n: int) -> tuple[pl.DataFrame, np.ndarray]:
    """64 fields of two colours on two features: a tree of depth 3 cannot tell them."""
    x, _ = rows(n)
    fields = np.random.default_rng(3).uniform(size=(2, n))
    x = x.with_columns(max=fields[0], se_sum=fields[1], nll_sum=pl.lit(0.0))
    return x, (np.floor(fields * 8).sum(axis=0)) % 2 == 0


def test_the_search_takes_the_setting_that_is_needed() -> None:
    x, y = chess_board(400)
    settings = SETTINGS | {"trees": 20, "max_depth": [3, 5, 10], "min_samples_split": [2, 5, 10]}
    assert TrainingRows(x, y, settings).fit("forest-3d-unbalanced-isotonic").chosen["max_depth"] == 10


def test_oversampling_happens_inside_the_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    """10 correct rows among 200: a fold trains on 8 of them, and on copies of these alone."""
    x, _ = rows()
    y = np.arange(200) < 10
    seen = []
    original = mlp.train_network
    monkeypatch.setattr(mlp, "train_network", lambda x, y, *more: seen.append((x, y)) or original(x, y, *more))
    group = TrainingRows(x, y, SETTINGS | {"hidden_layers": [[3]]})
    group.fit("mlp-1d-balanced-isotonic")
    correct = group.scaled(("se_sum",))[y, 0]
    assert [len(labels) for _, labels in seen] == [2 * 152] * 5
    for (z, labels), (train, _) in zip(seen, group.splits, strict=True):
        assert labels.sum() == 152
        assert set(z[labels, 0]) == set(correct[train[train < 10]])


@pytest.mark.parametrize("value", [True, False])
def test_one_class_gives_a_reason_for_every_estimator(value: bool) -> None:
    x, _ = rows(30)
    group = TrainingRows(x, np.full(30, value), SETTINGS)
    for estimator in ("baseline-ppl", "logistic-10d-balanced-uncalibrated", "forest-10d-balanced-isotonic"):
        fitted = group.fit(estimator)
        assert isinstance(fitted, FitFailure)
        assert fitted.reason == f"all training rows are {'correct' if value else 'incorrect'}"


def test_fewer_rows_of_a_class_than_folds_leaves_what_needs_no_folds() -> None:
    x, _ = rows(30)
    group = TrainingRows(x, np.arange(30) < 4, SETTINGS)
    for estimator in ("forest-10d-balanced-uncalibrated", "logistic-10d-balanced-isotonic", "mlp-1d-balanced-isotonic"):
        assert "4 training rows of the rarer class" in group.fit(estimator).reason
    for estimator in ("baseline-ppl", "logistic-10d-balanced-uncalibrated"):
        assert isinstance(group.fit(estimator), Estimator)


def test_mlp_needs_two_rows_of_a_class_in_each_fold() -> None:
    x, _ = rows(60)
    for correct, expected in ((3, "60 training rows are too few for the MLP's early stopping"), (4, None)):
        group = TrainingRows(x, np.arange(60) < correct, SETTINGS | {"folds": 2})
        assert getattr(group.fit("mlp-1d-unbalanced-uncalibrated"), "reason", None) == expected


def test_too_few_rows_for_early_stopping() -> None:
    x, _ = rows(12)
    group = TrainingRows(x, np.arange(12) % 2 == 0, SETTINGS)
    assert group.fit("mlp-1d-balanced-isotonic").reason == "12 training rows are too few for the MLP's early stopping"
    x, _ = rows(14)
    group = TrainingRows(x, np.arange(14) % 2 == 0, SETTINGS)
    assert isinstance(group.fit("mlp-1d-unbalanced-isotonic"), Estimator)
