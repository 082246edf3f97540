"""Shared by the families of classifiers: grid search and isotonic calibration over folds (paper, appendix C).

The estimates equal those of scikit-learn's GridSearchCV, then CalibratedClassifierCV, over the same folds. Both fit the
same models, one per fold; here they are fitted once, for an estimator and its calibrated variant.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import polars as pl
from sklearn.isotonic import IsotonicRegression

from entropy_sentinel.estimators.estimator_base import Estimator
from entropy_sentinel.estimators.estimator_registry import parse_configuration
from entropy_sentinel.estimators.training_rows import Scaling, TrainingRows
from entropy_sentinel.features.feature_registry import FEATURE_SETS
from entropy_sentinel.statistics.auroc import roc_area


class Classifier(Protocol):
    """A fitted classifier, scikit-learn's or one of ours."""

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        """P(incorrect) and P(correct), (n_rows, 2)."""


class FittedGrid(Protocol):
    """Classifiers of one kind, fitted on the same rows with each setting of a grid."""

    def probabilities(self, x: np.ndarray) -> np.ndarray:
        """P(correct) for each setting, (n_settings, n_rows)."""

    def classifier(self, place: int) -> Classifier:
        """The classifier of one setting, by its position in the grid."""


# x (n_rows, n_features), y (n_rows,), balanced, grid
FitGrid = Callable[[np.ndarray, np.ndarray, bool, Sequence[dict[str, Any]]], FittedGrid]


@dataclass(frozen=True)
class SeparateClassifiers:
    """Independent classifiers, one per setting."""

    classifiers: Sequence[Classifier]

    def probabilities(self, x: np.ndarray) -> np.ndarray:
        return np.stack([classifier.predict_proba(x)[:, 1] for classifier in self.classifiers])

    def classifier(self, place: int) -> Classifier:
        return self.classifiers[place]


@dataclass(frozen=True)
class Isotonic:
    """An isotonic regression: `values` at `thresholds`, (n,) each, linear in between and constant beyond."""

    thresholds: np.ndarray
    values: np.ndarray

    @classmethod
    def fit(cls, confidences: np.ndarray, y: np.ndarray) -> "Isotonic":
        """Fit scikit-learn's isotonic regression on (n_rows,) scores and labels."""
        fitted = IsotonicRegression(out_of_bounds="clip").fit(confidences, y)
        return cls(fitted.X_thresholds_, fitted.y_thresholds_)

    def __call__(self, confidences: np.ndarray) -> np.ndarray:
        """P(correct), (n_rows,)."""
        p: np.ndarray = np.interp(confidences, self.thresholds, self.values)
        return p


@dataclass(frozen=True)
class Calibrated:
    """The mean over folds of a classifier, each with an isotonic regression fitted on its held-out rows."""

    classifiers: tuple[Classifier, ...]
    regressions: tuple[Isotonic, ...]

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        """P(incorrect) and P(correct), the means over the folds' calibrated classifiers, (n_rows, 2)."""
        fold_probabilities = []
        for classifier, regression in zip(self.classifiers, self.regressions, strict=True):
            fold_probabilities.append(regression(calibration_scores(classifier, x)))
        p = np.mean(fold_probabilities, axis=0)
        return np.column_stack([1 - p, p])


@dataclass(frozen=True)
class ProbabilityEstimator(Estimator):
    """Estimates accuracy as a classifier's mean P(correct)."""

    scaling: Scaling
    classifier: Classifier
    hyperparameters: dict[str, Any] | None = None

    def values(self, features: pl.DataFrame) -> np.ndarray:
        return self.p_correct(features)[:, None]

    def p_correct(self, features: pl.DataFrame) -> np.ndarray:
        return self.classifier.predict_proba(self.scaling(features))[:, 1]

    @property
    def chosen(self) -> dict[str, Any] | None:
        return self.hyperparameters


# Other classes in the file of one of the 48 configurations.
SAVED = (ProbabilityEstimator, Scaling, Calibrated, Isotonic)


def fit_configuration(
    name: str, rows: TrainingRows, grid: Sequence[dict[str, Any]], fit_grid: FitGrid
) -> ProbabilityEstimator:
    """Fit one of the 48 configurations of classifier, features, balancing and calibration.

    `fit_grid` fits the classifier with each setting of `grid`. Raises CannotFit for too few rows of a class.
    """
    configuration = parse_configuration(name)
    rows.require_both_classes()
    features = FEATURE_SETS[configuration.features]
    x = rows.scaled(features)
    chosen = grid[0]
    if configuration.isotonic or len(grid) > 1:
        # The configuration without calibration searches the same grid, so they share the result.
        search = replace(configuration, isotonic=False).name
        chosen, fold_classifiers = rows.once(
            search, lambda: _search_grid(x, rows, configuration.balanced, grid, fit_grid)
        )
    classifier: Classifier
    if configuration.isotonic:
        classifier = _calibrate_folds(fold_classifiers, x, rows)
    else:
        classifier = fit_grid(x, rows.y, configuration.balanced, [chosen]).classifier(0)
    return ProbabilityEstimator(name, rows.scaling(features), classifier, chosen)


def _search_grid(
    x: np.ndarray, rows: TrainingRows, balanced: bool, grid: Sequence[dict[str, Any]], fit_grid: FitGrid
) -> tuple[dict[str, Any], list[Classifier]]:
    """The setting with the largest mean ROC-AUC over the folds, the first of equals, and its classifiers by fold.

    `x` is (n_rows, n_features). A grid of one setting is fitted but not compared.
    """
    grids_by_fold, areas = [], []
    for train, test in rows.splits:
        fitted = fit_grid(x[train], rows.y[train], balanced, grid)
        grids_by_fold.append(fitted)
        if len(grid) > 1:
            areas.append([roc_area(rows.y[test], p) for p in fitted.probabilities(x[test])])
    best = int(np.mean(areas, axis=0).argmax()) if areas else 0
    return grid[best], [fitted.classifier(best) for fitted in grids_by_fold]


def _calibrate_folds(fold_classifiers: Sequence[Classifier], x: np.ndarray, rows: TrainingRows) -> Calibrated:
    """Fit an isotonic regression on each fold's held-out rows; `x` is (n_rows, n_features)."""
    regressions = []
    for classifier, (_, test) in zip(fold_classifiers, rows.splits, strict=True):
        regressions.append(Isotonic.fit(calibration_scores(classifier, x[test]), rows.y[test]))
    return Calibrated(tuple(fold_classifiers), tuple(regressions))


def calibration_scores(classifier: Classifier, x: np.ndarray) -> np.ndarray:
    """The scores to calibrate, (n_rows,): the decision function, or else P(correct), as in scikit-learn."""
    if hasattr(classifier, "decision_function"):
        decided: np.ndarray = classifier.decision_function(x)
        return decided
    return classifier.predict_proba(x)[:, 1]
