"""The forest's grid search: narrower settings read off the widest forest."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from entropy_sentinel.estimators.forest_search import search_forest, truncated_probabilities

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
    """On one feature without ties a tree draws nothing that matters: only the bootstraps are random, and they do not
    depend on the limits. So scikit-learn's narrower forest must be found exactly."""
    x, y = data[0][:, :1], data[1]
    widest = forest(max_depth=10, min_samples_split=2).fit(x, y)
    narrower = forest(**setting).fit(x, y)
    assert np.array_equal(truncated_probabilities(widest, x, [setting])[0], narrower.predict_proba(x)[:, 1])


@pytest.mark.slow
def test_truncation_equals_growing_narrower_on_two_features() -> None:
    """Equally good splits on two features are chosen between at random, so the data sets are those on which
    scikit-learn finds the same tree from five random states."""
    rng = np.random.default_rng(0)
    kept = 0
    for _ in range(150):
        x = np.column_stack([rng.permutation(24), rng.permutation(24)])
        y = x.sum(axis=1) + rng.normal(scale=8, size=24) > 23
        trees = [one_tree(state, max_depth=10, min_samples_split=2).fit(x, y) for state in range(5)]
        if len({structure(tree) for tree in trees}) == 1:
            kept += 1
            points = rng.integers(24, size=(40, 2))
            expected = [one_tree(5, **setting).fit(x, y).predict_proba(points)[:, 1] for setting in GRID]
            assert np.array_equal(truncated_probabilities(trees[0], points, GRID), expected)
    assert kept >= 20


def one_tree(random_state: int, **setting: int) -> RandomForestClassifier:
    return RandomForestClassifier(1, bootstrap=False, max_features=None, random_state=random_state, **setting)


def structure(fitted: RandomForestClassifier) -> tuple[bytes, bytes]:
    tree = fitted.estimators_[0].tree_
    return tree.feature.tobytes(), tree.threshold.tobytes()


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


@pytest.mark.slow
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
