"""The settings that features and observations depend on, besides traces and labels."""

from typing import TypedDict


class FeatureSettings(TypedDict):
    """A model's keys in the config, which Snakemake compares."""

    trace_after: str | None
    vocabulary: int | None


class SplitSettings(TypedDict):
    """The settings that the split of a benchmark's items depends on, which Snakemake compares."""

    test_share: float
    seed: int
