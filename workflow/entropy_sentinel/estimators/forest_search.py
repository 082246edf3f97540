"""Grid search of a random forest over depth and split size, from one forest per fold instead of one per setting.

A tree stops at a node that is too deep or holds too few samples; above such nodes its splits do not depend on the
two limits. So the widest setting is grown once per fold, and every narrower setting is read off the same trees, each
row taking the value of the first node at which the narrower tree would have stopped. The trees differ from those that
scikit-learn would grow per setting in their random numbers alone.
"""

from collections.abc import Callable, Sequence

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import BaseCrossValidator


def search_forest(
    make_forest: Callable[..., RandomForestClassifier],
    x: np.ndarray,
    y: np.ndarray,
    folds: BaseCrossValidator,
    grid: Sequence[dict[str, int]],
) -> dict[str, int]:
    """The setting of `grid` with the largest mean ROC-AUC over `folds`; the first of equals.

    `make_forest(**setting)` gives an unfitted forest; settings hold max_depth and min_samples_split; x is
    (n_rows, n_features), y (n_rows,) bool with both classes in every fold.
    """
    widest = grid[0] | {
        "max_depth": max(setting["max_depth"] for setting in grid),
        "min_samples_split": min(setting["min_samples_split"] for setting in grid),
    }
    scores = np.zeros(len(grid))
    for train, test in folds.split(x, y):
        forest = make_forest(**widest).fit(x[train], y[train])
        probabilities = truncated_probabilities(forest, x[test], grid)
        scores += [roc_auc_score(y[test], probability) for probability in probabilities]
    return grid[int(np.argmax(scores))]


def truncated_probabilities(
    forest: RandomForestClassifier, x: np.ndarray, grid: Sequence[dict[str, int]]
) -> np.ndarray:
    """P(True) of a fitted forest as it would be under each narrower setting, (n_settings, n_rows)."""
    x = np.asarray(x, dtype=np.float32)  # what scikit-learn's trees compare with their thresholds
    depth_limits = np.array([setting["max_depth"] for setting in grid])
    sample_limits = np.array([setting["min_samples_split"] for setting in grid])
    total = np.zeros((len(grid), len(x)))
    for member in forest.estimators_:
        tree = member.tree_
        total += _truncated_values(tree, depth_limits, sample_limits)[:, tree.apply(x)]
    return total / len(forest.estimators_)


def _truncated_values(tree, depth_limits: np.ndarray, sample_limits: np.ndarray) -> np.ndarray:
    """P(True) at every node's first stopped ancestor (or itself), (n_settings, n_nodes)."""
    values = np.repeat(tree.value[:, 0, 1][None, :], len(depth_limits), axis=0)
    stopped = tree.n_node_samples[None, :] < sample_limits[:, None]
    nodes, depth = np.array([0]), 0
    while nodes.size:
        stopped[:, nodes] |= depth >= depth_limits[:, None]
        parents = nodes[tree.children_left[nodes] >= 0]
        for children in (tree.children_left[parents], tree.children_right[parents]):
            inherited = stopped[:, parents]
            values[:, children] = np.where(inherited, values[:, parents], values[:, children])
        nodes = np.concatenate([tree.children_left[parents], tree.children_right[parents]])
        depth += 1
    return values
