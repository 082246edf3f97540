"""What the families of classifiers share: grid search, balancing, isotonic calibration (paper, appendix C)."""

import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning

from entropy_sentinel.estimators.catalogue import parse
from entropy_sentinel.estimators.estimator import CannotFit, Estimator
from entropy_sentinel.estimators.training import Scaling, TrainingRows
from entropy_sentinel.features.catalogue import FEATURE_SETS


@dataclass(frozen=True)
class ProbabilityEstimator(Estimator):
    """A classifier's mean P(correct)."""

    scaling: Scaling
    classifier: BaseEstimator
    hyperparameters: dict[str, Any] | None = None

    def values(self, features: pl.DataFrame) -> np.ndarray:
        return self.classifier.predict_proba(self.scaling(features))[:, 1]

    def p_correct(self, features: pl.DataFrame) -> np.ndarray:
        return self.values(features)

    @property
    def chosen(self) -> dict[str, Any] | None:
        return self.hyperparameters


@dataclass(frozen=True)
class Recipe:
    """How one classifier is made, and how its setting is chosen among those of `grid`.

    `make(balanced, **setting)` gives an unfitted classifier, `choose(x, y, balanced)` the best setting by the mean
    ROC-AUC over the folds.
    """

    make: Callable[..., BaseEstimator]
    grid: Sequence[dict[str, Any]]
    choose: Callable[[np.ndarray, np.ndarray, bool], dict[str, Any]]


def fit_configuration(name: str, rows: TrainingRows, recipe: Recipe) -> ProbabilityEstimator:
    """Fit one of the 48 configurations; raises CannotFit for too few rows of a class."""
    configuration = parse(name)
    rows.require_both_classes()
    if configuration.isotonic or recipe.grid != [{}]:
        _require_folds(rows)
    features = FEATURE_SETS[configuration.features]
    x = rows.scaled(features)
    # The calibrated estimator shares the search. The grid is part of its name: another grid is another search.
    search = f"{replace(configuration, isotonic=False).name} {json.dumps(list(recipe.grid))}"
    with expected_warnings():
        chosen = rows.search(search, lambda: recipe.choose(x, rows.y, configuration.balanced))
        classifier = recipe.make(configuration.balanced, **chosen)
        if configuration.isotonic:
            classifier = CalibratedClassifierCV(classifier, method="isotonic", cv=rows.folds, ensemble=True)
        classifier.fit(x, rows.y)
    return ProbabilityEstimator(name, rows.scaling(features), classifier, chosen)


def _require_folds(rows: TrainingRows) -> None:
    n_folds, rarest = rows.folds.n_splits, int(min(rows.y.sum(), (~rows.y).sum()))
    if rarest < n_folds:
        raise CannotFit(f"{rarest} training rows of the rarer class, {n_folds} folds need {n_folds}")


class expected_warnings(warnings.catch_warnings):
    """An MLP that reaches its 200 epochs before it stops early is as the paper's protocol has it."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("ignore", ConvergenceWarning)
