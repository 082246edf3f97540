"""What an estimator says of single responses, as labels need it: one number each."""

from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.estimators.estimator import Estimator
from entropy_sentinel.estimators.fit import one_thread


def predictions(estimator: Estimator, features: pl.DataFrame) -> np.ndarray:
    """What the estimator says of each response, (n_rows,), in [0, 1]: P(correct), or else the mean of its values."""
    with one_thread():
        found = estimator.p_correct(features)
    return np.clip(one_value(values_of(estimator, features) if found is None else found), 0, 1)


def values_of(estimator: Estimator, rows: pl.DataFrame) -> np.ndarray:
    """The estimator's values of each response, (n_rows,) or (n_rows, n_values)."""
    with one_thread():
        return estimator.values(rows)


def one_value(found: Any) -> np.ndarray:
    """(n,) from one or several values per response."""
    values = np.asarray(found, dtype=float)
    return values.mean(axis=1) if values.ndim == 2 else values
