"""Family `baseline`: logistic regression on a single signal, with scikit-learn's defaults (L2, C = 1)."""

from sklearn.linear_model import LogisticRegression

from entropy_sentinel.estimators.classifier import ProbabilityEstimator
from entropy_sentinel.estimators.training import Scaling, TrainingRows

SAVED = (ProbabilityEstimator, Scaling, LogisticRegression)


def fit(name: str, rows: TrainingRows) -> ProbabilityEstimator:
    """Fit `baseline-SIGNAL`."""
    rows.require_both_classes()
    features = (name.removeprefix("baseline-"),)
    classifier = LogisticRegression().fit(rows.scaled(features), rows.y)
    return ProbabilityEstimator(name, rows.scaling(features), classifier)
