"""Family `baseline`: logistic regression on a single signal, with scikit-learn's defaults (L2, C = 1)."""

from entropy_sentinel.estimators.classifier import ProbabilityEstimator
from entropy_sentinel.estimators.logistic import Logistic
from entropy_sentinel.estimators.training import Scaling, TrainingRows

SAVED = (ProbabilityEstimator, Scaling, Logistic)


def fit(name: str, rows: TrainingRows) -> ProbabilityEstimator:
    """Fit `baseline-SIGNAL`."""
    rows.require_both_classes()
    features = (name.removeprefix("baseline-"),)
    classifier = Logistic.of(rows.scaled(features), rows.y)
    return ProbabilityEstimator(name, rows.scaling(features), classifier)
