"""Our forests against scikit-learn's: the same trees, but where two splits are equally good."""

from functools import partial

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from entropy_sentinel.estimators.forest import Forest, fit_grid
from entropy_sentinel.estimators.tree_kernels import NODE

SEED, TREES = 1, 20
GRID = [
    {"max_depth": depth, "min_samples_split": split, "n_estimators": TREES}
    for depth in (3, 5, 10)
    for split in (2, 5, 10)
]
grow = partial(fit_grid, seed=SEED)


def reference(setting: dict, balanced: bool = False, seed: int = SEED) -> RandomForestClassifier:
    weights = "balanced_subsample" if balanced else None
    return RandomForestClassifier(class_weight=weights, random_state=seed, **setting)


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    return rows(240, 4)


def rows(n: int, n_features: int, seed: int = 7) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, n_features))
    return x, x[:, 0] + 0.5 * x[:, -1] ** 2 + rng.normal(size=n) > 0.4


@pytest.mark.parametrize("setting", GRID, ids=str)
@pytest.mark.parametrize("n_features", [1, 4, 17])
def test_the_forest_is_scikit_learns_to_the_last_digit(setting: dict, n_features: int) -> None:
    x, y = rows(240, n_features)
    others = rows(300, n_features, seed=8)[0]
    expected = reference(setting).fit(x, y)
    result = grow(x, y, False, [setting]).classifier(0)
    assert np.array_equal(result.predict_proba(others)[:, 1], expected.predict_proba(others)[:, 1])
    assert len(result.nodes) == sum(tree.tree_.node_count for tree in expected.estimators_)


def test_equal_and_constant_features_are_drawn_as_scikit_learn_draws_them() -> None:
    """Constant in all rows, constant in some branches, few values, values closer than its tolerance."""
    x, y = rows(400, 12)
    x[:, 1], x[:, 2], x[:, 3] = 3.0, x[:, 3] > 0.5, np.round(x[:, 4])
    x[:, 5], x[:, 6] = 1e-7 * np.round(x[:, 5]), np.where(x[:, 2] > 0, 1.0, x[:, 6])
    others = x[::-1] + 0.01
    for seed in range(5):
        expected = reference(GRID[6], seed=seed).fit(x, y)
        result = fit_grid(x, y, False, [GRID[6]], seed=seed).classifier(0)
        assert np.array_equal(result.predict_proba(others)[:, 1], expected.predict_proba(others)[:, 1])


def test_a_value_at_a_threshold_goes_left_and_the_next_float_right(data) -> None:
    x, y = data
    expected, result = reference(GRID[8]).fit(x, y), grow(x, y, False, [GRID[8]]).classifier(0)
    thresholds = np.concatenate([tree.tree_.threshold for tree in expected.estimators_]).astype(np.float32)
    near = np.concatenate([np.nextafter(thresholds, np.float32(side)) for side in (-9, 9)] + [thresholds])
    points = np.repeat(near[:, None], 4, axis=1)
    assert np.array_equal(result.predict_proba(points)[:, 1], expected.predict_proba(points)[:, 1])


@pytest.mark.parametrize("place", range(len(GRID)))
@pytest.mark.parametrize("balanced", [True, False])
def test_a_narrower_forest_is_part_of_the_widest(data, place: int, balanced: bool) -> None:
    """On one feature a tree draws nothing that matters: the narrower forest is the one grown for its setting alone."""
    x, y = data[0][:, :1], data[1]
    nested = grow(x, y, balanced, GRID)
    narrower = nested.classifier(place)
    alone = grow(x, y, balanced, [GRID[place]]).classifier(0)
    assert len(narrower.nodes) == len(alone.nodes)
    for result in (narrower.predict_proba(x)[:, 1], nested.probabilities(x)[place]):
        assert np.array_equal(result, alone.predict_proba(x)[:, 1])
        if not balanced:
            assert np.array_equal(result, reference(GRID[place]).fit(x, y).predict_proba(x)[:, 1])


def test_all_narrower_forests_are_read_off_as_they_are_cut_out(data) -> None:
    x, y = data
    nested = grow(x, y, True, GRID)
    for place in range(len(GRID)):
        assert np.array_equal(nested.probabilities(x)[place], nested.classifier(place).predict_proba(x)[:, 1])


