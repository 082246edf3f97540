"""Family `log`: logistic regression on the logarithms of features, with scikit-learn's defaults (L2, C = 1).

Entropies and negative log-likelihoods spread over orders of magnitude between domains. On their logarithms a
regression that is fitted on easy questions goes on sensibly to hard ones.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from sklearn.preprocessing import StandardScaler

from entropy_sentinel.estimators.catalogue import LOG_SETS
from entropy_sentinel.estimators.classifier import ProbabilityEstimator
from entropy_sentinel.estimators.logistic import Logistic
from entropy_sentinel.estimators.training import Scaling, TrainingRows

# Smaller values are rounding noise of log-probabilities in single precision, and 0 has no logarithm.
LEAST = 1e-6


@dataclass(frozen=True)
class LogScaling(Scaling):
    """z-scores of the features' logarithms."""

    def __call__(self, frame: pl.DataFrame) -> np.ndarray:
        scores: np.ndarray = (logarithms(frame, self.features) - self.mean) / self.scale
        return scores


SAVED = (ProbabilityEstimator, LogScaling, Logistic)


def fit(name: str, rows: TrainingRows) -> ProbabilityEstimator:
    """Fit `log-FEATURE` or `log-SET`, a set of `LOG_SETS`."""
    rows.require_both_classes()
    source = name.removeprefix("log-")
    features = LOG_SETS.get(source, (source,))
    scaler = StandardScaler().fit(logarithms(rows.features, features))
    scaling = LogScaling(features, scaler.mean_, scaler.scale_)
    return ProbabilityEstimator(name, scaling, Logistic.of(scaling(rows.features), rows.y))


def logarithms(frame: pl.DataFrame, features: tuple[str, ...]) -> np.ndarray:
    """Natural logarithms of features that are never negative, of at least `LEAST`, (n_rows, n_features)."""
    logs: np.ndarray = np.log(np.maximum(frame.select(features).to_numpy(), LEAST))
    return logs
