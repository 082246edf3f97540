"""Logistic regressions: families `logistic` (on a feature set), `baseline` (on one signal) and `log` (on logarithms).

`logistic` has no grid. The other two have scikit-learn's defaults (L2, C = 1). Entropies and negative log-likelihoods
span orders of magnitude between domains: on their logarithms, a regression fitted on easy questions extrapolates
better to hard ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from entropy_sentinel.estimators.classifier import SAVED as CONFIGURATION
from entropy_sentinel.estimators.classifier import ProbabilityEstimator, SeparateClassifiers, fit_configuration
from entropy_sentinel.estimators.estimator_registry import LOG_SETS
from entropy_sentinel.estimators.training_rows import Scaling, TrainingRows

# Smaller values are rounding errors of log-probabilities in single precision, and 0 has no logarithm.
LEAST = 1e-6


@dataclass(frozen=True)
class Logistic:
    """A logistic regression: weights (n_features,) and the intercept of the log-odds of a correct response."""

    weights: np.ndarray
    intercept: float

    @classmethod
    def fit(cls, x: np.ndarray, y: np.ndarray, **options: Any) -> "Logistic":
        """Fit scikit-learn's logistic regression with these options on x (n_rows, n_features) and y (n_rows,)."""
        fitted = LogisticRegression(**options).fit(x, y)
        return cls(fitted.coef_[0], float(fitted.intercept_[0]))

    def decision_function(self, x: np.ndarray) -> np.ndarray:
        """The log-odds, (n_rows,)."""
        log_odds: np.ndarray = (x @ self.weights[:, None])[:, 0] + self.intercept
        return log_odds

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        """P(incorrect) and P(correct), (n_rows, 2)."""
        p = expit(self.decision_function(x))
        return np.column_stack([1 - p, p])


def fit_grid(x: np.ndarray, y: np.ndarray, balanced: bool, grid: Sequence[dict[str, Any]]) -> SeparateClassifiers:
    """Fit the single setting of the logistic regression; balanced by class weights."""
    weights = "balanced" if balanced else None
    return SeparateClassifiers([Logistic.fit(x, y, class_weight=weights, max_iter=1000, **setting) for setting in grid])


@dataclass(frozen=True)
class LogScaling(Scaling):
    """Standardisation of the features' logarithms."""

    def __call__(self, frame: pl.DataFrame) -> np.ndarray:
        scores: np.ndarray = (log_features(frame, self.features) - self.mean) / self.scale
        return scores


SAVED = (*CONFIGURATION, LogScaling, Logistic)


def fit(name: str, rows: TrainingRows) -> ProbabilityEstimator:
    """Fit a configuration, `baseline-SIGNAL`, `log-FEATURE`, or `log-SET` with a set of `LOG_SETS`."""
    family, _, source = name.partition("-")
    if family == "logistic":
        return fit_configuration(name, rows, [{}], fit_grid)
    rows.require_both_classes()
    if family == "baseline":
        return ProbabilityEstimator(name, rows.scaling((source,)), Logistic.fit(rows.scaled((source,)), rows.y))
    features = LOG_SETS.get(source, (source,))
    scaler = StandardScaler().fit(log_features(rows.features, features))
    scaling = LogScaling(features, scaler.mean_, scaler.scale_)
    return ProbabilityEstimator(name, scaling, Logistic.fit(scaling(rows.features), rows.y))


def log_features(frame: pl.DataFrame, features: tuple[str, ...]) -> np.ndarray:
    """Natural logarithms of non-negative features, at least `LEAST`, (n_rows, n_features)."""
    logs: np.ndarray = np.log(np.maximum(frame.select(features).to_numpy(), LEAST))
    return logs
