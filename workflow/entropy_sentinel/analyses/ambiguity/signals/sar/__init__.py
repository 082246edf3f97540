"""Family `sar`: how unsure the answers to an item are, with what matters to their meaning counted more.

Duan et al., Shifting Attention to Relevance (2024), as in LM-Polygraph. A cross-encoder says how alike texts are: a
token matters as much as the answer without it is unlike the answer, both after the question; and an answer counts as
likely as those are that are like it.
"""

from typing import Any, cast

import polars as pl
from pydantic import Field

from entropy_sentinel.frames.sections import Positive, Text
from entropy_sentinel.frames.signals import Family, Signal
from entropy_sentinel.grouping.settings import TextModel

_USUAL = "cross-encoder/stsb-roberta-large"


class Sar(TextModel):
    """SAR: how unsure the answers to an item are, with what matters to their meaning counted more."""

    model: Text | None = Field(None, description=f"Hugging Face id of the cross-encoder; null for the usual, {_USUAL}")
    samples: Positive | None = Field(
        30,
        description="of each item so many answers are compared, the first ones; null for all. The pairs grow with the "
        "square",
    )

    @property
    def usual(self) -> str:
        """That of the paper and of LM-Polygraph."""
        return _USUAL


_SAR = "shifting attention to relevance, of all answers to an item; the same for all its responses"

FAMILY = Family(
    "how unsure the answers to an item are, by the relevance of their tokens and their likeness: by a cross-encoder",
    (Signal("sar", "SAR", _SAR, "nats"),),
    per_item=True,
    settings=Sar,
)


def compute(
    traces: pl.LazyFrame, benchmark: str, samples: int | None, **weights: Any
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A row per response, in their order, with `sar_reason` where it is null; and what compared the answers.

    `benchmark` is the file of the items, `weights` are WeightsSettings.
    """
    from entropy_sentinel.analyses.ambiguity.signals.sar.relevance import make, of_items
    from entropy_sentinel.grouping.settings import WeightsSettings

    similarity = make(cast(WeightsSettings, weights))
    values = of_items(traces, benchmark, similarity, samples)
    return values, {"similarity": similarity.provenance}
