"""Values and accuracies of a family outside the package have their shapes, or one error wherever they are used."""

import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from production import LOGPROBS, traffic

import entropy_sentinel as es
from entropy_sentinel.core.extension_guard import ExtensionError
from entropy_sentinel.estimators import estimator_registry
from entropy_sentinel.estimators.estimator_base import Estimator
from entropy_sentinel.estimators.fit_metadata import FitMetadata, LogprobsKind
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.estimators.training_predictions import predict_responses
from entropy_sentinel.estimators.training_rows import score_slices

FEATURES = traffic(30)
METADATA = FitMetadata(name="shares", model="m", logprobs=LogprobsKind(**LOGPROBS))


class Shares(Estimator):
    """A right family: one value per response, whether an entropy is large."""

    def values(self, features: pl.DataFrame) -> np.ndarray:
        return (features[["max"]].to_numpy() > 5).astype(np.uint8)


class Vector(Shares):
    def values(self, features: pl.DataFrame) -> np.ndarray:
        return super().values(features)[:, 0]


class Shorter(Shares):
    def values(self, features: pl.DataFrame) -> np.ndarray:
        return super().values(features)[1:]


class Several(Shares):
    """Two values, and nothing that makes an accuracy of them."""

    def values(self, features: pl.DataFrame) -> np.ndarray:
        return np.hstack([super().values(features)] * 2)


class Column(Shares):
    def accuracies_of(self, means: np.ndarray) -> np.ndarray:
        return means / 2


class Vectors(Shares):
    """Passes another estimator's means as a vector."""

    def accuracies_of(self, means: np.ndarray) -> np.ndarray:
        return Shares("shares").accuracies_of(means[:, 0])


RETURN_VALUES = "values must return an array of shape ({n}, n_values), got"
RETURN_ACCURACIES = "accuracies_of must return an array of shape ({m},), got"
COLUMN = "return a column for one value per response, such as `values[:, None]`"
MISTAKES: dict[type[Estimator], str] = {
    Vector: f"Vector.{RETURN_VALUES} ({{n}},); {COLUMN}",
    Shorter: f"Shorter.{RETURN_VALUES} ({{less}}, 1); {COLUMN}",
    Several: f"Several.{RETURN_ACCURACIES} ({{m}}, 2); its means have the shape ({{m}}, 2)",
    Column: f"Column.{RETURN_ACCURACIES} ({{m}}, 1); its means have the shape ({{m}}, 1)",
    Vectors: "Shares.accuracies_of takes means of shape (n_slices, n_values), got ({m},); pass a column",
}
# Each with the numbers of rows and of slices.
USES: dict[str, tuple[Callable[[Estimator], Any], int, int]] = {
    "accuracy": (lambda estimator: estimator.accuracy(FEATURES), 30, 1),
    "slices": (lambda estimator: score_slices(estimator, FEATURES, {"all": np.ones(30, dtype=bool)}), 30, 1),
    "predictions": (lambda estimator: predict_responses(estimator, FEATURES), 30, 30),
    "estimate": (lambda estimator: es.estimate(FittedEstimator(estimator, METADATA), FEATURES), 1, 1),
    "monitor": (lambda estimator: es.monitor(FittedEstimator(estimator, METADATA), FEATURES), 1, 1),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", MISTAKES)
def test_another_shape_is_one_error_that_names_the_class(kind: type[Estimator], use: str) -> None:
    run, n, m = USES[use]
    with pytest.raises(ExtensionError) as error:
        run(kind("shares"))
    message = MISTAKES[kind].format(n=n, less=n - 1, m=m)
    assert str(error.value).startswith(f"{__name__}.{message}")


class Halves(Estimator):
    def accuracies_of(self, means: np.ndarray) -> np.ndarray:
        return means[:, 0] / 2


class Both(Shares, Halves):
    """Inherits the values of the first and the accuracies of the second."""


def test_an_inherited_method_is_not_hidden() -> None:
    assert Both("both").accuracies_of(np.array([[1.0]])).tolist() == [0.5]


def test_values_of_whole_numbers_are_floats() -> None:
    estimator = Shares("shares")
    values = estimator.values(FEATURES)
    assert (values.dtype, values.shape) == (np.float64, (30, 1))
    assert estimator.values(FEATURES[:0]).shape == (0, 1)
    assert estimator.accuracy(FEATURES) == (FEATURES["max"] > 5).mean()
    assert es.monitor(FittedEstimator(estimator, METADATA), FEATURES).slices["estimated_accuracy"].to_list() == [
        (FEATURES["max"] > 5).mean()
    ]


def test_a_file_of_such_a_family_is_not_called_unsafe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its code has the mistake, and not the file."""
    module = types.ModuleType("own_shares")
    vars(module).update(fit=lambda name, rows: Shares(name), SAVED=(Shares,))
    family = estimator_registry.EstimatorFamily("shares", "shares", lambda: module, {"shares": "Shares"})
    monkeypatch.setitem(estimator_registry._FAMILY_OF, "shares", family)
    fitted = FittedEstimator(Shares("shares"), METADATA)
    es.save(fitted, tmp_path / "kept")
    monkeypatch.setattr(Shares, "accuracies_of", Column.accuracies_of)
    for use in (lambda: es.load(tmp_path / "kept"), lambda: es.save(fitted, tmp_path / "again")):
        with pytest.raises(ExtensionError, match=r"^test_value_shapes\.Shares\.accuracies_of must return an array"):
            use()
