"""The two verbs of estimation: fit estimators on labelled rows, and score slices of any rows with them."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from functools import cache
from typing import TypeVar

import numpy as np
import polars as pl
from threadpoolctl import ThreadpoolController

from entropy_sentinel.estimators.estimator import Estimator, Unfitted
from entropy_sentinel.estimators.training import TrainingRows

# What a slice is called.
Slice = TypeVar("Slice")


def fit(rows: TrainingRows, names: Iterable[str]) -> dict[str, Estimator | Unfitted]:
    """Estimators by name, in the order of `names`; those that cannot be fitted say why."""
    with one_thread():
        return {name: rows.fit(name) for name in names}


def score(
    estimator: Estimator | Unfitted, features: pl.DataFrame, slices: Mapping[Slice, np.ndarray]
) -> dict[Slice, float | None]:
    """The estimated accuracy, in [0, 1], of each slice; None for a slice of no rows and from an unfitted estimator.

    `features` has the features without nulls, (n_rows,); a slice is a mask (n_rows,) of its rows.
    """
    if isinstance(estimator, Unfitted) or not len(features):
        return dict.fromkeys(slices)
    with one_thread():
        values = estimator.values(features)
    return {
        name: estimator.accuracy_of(values[rows].mean(axis=0)) if rows.any() else None for name, rows in slices.items()
    }


def one_thread() -> AbstractContextManager[object]:
    """Numpy and scikit-learn in one thread each: the matrices are small, more threads only wait for each other."""
    limited: AbstractContextManager[object] = _pools().limit(limits=1)
    return limited


@cache
def _pools() -> ThreadpoolController:
    """The thread pools of numpy and scikit-learn, looked up once: that takes milliseconds."""
    return ThreadpoolController()
