"""Frames of features and labels, as estimators take them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.features.feature_registry import FEATURES

SETTINGS: dict[str, Any] = {
    "seed": 42,
    "folds": 5,
    "trees": 10,
    "max_depth": [3, 5],
    "min_samples_split": [2, 10],
    "hidden_layers": [[5], [8, 4]],
}


def rows(n: int = 200, seed: int = 0) -> tuple[pl.DataFrame, np.ndarray]:
    """Features of n responses and whether they are correct: less likely with se_sum and max."""
    rng = np.random.default_rng(seed)
    x = rng.gamma(2, 3, size=(n, len(FEATURES)))
    frame = pl.DataFrame(x, schema=list(FEATURES), orient="row")
    frame = frame.with_columns(pl.col("lntp", "mtp") / (1 + pl.col("lntp", "mtp")))  # in [0, 1], as they are
    return frame, x[:, FEATURES.index("se_sum")] + x[:, 2] + rng.normal(scale=4, size=n) < 12


def frame(**columns: Sequence[float] | np.ndarray) -> pl.DataFrame:
    """Features, 0 but for those given."""
    n = len(next(iter(columns.values())))
    return pl.DataFrame({name: columns.get(name, [0.0] * n) for name in FEATURES})