def test_a_hand_made_forest() -> None:
    """Two trees: the first splits feature 1 at 0.5, its right child feature 0 at 2; the second is one leaf."""
    nodes = np.array(
        [(0.5, 1, 1), (np.inf, 1, 0), (2.0, 3, 0), (np.inf, 3, 0), (np.inf, 4, 0), (np.inf, 5, 0)], dtype=NODE
    )
    forest = Forest(nodes, np.array([0.5, 0.25, 0.6, 0.0, 1.0, 0.75]), np.array([0, 5], dtype=np.uint32), 2)
    x = np.array([[9.0, 0.5], [2.0, 0.6], [2.1, 0.6]])
    assert forest.predict_proba(x)[:, 1].tolist() == [(0.25 + 0.75) / 2, (0.0 + 0.75) / 2, (1.0 + 0.75) / 2]
    with pytest.raises(ValueError, match="a node or a feature"):
        forest.predict_proba(x[:, :1])
    nodes["left"][2] = 9
    with pytest.raises(ValueError, match="a node or a feature"):
        forest.predict_proba(x)


def test_forged_forests_are_not_walked() -> None:
    """Machine code does not look where it reads: a last leaf that sends large values on, and a depth without end."""
    nodes = np.array([(0.5, 1, 0), (np.inf, 1, 0), (2.0, 2, 0)], dtype=NODE)
    roots, x = np.array([0], dtype=np.uint32), np.array([[9.0]])
    with pytest.raises(ValueError, match="a node or a feature"):
        Forest(nodes, np.zeros(3), roots, 2).predict_proba(x)
    nodes["threshold"][2] = np.inf
    Forest(nodes, np.zeros(3), roots, 2).predict_proba(x)
    with pytest.raises(ValueError, match="its 3 nodes cannot be 4611686018427387904 deep"):
        Forest(nodes, np.zeros(3), roots, 2**62).predict_proba(x)


@pytest.mark.long
@pytest.mark.parametrize("n_features", [3, 10])
def test_balanced_forests_are_no_further_from_scikit_learns_than_these_from_themselves(n_features: int) -> None:
    """Mean P(correct) of six domains by eight seeds of either. Equally good splits are chosen by rounding errors there,
    and so the trees differ; their distribution does not."""
    x, y = rows(500, n_features)
    domains = [rows(300, n_features, seed=seed)[0] + (seed - 12.5) / 3 for seed in range(10, 16)]
    setting = GRID[6] | {"n_estimators": 100}
    ours, theirs = np.empty((2, 8, 6))
    for seed in range(8):
        result = fit_grid(x, y, True, [setting], seed=seed).classifier(0)
        expected = reference(setting, balanced=True, seed=seed).fit(x, y)
        ours[seed] = [result.predict_proba(domain)[:, 1].mean() for domain in domains]
        theirs[seed] = [expected.predict_proba(domain)[:, 1].mean() for domain in domains]
    own_spread = np.abs(theirs[:, None] - theirs)[~np.eye(8, dtype=bool)]
    assert np.abs((ours - theirs).mean()) < 0.003
    assert np.abs((ours - theirs).mean(axis=0)).max() < 0.006
    assert np.median(np.abs(ours - theirs)) <= np.median(own_spread)
    assert np.abs(ours - theirs).max() <= own_spread.max()


@pytest.mark.long
def test_scores_of_a_search_are_those_of_scikit_learns(data) -> None:
    """Mean ROC-AUC per setting over eight seeds: the narrower forests have other random numbers alone."""
    from sklearn.metrics import roc_auc_score

    x, y = data
    folds = StratifiedKFold(5, shuffle=True, random_state=42)
    grid = {"max_depth": [3, 5, 10], "min_samples_split": [2, 5, 10]}
    ours, theirs = np.zeros((2, 8, len(GRID)))
    for seed in range(8):
        for train, test in folds.split(x, y):
            p = fit_grid(x[train], y[train], False, GRID, seed=seed).probabilities(x[test])
            ours[seed] += [roc_auc_score(y[test], one) / 5 for one in p]
        forest = RandomForestClassifier(TREES, random_state=seed)
        search = GridSearchCV(forest, grid, scoring="roc_auc", cv=folds, refit=False).fit(x, y)
        theirs[seed] = search.cv_results_["mean_test_score"]
    assert np.array_equal(ours[:, 6].round(12), theirs[:, 6].round(12)), "the widest setting is the same forest"
    error = (ours - theirs).std(axis=0) / np.sqrt(8)
    assert (np.abs((ours - theirs).mean(axis=0)) <= 3 * error + 1e-12).all()
