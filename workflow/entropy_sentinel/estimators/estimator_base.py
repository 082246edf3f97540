"""The interface of estimators: fitted on a training group's rows, they estimate any slice's accuracy."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import polars as pl


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


@dataclass(frozen=True)
class Estimator(ABC):
    """A fitted estimator, including its scaling; it uses raw features.

    The accuracy of a slice is a function of the mean of one or several values per response. So one pass over the rows
    is enough for any number of slices, and sums and counts of a slice's parts add up.

    Without `has_estimates`, accuracies are NaN (`no_estimator`).
    """

    has_estimates: ClassVar[bool] = True

    name: str

    @abstractmethod
    def values(self, features: pl.DataFrame) -> np.ndarray:
        """One value per response, (n_rows,), or several, (n_rows, n_values), whose means `accuracies_of` takes.

        `features` has the features that the estimator needs, without nulls.
        """

    def accuracies_of(self, means: np.ndarray) -> np.ndarray:
        """The accuracies of slices in [0, 1], (n_slices,), from the means of their responses' values.

        `means` is (n_slices,), or (n_slices, n_values).
        """
        return means

    def value_matrix(self, features: pl.DataFrame) -> np.ndarray:
        """The values of each response, always (n_rows, n_values).

        A family may return one value per response as (n_rows,): of two responses, `values` [0.9, 0.4] is here
        [[0.9], [0.4]], whose means over a slice, [[0.65]], `slice_accuracies` takes.
        """
        values = self.values(features)
        return values[:, None] if values.ndim == 1 else values

    def slice_accuracies(self, means: np.ndarray) -> np.ndarray:
        """The accuracies of slices in [0, 1], (n_slices,), from means of `value_matrix`, (n_slices, n_values)."""
        return self.accuracies_of(means if means.shape[1] > 1 else means[:, 0])

    def accuracy_of(self, mean: np.ndarray) -> float:
        """The accuracy of a slice in [0, 1] from the mean of its responses' values, () or (n_values,)."""
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
