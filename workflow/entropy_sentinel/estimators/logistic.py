"""Family `logistic`: logistic regression on a feature set. It has no grid."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from entropy_sentinel.estimators.classifier import SAVED as CONFIGURATION
from entropy_sentinel.estimators.classifier import ProbabilityEstimator, Separate, fit_configuration
from entropy_sentinel.estimators.training import TrainingRows


@dataclass(frozen=True)
class Logistic:
    """A logistic regression: weights (n_features,) and the intercept of the log-odds of a correct response."""

    weights: np.ndarray
    intercept: float

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray, **options: Any) -> "Logistic":
        """That of scikit-learn with these options, fitted on x (n_rows, n_features) and y (n_rows,)."""
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


SAVED = (*CONFIGURATION, Logistic)


def fit(name: str, rows: TrainingRows) -> ProbabilityEstimator:
    """Fit a configuration of this family."""
    return fit_configuration(name, rows, [{}], fit_grid)


def fit_grid(x: np.ndarray, y: np.ndarray, balanced: bool, grid: Sequence[dict[str, Any]]) -> Separate:
    """Fit a logistic regression per setting, of which there is one; balanced by class weights."""
    weights = "balanced" if balanced else None
    return Separate([Logistic.of(x, y, class_weight=weights, max_iter=1000, **setting) for setting in grid])
