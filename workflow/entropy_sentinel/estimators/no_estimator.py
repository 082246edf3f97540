"""No estimator, in the interface of estimators: a monitor with it takes all accuracies from labels.

No response has P(correct), and no slice an estimate. Labels need no features, so responses without log-probabilities
count, too.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from entropy_sentinel.estimators.estimator_base import Estimator
from entropy_sentinel.estimators.fit_metadata import FitMetadata, LogprobsKind
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator


@dataclass(frozen=True)
class NoEstimator(Estimator):
    """Gives every response the value 0, whose mean says nothing about an accuracy."""

    has_estimates: ClassVar[bool] = False

    def values(self, features: pl.DataFrame) -> np.ndarray:
        return np.zeros((len(features), 1))

    def accuracies_of(self, means: np.ndarray) -> np.ndarray:
        return np.full(len(means), np.nan)

    def p_correct(self, features: pl.DataFrame) -> np.ndarray:
        return np.full(len(features), np.nan)


_NAME = "no estimator"
NO_ESTIMATOR = FittedEstimator(
    NoEstimator(_NAME), FitMetadata(name=_NAME, logprobs=LogprobsKind(), needs_features=False)
)
