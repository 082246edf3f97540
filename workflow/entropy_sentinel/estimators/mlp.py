"""Family `mlp`: a multi-layer perceptron on a feature set, with early stopping and a grid over its hidden layers."""

from functools import partial
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier

from entropy_sentinel.estimators.classifier import ProbabilityEstimator, Recipe, fit_configuration
from entropy_sentinel.estimators.estimator import CannotFit
from entropy_sentinel.estimators.training import TrainingRows

# scikit-learn's MLPClassifier keeps this share of its training rows for early stopping, at least one row a class.
_EARLY_STOPPING_SHARE = 0.1


def fit(name: str, rows: TrainingRows) -> ProbabilityEstimator:
    """Fit a configuration of this family; raises CannotFit also where early stopping has too few rows."""
    rows.require_both_classes()
    grid = [{"hidden_layer_sizes": layers} for layers in rows.settings["hidden_layers"]]
    network = partial(make, seed=rows.settings["seed"])

    def choose(x, y, balanced: bool) -> dict[str, Any]:
        _require_early_stopping(rows)
        mlp = network(balanced, **grid[0])
        prefix = "mlpclassifier__" if hasattr(mlp, "steps") else ""
        layers = {f"{prefix}hidden_layer_sizes": [setting["hidden_layer_sizes"] for setting in grid]}
        search = GridSearchCV(mlp, layers, scoring="roc_auc", cv=rows.folds, refit=False)
        return grid[search.fit(x, y).best_index_]

    return fit_configuration(name, rows, Recipe(network, grid, choose))


def _require_early_stopping(rows: TrainingRows) -> None:
    """Raise CannotFit where a fold has too few rows to keep some of each class for early stopping."""
    n_folds, n_rows, rarest = rows.folds.n_splits, len(rows), int(min(rows.y.sum(), (~rows.y).sum()))
    n_fold_rows, rarest_in_fold = n_rows - -(-n_rows // n_folds), rarest - -(-rarest // n_folds)
    if n_fold_rows * _EARLY_STOPPING_SHARE <= 1 or rarest_in_fold < 2:
        raise CannotFit(f"{n_rows} training rows are too few for the MLP's early stopping")


def make(balanced: bool, *, seed: int, **setting: Any) -> BaseEstimator:
    """An unfitted network; balanced by over-sampling the rarer class."""
    mlp = MLPClassifier(alpha=0.001, early_stopping=True, random_state=seed, **setting)
    if not balanced:
        return mlp
    from imblearn.over_sampling import RandomOverSampler
    from imblearn.pipeline import make_pipeline

    # Inside the pipeline, and so inside each fold: no copy of a row is on both sides of a split.
    return make_pipeline(RandomOverSampler(random_state=seed), mlp)
