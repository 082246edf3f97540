"""Family `logistic`: logistic regression on a feature set. It has no grid."""

from sklearn.linear_model import LogisticRegression

from entropy_sentinel.estimators.classifier import ProbabilityEstimator, Recipe, fit_configuration
from entropy_sentinel.estimators.training import TrainingRows


def fit(name: str, rows: TrainingRows) -> ProbabilityEstimator:
    """Fit a configuration of this family."""
    return fit_configuration(name, rows, Recipe(make, [{}], lambda *_: {}))


def make(balanced: bool) -> LogisticRegression:
    """An unfitted logistic regression; balanced by class weights."""
    return LogisticRegression(class_weight="balanced" if balanced else None, max_iter=1000)
