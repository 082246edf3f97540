"""Family `group-accuracy`: every domain is taken to be as the training group. The floor that others must beat."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from entropy_sentinel.estimators.estimator import Estimator
from entropy_sentinel.estimators.training import TrainingRows


@dataclass(frozen=True)
class GroupAccuracy(Estimator):
    """The accuracy of the training rows, for any slice."""

    training_accuracy: float

    def values(self, features: pl.DataFrame) -> np.ndarray:
        return np.full(len(features), self.training_accuracy)


SAVED = (GroupAccuracy,)


def fit(name: str, rows: TrainingRows) -> GroupAccuracy:
    """The training rows' share of correct ones."""
    rows.require_rows()
    return GroupAccuracy(name, rows.accuracy)
