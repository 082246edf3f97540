"""What features and observations depend on beside traces and labels."""

from typing import TypedDict


class FeatureSettings(TypedDict):
    """Keys of a model in the config: what Snakemake compares."""

    trace_after: str | None
    vocabulary: int | None


class SplitSettings(TypedDict):
    """What the split of a benchmark's items depends on: what Snakemake compares."""

    test_share: float
    seed: int
