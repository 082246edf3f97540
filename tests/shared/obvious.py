"""The 48 configurations as one would write them with scikit-learn and imbalanced-learn: what ours must agree with."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from imblearn.over_sampling import RandomOverSampler
from imblearn.pipeline import Pipeline
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neural_network import MLPClassifier

from entropy_sentinel.estimators.estimator_registry import parse_configuration


def fit_obvious(
    name: str, x: np.ndarray, y: np.ndarray, settings: Mapping[str, Any], seed_of_folds: int | None = None
) -> BaseEstimator:
    """Grid search, then calibration, of one configuration on the scaled features that it uses."""
    configuration = parse_configuration(name)
    folds = StratifiedKFold(settings["folds"], shuffle=True, random_state=seed_of_folds or settings["seed"])
    classifier, grid = _classifier(configuration.classifier, configuration.balanced, settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if grid:
            search = GridSearchCV(classifier, grid, scoring="roc_auc", cv=folds).fit(x, y)
            classifier = search.best_estimator_
        if configuration.isotonic:
            classifier = CalibratedClassifierCV(classifier, method="isotonic", cv=folds, ensemble=True)
        return classifier.fit(x, y) if configuration.isotonic or not grid else classifier


def _classifier(kind: str, balanced: bool, settings: Mapping[str, Any]) -> tuple[BaseEstimator, dict[str, Any]]:
    seed = settings["seed"]
    if kind == "logistic":
        return LogisticRegression(class_weight="balanced" if balanced else None, max_iter=1000), {}
    if kind == "forest":
        weights = "balanced_subsample" if balanced else None
        grid = {"max_depth": settings["max_depth"], "min_samples_split": settings["min_samples_split"]}
        return RandomForestClassifier(settings["trees"], class_weight=weights, random_state=seed), grid
    mlp = MLPClassifier(alpha=0.001, early_stopping=True, random_state=seed)
    steps = [("copies", RandomOverSampler(random_state=seed))] if balanced else []
    return Pipeline([*steps, ("mlp", mlp)]), {"mlp__hidden_layer_sizes": settings["hidden_layers"]}
