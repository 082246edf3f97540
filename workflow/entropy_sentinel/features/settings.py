"""What the features of a model's responses depend on, the traces aside."""

from typing import TypedDict


class FeatureSettings(TypedDict):
    """Keys of a model in the config: what Snakemake compares."""

    trace_after: str | None
    vocabulary: int | None
