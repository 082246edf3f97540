"""What an estimator is: fitted on the rows of a training group, it gives the accuracy of any slice of responses."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl


class CannotFit(Exception):
    """An estimator cannot be fitted on these rows; the message is the reason."""


@dataclass(frozen=True)
class Unfitted:
    """An estimator that could not be fitted, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Estimator(ABC):
    """A fitted estimator. It holds all that it needs, its scaling too, and takes features as they are.

    The accuracy of a slice is read off the mean of one or several values per response: any number of slices costs one
    pass over the rows, and what is known of a slice's parts, sums and counts, adds up to what is known of the slice.
    """

    name: str

    @abstractmethod
    def values(self, features: pl.DataFrame) -> np.ndarray:
        """One value per response, (n_rows,), or several, (n_rows, n_values), whose means `accuracies_of` takes.

        `features` has the features that the estimator needs, none null.
        """

    def accuracies_of(self, means: np.ndarray) -> np.ndarray:
        """The accuracies, (n_slices,) in [0, 1], of slices from the means of their responses' values.

        `means` is (n_slices,), or (n_slices, n_values).
        """
        return means

    def accuracy_of(self, mean: np.ndarray) -> float:
        """The accuracy, in [0, 1], of a slice from the mean of its responses' values, () or (n_values,)."""
        return float(self.accuracies_of(np.asarray(mean, dtype=float)[None])[0])

    def accuracy(self, features: pl.DataFrame) -> float:
        """The accuracy, in [0, 1], of the slice of all these responses, at least one."""
        return self.accuracy_of(self.values(features).mean(axis=0))

    def p_correct(self, features: pl.DataFrame) -> np.ndarray | None:
        """P(correct) of each response, (n_rows,); None where the family gives none."""
        return None

    @property
    def chosen(self) -> dict[str, Any] | None:
        """What was chosen on the training rows, JSON-serialisable: a grid search's setting, a method; or None."""
        return None
