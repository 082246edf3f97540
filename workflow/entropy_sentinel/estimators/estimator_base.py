"""The interface of estimators: fitted on a training group's rows, they estimate any slice's accuracy."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar, Protocol

import numpy as np
import polars as pl

from entropy_sentinel.core.extension_guard import ExtensionError
from entropy_sentinel.core.extensions import PACKAGE


class CannotFit(Exception):
    """An estimator cannot be fitted on these rows; the message is the reason."""


@dataclass(frozen=True)
class FitFailure:
    """An estimator that could not be fitted, and why."""

    name: str
    reason: str


class Fits(Protocol):
    """Training rows that fit estimators (`estimators.training_rows`)."""

    def require(self, name: str) -> "Estimator":
        """The estimator of this name, fitted on the rows; raises CannotFit with the reason."""


def _check_values(compute_values: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Wrap a family's method `values` so that it raises ExtensionError for a result that is not (n_rows, n_values)."""

    @wraps(compute_values)
    def compute_columns(self: "Estimator", features: pl.DataFrame) -> np.ndarray:
        values = np.asarray(compute_values(self, features))
        if values.ndim != 2 or len(values) != len(features):
            raise ExtensionError(
                f"{_name_method(self, 'values')} must return an array of shape ({len(features)}, n_values), got "
                f"{values.shape}; return a column for one value per response, such as `values[:, None]`"
            )
        return values if values.dtype.kind == "f" else values.astype(float)

    return compute_columns


def _check_accuracies(compute_accuracies: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Wrap a family's method `accuracies_of` so that it raises ExtensionError for arrays of another shape.

    It takes (n_slices, n_values) and returns (n_slices,).
    """

    @wraps(compute_accuracies)
    def compute_vector(self: "Estimator", means: np.ndarray) -> np.ndarray:
        if means.ndim != 2:
            raise ExtensionError(
                f"{_name_method(self, 'accuracies_of')} takes means of shape (n_slices, n_values), got {means.shape}; "
                "pass a column for one value per slice, such as `means[:, [0]]`"
            )
        accuracies = np.asarray(compute_accuracies(self, means))
        if accuracies.shape != means.shape[:1]:
            raise ExtensionError(
                f"{_name_method(self, 'accuracies_of')} must return an array of shape ({len(means)},), got "
                f"{accuracies.shape}; its means have the shape {means.shape}: use their columns, such as `means[:, 0]`"
            )
        return accuracies

    return compute_vector


def _name_method(estimator: "Estimator", method: str) -> str:
    return f"{type(estimator).__module__}.{type(estimator).__qualname__}.{method}"


@dataclass(frozen=True)
class Estimator(ABC):
    """A fitted estimator, including its scaling; it uses raw features.

    The accuracy of a slice is a function of the mean of one or several values per response. So one pass over the rows
    is enough for any number of slices, and sums and counts of a slice's parts add up.

    The values of three responses, (3, 1), and the accuracies of two slices from the means of their values, (2, 1):

    >>> from entropy_sentinel.estimators.confidence import Atc
    >>> estimator = Atc("atc-max", "max", threshold=-0.5, tied_weight=0.0)
    >>> estimator.values(pl.DataFrame({"max": [0.1, 0.9, 0.2]})).tolist()
    [[1.0], [0.0], [1.0]]
    >>> estimator.accuracies_of(np.array([[0.6], [0.75]])).tolist()
    [0.6, 0.75]

    Without `has_estimates`, accuracies are NaN (`no_estimator`).
    """

    has_estimates: ClassVar[bool] = True

    name: str

    def __init_subclass__(cls) -> None:
        """Let the methods of an extension's family check shapes: NumPy may compute wrong numbers with a wrong one."""
        super().__init_subclass__()
        if cls.__module__.partition(".")[0] != PACKAGE:
            for name, check_shapes in (("values", _check_values), ("accuracies_of", _check_accuracies)):
                if name in vars(cls):  # an inherited method has its check, and may stand behind a sibling's
                    setattr(cls, name, check_shapes(vars(cls)[name]))

    @abstractmethod
    def values(self, features: pl.DataFrame) -> np.ndarray:
        """The values of each response, floats of shape (n_rows, n_values), whose means `accuracies_of` takes.

        `features` has the features that the estimator needs, without nulls.
        """

    @_check_accuracies
    def accuracies_of(self, means: np.ndarray) -> np.ndarray:
        """The accuracies of slices in [0, 1], (n_slices,), from the means of their values, (n_slices, n_values).

        By default it is the mean of the only value; a family with several values says how they make an accuracy.
        """
        # Several values have the wrong shape here, which the check of an extension's family refuses.
        return means[:, 0] if means.shape[1] == 1 else means

    def accuracy_of(self, mean: np.ndarray) -> float:
        """The accuracy of a slice in [0, 1] from the mean of its responses' values, (n_values,)."""
        return float(self.accuracies_of(np.asarray(mean, dtype=float)[None])[0])

    def accuracy(self, features: pl.DataFrame) -> float:
        """The accuracy of the slice of all these responses (at least one), in [0, 1]."""
        return self.accuracy_of(self.values(features).mean(axis=0))

    def p_correct(self, features: pl.DataFrame) -> np.ndarray | None:
        """P(correct) of each response, (n_rows,), or None if the family gives none."""
        return None

    def refit(self, rows: "Fits") -> "Estimator":
        """The estimator fitted on other rows; a method that was chosen is kept. Raises CannotFit."""
        return rows.require(self.name)

    @property
    def chosen(self) -> dict[str, Any] | None:
        """What was chosen on the training rows, as JSON: a grid search's setting, a method, or None."""
        return None
