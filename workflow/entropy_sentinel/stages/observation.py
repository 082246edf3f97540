"""Stage `observations`: all that an estimator sees of one model, joined."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from entropy_sentinel.frames.benchmark import BENCHMARKS
from entropy_sentinel.frames.contract import read_provenance
from entropy_sentinel.frames.errors import ProvenanceError
from entropy_sentinel.frames.feature import FEATURE_FRAME
from entropy_sentinel.frames.label import LABELS
from entropy_sentinel.frames.observation import OBSERVATIONS
from entropy_sentinel.statistics.splits import train_or_test

# What must be the same in all traces that an estimator learns from or is applied to.
SIGNAL = ("logprobs_mode", "top_k_returned", "sampling", "commit")


def write_observations(
    benchmarks: Sequence[str],
    names: Sequence[str],
    labels: Sequence[str],
    features: Sequence[str],
    split: Mapping[str, Any],
    output: str,
) -> None:
    """Join the files of one model, one of each kind per benchmark in `names`, into one.

    `split` holds `test_share` and `seed`. Raises ProvenanceError where the traces' log-probabilities are not of one
    kind, or the weights not of one commit.
    """
    signals = {path: {key: read_provenance(path).get(key) for key in SIGNAL} for path in features}
    first = next(iter(signals))
    for path, signal in signals.items():
        if signal != signals[first]:
            raise ProvenanceError(
                f"{path}: its traces are of another kind than those of {first}: {signal} against {signals[first]}; "
                "generate both with the same settings"
            )
    parts = [
        observe(name, BENCHMARKS.read(benchmark), LABELS.read(label), FEATURE_FRAME.read(feature), **split)
        for name, benchmark, label, feature in zip(names, benchmarks, labels, features, strict=True)
    ]
    OBSERVATIONS.write(pl.concat(parts), output, {"signal": signals[first], "split": dict(split)})


def observe(
    name: str,
    items: pl.DataFrame,
    labels: pl.DataFrame,
    features: pl.DataFrame,
    *,
    test_share: float,
    seed: int,
) -> pl.DataFrame:
    """Join one benchmark's features and labels on item and sample; a frame of contract OBSERVATIONS."""
    key = ["item_id", "sample"]
    return (
        features.rename({"reason": "feature_reason"})
        .join(
            labels.rename({"reason": "label_reason"}),
            on=key,
            how="left",
            maintain_order="left",
            validate="1:1",
        )
        .join(train_or_test(items, test_share, seed), on="item_id", how="left", maintain_order="left")
        .with_columns(benchmark=pl.lit(name))
        .select(OBSERVATIONS.schema.names())
    )
