"""The forest's grid search: narrower settings read off the widest forest."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from entropy_sentinel.computation.forest_search import search_forest, truncated_probabilities

GRID = [{"max_depth": depth, "min_samples_split": split} for depth in (3, 5, 10) for split in (2, 5, 10)]


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    x = rng.normal(size=(240, 4))
    return x, x[:, 0] + 0.5 * x[:, 1] ** 2 + rng.normal(size=240) > 0.4


def forest(**setting: int) -> RandomForestClassifier:
    return RandomForestClassifier(20, random_state=1, **setting)


def test_widest_setting_is_scikit_learns_own_forest(data) -> None:
    x, y = data
    fitted = forest(max_depth=10, min_samples_split=2).fit(x, y)
    assert np.array_equal(truncated_probabilities(fitted, x, [GRID[6]])[0], fitted.predict_proba(x)[:, 1])


@pytest.mark.parametrize("setting", GRID, ids=str)
def test_truncation_equals_growing_narrower(data, setting) -> None:
    """With all features at every split and no ties, a tree does not depend on its random numbers; bootstraps do not
    depend on the limits. Then scikit-learn's narrower forest must be found exactly."""
    x, y = data
    widest = forest(max_depth=10, min_samples_split=2).set_params(max_features=None).fit(x, y)
    narrower = forest(**setting).set_params(max_features=None).fit(x, y)
    read_off = truncated_probabilities(widest, x, [setting])[0]
    # Equally good splits on small nodes are broken at random: a few rows of a few trees may differ.
    assert np.mean(np.abs(read_off - narrower.predict_proba(x)[:, 1])) < 0.01


def test_a_hand_made_tree() -> None:
    """One feature, one tree without bootstrap: the root splits 2 | 2, its left child 1 | 1."""
    x, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([True, False, False, False])
    tree = RandomForestClassifier(1, bootstrap=False, random_state=0).fit(x, y)
    grid = [
        {"max_depth": 0, "min_samples_split": 2},  # the root alone: 1 of 4 correct
        {"max_depth": 9, "min_samples_split": 5},  # likewise, by size
        {"max_depth": 9, "min_samples_split": 2},
    ]
    found = truncated_probabilities(tree, x, grid)
    assert found.tolist() == [[0.25] * 4, [0.25] * 4, [1, 0, 0, 0]]


def test_chooses_as_well_as_a_full_grid_search(data) -> None:
    """Both searches estimate the same nine scores with different random numbers: their choices score alike."""
    x, y = data
    folds = StratifiedKFold(5, shuffle=True, random_state=42)
    chosen = search_forest(forest, x, y, folds, GRID)
    full = GridSearchCV(
        forest(), {"max_depth": [3, 5, 10], "min_samples_split": [2, 5, 10]}, scoring="roc_auc", cv=folds, refit=False
    ).fit(x, y)
    scores = {
        str(setting): score
        for setting, score in zip(full.cv_results_["params"], full.cv_results_["mean_test_score"], strict=True)
    }
    assert scores[str(chosen)] > full.best_score_ - 0.015


def test_a_deep_grid_wins_where_depth_is_needed() -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(size=(400, 2))
    y = (np.floor(x[:, 0] * 8) + np.floor(x[:, 1] * 8)) % 2 == 0  # a chess board: depth 3 cannot tell it
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    assert search_forest(forest, x, y, folds, GRID)["max_depth"] == 10
    assert roc_auc_score(y, forest(max_depth=10).fit(x, y).predict_proba(x)[:, 1]) > 0.9
