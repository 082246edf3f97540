"""Family `forest`: a random forest on a feature set, with a grid over depth and split size."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np

from entropy_sentinel.estimators.classifier import SAVED as CONFIGURATION
from entropy_sentinel.estimators.classifier import ProbabilityEstimator, fit_configuration
from entropy_sentinel.estimators.training_rows import TrainingRows
from entropy_sentinel.estimators.tree_kernels import NODE, grow_forest, mean_values, stopped_values

Setting = dict[str, Any]


@dataclass(frozen=True)
class Forest:
    """A random forest; its trees are stored in sequence.

    nodes: (n_nodes,) of dtype NODE, values: (n_nodes,) P(correct), roots: (n_trees,), depth: that of the deepest leaf.
    """

    nodes: np.ndarray
    values: np.ndarray
    roots: np.ndarray
    depth: int

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        """P(incorrect) and P(correct), (n_rows, 2); raises ValueError for invalid nodes, as in a forged file."""
        p = self.mean(self.values[:, None], x)[:, 0]
        return np.column_stack([1 - p, p])

    def mean(self, values: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The mean over trees of `values` (n_nodes, n_values) at each row's leaf, (n_rows, n_values)."""
        n_nodes, lefts = len(self.nodes), self.nodes["left"].astype(np.int64)
        # Values above the threshold go to the node after the left child; no value is above infinity.
        last = max(self.roots.max(), (lefts + (self.nodes["threshold"] < np.inf)).max())
        if last >= n_nodes or len(values) != n_nodes or self.nodes["feature"].max() >= x.shape[1]:
            raise ValueError("forest: a node refers to a node or a feature that does not exist")
        if self.depth >= n_nodes:
            raise ValueError(f"forest: its {n_nodes} nodes cannot be {self.depth} deep")
        means: np.ndarray = mean_values(
            self.nodes, self.roots, self.depth, np.ascontiguousarray(values), _cast_float32(x)
        )
        return means


@dataclass(frozen=True)
class NestedForests:
    """The forests of a grid, derived from the widest forest by truncating its trees at each setting's limits.

    A tree stops at nodes that are too deep or have too few rows; above them its splits do not depend on these limits.
    So these forests differ from forests grown per setting only in their random numbers.

    levels: (n_nodes,) the depth of each node of `widest`, sizes: (n_nodes,) its number of rows, grid: the settings.
    """

    widest: Forest
    levels: np.ndarray
    sizes: np.ndarray
    grid: Sequence[Setting]

    def probabilities(self, x: np.ndarray) -> np.ndarray:
        """P(correct) for each setting, (n_settings, n_rows)."""
        max_depths = np.array([setting["max_depth"] for setting in self.grid])
        min_splits = np.array([setting["min_samples_split"] for setting in self.grid])
        nodes, values = self.widest.nodes, self.widest.values
        stopped = stopped_values(nodes, values, self.levels, self.sizes, max_depths, min_splits)
        return self.widest.mean(stopped, x).T

    def classifier(self, place: int) -> Forest:
        """The forest of one setting, by its position in the grid."""
        max_depth, min_split = self.grid[place]["max_depth"], self.grid[place]["min_samples_split"]
        nodes, numbers = self.widest.nodes.copy(), np.arange(len(self.levels), dtype=np.uint32)
        # A leaf is its own left child.
        stops = (self.levels >= max_depth) | (self.sizes < min_split) | (nodes["left"] == numbers)
        # Nodes at which trees stop become leaves.
        nodes["left"][stops] = numbers[stops]
        nodes["threshold"][stops] = np.inf
        nodes["feature"][stops] = 0
        # Nodes below them are dropped, and the others are renumbered.
        kept = np.zeros(len(nodes), dtype=bool)
        parents = self.widest.roots
        while len(parents):
            kept[parents] = True
            lefts = nodes["left"][parents[~stops[parents]]]
            parents = np.concatenate([lefts, lefts + 1])
        new_numbers = np.cumsum(kept, dtype=np.uint32) - 1
        nodes["left"] = new_numbers[nodes["left"]]
        roots, depth = new_numbers[self.widest.roots], int(self.levels[kept].max())
        return Forest(nodes[kept], self.widest.values[kept], roots, depth)


SAVED = (*CONFIGURATION, Forest)


def fit(name: str, rows: TrainingRows) -> ProbabilityEstimator:
    """Fit a configuration of this family."""
    settings = rows.settings
    grid = []
    for max_depth, min_split in product(settings.max_depth, settings.min_samples_split):
        grid.append({"max_depth": max_depth, "min_samples_split": min_split, "n_estimators": settings.trees})
    return fit_configuration(name, rows, grid, partial(fit_grid, seed=settings.seed))


def fit_grid(x: np.ndarray, y: np.ndarray, balanced: bool, grid: Sequence[Setting], *, seed: int) -> NestedForests:
    """Grow the widest forest of a grid, whose settings all have the same number of trees.

    x: (n_rows, n_features), y: (n_rows,) bool; balanced by class weights within the sample of each tree.
    """
    max_depth = max(setting["max_depth"] for setting in grid)
    min_split = min(setting["min_samples_split"] for setting in grid)
    columns = _cast_float32(x.T)
    counts, splitter_seeds = _draw_rows(len(y), grid[0]["n_estimators"], seed)
    # A binary tree has fewer nodes than twice its leaves, and than 2 to the number of its levels.
    most_nodes = len(splitter_seeds) * min(2 * len(y), 2 ** (max_depth + 1))
    nodes, values, roots = np.empty(most_nodes, NODE), np.empty(most_nodes), np.empty(len(splitter_seeds), np.uint32)
    levels, sizes = np.empty((2, most_nodes), np.int32)
    order = np.argsort(columns, axis=1).astype(np.int32)
    n_tried = int(np.sqrt(len(columns)))  # features per split, as scikit-learn's default
    limits = (max_depth, min_split, n_tried)
    n_nodes = grow_forest(
        columns, order, y, counts, balanced, *limits, splitter_seeds, nodes, values, levels, sizes, roots
    )
    levels, sizes = levels[:n_nodes].copy(), sizes[:n_nodes].copy()
    forest = Forest(nodes[:n_nodes].copy(), values[:n_nodes].copy(), roots, int(levels.max()))
    return NestedForests(forest, levels, sizes, grid)


def _cast_float32(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x, dtype=np.float32)


@lru_cache(maxsize=4)
def _draw_rows(n_rows: int, n_trees: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Each tree's number of draws of each row, (n_trees, n_rows), and the seed of its splits, (n_trees,).

    As in scikit-learn, a tree's seed begins two generators: of its rows, and of its splits.
    """
    forest_generator = np.random.RandomState(seed)
    counts, splitter_seeds = [], []
    for _ in range(n_trees):
        tree_seed = forest_generator.randint(2**31 - 1)
        drawn = np.random.RandomState(tree_seed).randint(0, n_rows, n_rows)
        counts.append(np.bincount(drawn, minlength=n_rows))
        splitter_seeds.append(np.random.RandomState(tree_seed).randint(2**31 - 1))
    return np.array(counts, dtype=np.int32), np.array(splitter_seeds)
