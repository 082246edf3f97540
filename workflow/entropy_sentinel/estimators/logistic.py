"""Family `logistic`: logistic regression on a feature set. It has no grid."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from entropy_sentinel.estimators.classifier import SAVED as CONFIGURATION
from entropy_sentinel.estimators.classifier import ProbabilityEstimator, Separate, fit_configuration
from entropy_sentinel.estimators.training import TrainingRows

SAVED = (*CONFIGURATION, LogisticRegression)


def fit(name: str, rows: TrainingRows) -> ProbabilityEstimator:
    """Fit a configuration of this family."""
    return fit_configuration(name, rows, [{}], fit_grid)


def fit_grid(x: np.ndarray, y: np.ndarray, balanced: bool, grid: Sequence[dict[str, Any]]) -> Separate:
    """Fit a logistic regression per setting, of which there is one; balanced by class weights."""
    weights = "balanced" if balanced else None
    return Separate([LogisticRegression(class_weight=weights, max_iter=1000, **setting).fit(x, y) for setting in grid])
