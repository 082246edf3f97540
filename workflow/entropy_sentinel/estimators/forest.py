"""Family `forest`: a random forest on a feature set, with a grid over depth and split size."""

from functools import partial
from itertools import product
from typing import Any

from sklearn.ensemble import RandomForestClassifier

from entropy_sentinel.estimators.classifier import ProbabilityEstimator, Recipe, fit_configuration
from entropy_sentinel.estimators.forest_search import search_forest
from entropy_sentinel.estimators.training import TrainingRows


def fit(name: str, rows: TrainingRows) -> ProbabilityEstimator:
    """Fit a configuration of this family."""
    settings = rows.settings
    limits = product(settings["max_depth"], settings["min_samples_split"], [settings["trees"]])
    grid = [{"max_depth": depth, "min_samples_split": split, "n_estimators": trees} for depth, split, trees in limits]
    forest = partial(make, seed=settings["seed"])

    def choose(x, y, balanced: bool) -> dict[str, Any]:
        return search_forest(partial(forest, balanced), x, y, rows.folds, grid)

    return fit_configuration(name, rows, Recipe(forest, grid, choose))


def make(balanced: bool, *, seed: int, **setting: Any) -> RandomForestClassifier:
    """An unfitted forest; balanced by class weights within the sample of each tree."""
    return RandomForestClassifier(class_weight="balanced_subsample" if balanced else None, random_state=seed, **setting)
