"""Frames of contract OBSERVATIONS at random but reproducible."""

import numpy as np
import polars as pl

from entropy_sentinel.features.feature_registry import EXTRAS, FEATURES
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS

# What a response of ten tokens has beside its 17 features, in the order of the contract.
BESIDE = {
    "trace_tokens": 10,
    "cut_off": False,
    "clamped_tokens": 0,
    "displaced_steps": 0,
    **dict.fromkeys(EXTRAS, 0.5),
    "entropy_error_bound": None,
    "kind": None,
    "buckets": None,
    "buckets_of": None,
}

SETTINGS = {
    "seed": 42,
    "folds": 5,
    "trees": 10,
    "max_depth": [3],
    "min_samples_split": [2],
    "hidden_layers": [[5]],
    "estimators": ["forest-10d-balanced-isotonic", "baseline-se_sum"],
}


def observations(benchmark: str, n: int = 60, **columns: object) -> pl.DataFrame:
    """Rows of one benchmark; se_sum decides the label but for noise. Every fifth item is a test item."""
    rng = np.random.default_rng(sum(benchmark.encode()))
    features = {name: rng.gamma(2, 1, size=n) for name in FEATURES}
    data = {
        "model": ["m"] * n,
        "benchmark": [benchmark] * n,
        "item_id": [f"{benchmark}-{number:05d}" for number in range(n)],
        "sample": [0] * n,
        "split": ["test" if number % 5 == 0 else "train" for number in range(n)],
        "label": features["se_sum"] + rng.normal(size=n) < 2,
        "label_reason": [None] * n,
        "n_tokens": [10] * n,
        "finish_reason": ["stop"] * n,
        "feature_reason": [None] * n,
        **features,
        **{name: [value] * n for name, value in BESIDE.items()},
    }
    return OBSERVATIONS.frame(data | columns)
