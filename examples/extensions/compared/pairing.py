"""The difference of two models' accuracies on the same items."""

from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.stats import t as student

LEVEL = 0.95


class Difference(NamedTuple):
    """Accuracies of two models on their common items, and the first minus the second with a confidence interval.

    Accuracies are null without common items, limits if the items do not show how much differences vary.
    """

    n_items: int
    first: float | None
    second: float | None
    difference: float | None
    lower: float | None
    upper: float | None


def paired_difference(first: pl.DataFrame, second: pl.DataFrame, level: float = LEVEL) -> Difference:
    """Compare two frames of labels (item_id, label) by item: the mean label of each, averaged over several responses.

    Items without a label from both models do not count. The interval is Student's, over the differences of the items,
    because answers to the same item are correlated. Differences that are all equal have no interval.
    """
    both = _by_item(first).join(_by_item(second), on="item_id", suffix="_second")
    if both.is_empty():
        return Difference(0, None, None, None, None, None)
    values = (both["label"] - both["label_second"]).to_numpy()
    n, mean = len(values), float(values.mean())
    lower, upper = None, None
    if n > 1 and (spread := float(values.std(ddof=1))) > 0:
        half = float(student.ppf((1 + level) / 2, n - 1)) * spread / float(np.sqrt(n))
        lower, upper = mean - half, mean + half
    accuracies = [float(both[name].to_numpy().mean()) for name in ("label", "label_second")]
    return Difference(n, accuracies[0], accuracies[1], mean, lower, upper)


def _by_item(labels: pl.DataFrame) -> pl.DataFrame:
    return labels.drop_nulls("label").group_by("item_id", maintain_order=True).agg(pl.col("label").mean())
