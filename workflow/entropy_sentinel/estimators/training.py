"""Estimators of P(correct) from a response's features: 48 configurations and the single-feature baselines.

Protocol: the paper, section 4 and appendices C.3 and C.4. Everything that a training group's configurations share is
computed once: the scaling, and per classifier, feature set and balancing the grid search, which serves the calibrated
and the uncalibrated estimator.
"""

import json
import warnings
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from entropy_sentinel.estimators.catalogue import Configuration, parse
from entropy_sentinel.estimators.forest_search import search_forest
from entropy_sentinel.features.catalogue import FEATURE_SETS, FEATURES

# scikit-learn's MLPClassifier keeps this share of its training rows for early stopping, at least one row a class.
_EARLY_STOPPING_SHARE = 0.1


@dataclass(frozen=True)
class Fitted:
    """One estimator after training: P(correct) of rows, or why there is none."""

    classifier: BaseEstimator | None
    columns: tuple[int, ...]
    hyperparameters: dict[str, Any] | None = None
    reason: str | None = None

    def predict(self, x: np.ndarray) -> np.ndarray:
        """P(correct), (n_rows,), of scaled features x, (n_rows, 17)."""
        return self.classifier.predict_proba(x[:, self.columns])[:, 1]


class TrainingGroup:
    """The rows of one training group, and every estimator that can be trained on them."""

    def __init__(
        self, x: np.ndarray, y: np.ndarray, settings: Mapping[str, Any], choices: MutableMapping[str, Any] | None = None
    ) -> None:
        """x: (n_rows, 17) features in the order of FEATURES, unscaled; y: (n_rows,) bool, correct or not.

        `choices` has what earlier searches on the same rows chose, and gets what this one does.
        `settings` is `config.study.estimation_settings`. With rows of one class only, or fewer rows of a class
        than folds, the estimators that cannot be trained are `Fitted` with a reason and without a classifier.
        """
        self.settings = settings
        self.scaler = StandardScaler().fit(x) if len(x) else None
        self.x = self.scaler.transform(x) if len(x) else x
        self.y = y
        self.folds = StratifiedKFold(settings["folds"], shuffle=True, random_state=settings["seed"])
        self.choices = {} if choices is None else choices

    def fit(self, estimator: str) -> Fitted:
        """Train a configuration or a baseline by its name."""
        if estimator.startswith("baseline-"):
            return self._fit_baseline(estimator.removeprefix("baseline-"))
        return self._fit_configuration(parse(estimator))

    def _fit_baseline(self, feature: str) -> Fitted:
        columns = (FEATURES.index(feature),)
        if reason := self._why_untrainable():
            return Fitted(None, columns, reason=reason)
        return Fitted(LogisticRegression().fit(self.x[:, columns], self.y), columns)

    def _fit_configuration(self, configuration: Configuration) -> Fitted:
        columns = tuple(FEATURES.index(feature) for feature in FEATURE_SETS[configuration.features])
        reason = self._why_untrainable() or self._why_unsearchable(configuration)
        if reason:
            return Fitted(None, columns, reason=reason)
        # The calibrated estimator shares the search. The grid is part of its name: another grid is another search.
        grid = self._grid(configuration.classifier)
        search = f"{replace(configuration, isotonic=False).name} {json.dumps(grid)}"
        if search not in self.choices:
            self.choices[search] = self._choose(configuration.classifier, grid, columns, configuration.balanced)
        chosen = self.choices[search]
        classifier = self._classifier(configuration.classifier, configuration.balanced, **chosen)
        if configuration.isotonic:
            classifier = CalibratedClassifierCV(classifier, method="isotonic", cv=self.folds, ensemble=True)
        with _expected_warnings():
            return Fitted(classifier.fit(self.x[:, columns], self.y), columns, hyperparameters=chosen)

    def _why_untrainable(self) -> str | None:
        if len(self.y) == 0:
            return "the training group has no row with a label and features"
        if self.y.all() or not self.y.any():
            return f"all training rows are {'correct' if self.y[0] else 'incorrect'}"
        return None

    def _why_unsearchable(self, configuration: Configuration) -> str | None:
        """Folds are needed to search a grid or to calibrate; the MLP also splits its rows for early stopping."""
        if configuration.classifier == "logistic" and not configuration.isotonic:
            return None
        n_folds, n_rows = self.settings["folds"], len(self.y)
        rarest = int(min(self.y.sum(), n_rows - self.y.sum()))
        if rarest < n_folds:
            return f"{rarest} training rows of the rarer class, {n_folds} folds need {n_folds}"
        n_fold_rows, rarest_in_fold = n_rows - -(-n_rows // n_folds), rarest - -(-rarest // n_folds)
        too_few = n_fold_rows * _EARLY_STOPPING_SHARE <= 1 or rarest_in_fold < 2
        if configuration.classifier == "mlp" and too_few:
            return f"{n_rows} training rows are too few for the MLP's early stopping"
        return None

    def _grid(self, classifier: str) -> list[dict[str, Any]]:
        """The settings to choose from; the logistic regression has one."""
        if classifier == "forest":
            grid = product(self.settings["max_depth"], self.settings["min_samples_split"], [self.settings["trees"]])
            return [{"max_depth": d, "min_samples_split": s, "n_estimators": trees} for d, s, trees in grid]
        if classifier == "mlp":
            return [{"hidden_layer_sizes": layers} for layers in self.settings["hidden_layers"]]
        return [{}]

    def _choose(
        self, classifier: str, grid: list[dict[str, Any]], columns: tuple[int, ...], balanced: bool
    ) -> dict[str, Any]:
        """The grid's best setting by the mean ROC-AUC over the folds."""
        x = self.x[:, columns]
        make = partial(self._classifier, classifier, balanced)
        if classifier == "forest":
            return search_forest(make, x, self.y, self.folds, grid)
        return self._search_mlp(make, x, grid) if classifier == "mlp" else grid[0]

    def _search_mlp(self, make, x: np.ndarray, grid: list[dict[str, Any]]) -> dict[str, Any]:
        mlp = make(**grid[0])
        prefix = "mlpclassifier__" if hasattr(mlp, "steps") else ""
        layers = {f"{prefix}hidden_layer_sizes": [setting["hidden_layer_sizes"] for setting in grid]}
        search = GridSearchCV(mlp, layers, scoring="roc_auc", cv=self.folds, refit=False)
        with _expected_warnings():
            search.fit(x, self.y)
        return grid[search.best_index_]

    def _classifier(self, classifier: str, balanced: bool, **hyperparameters: Any) -> BaseEstimator:
        """An unfitted classifier with the balancing that suits it (appendix C.4)."""
        seed = self.settings["seed"]
        if classifier == "logistic":
            return LogisticRegression(class_weight="balanced" if balanced else None, max_iter=1000)
        if classifier == "forest":
            from sklearn.ensemble import RandomForestClassifier

            weight = "balanced_subsample" if balanced else None
            return RandomForestClassifier(class_weight=weight, random_state=seed, **hyperparameters)
        from sklearn.neural_network import MLPClassifier

        mlp = MLPClassifier(alpha=0.001, early_stopping=True, random_state=seed, **hyperparameters)
        if not balanced:
            return mlp
        from imblearn.over_sampling import RandomOverSampler
        from imblearn.pipeline import make_pipeline

        # Inside the pipeline, and so inside each fold: no copy of a row is on both sides of a split.
        return make_pipeline(RandomOverSampler(random_state=seed), mlp)


class _expected_warnings(warnings.catch_warnings):
    """An MLP that reaches its 200 epochs before it stops early is as the paper's protocol has it."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("ignore", ConvergenceWarning)
