"""Family `sar`: the uncertainty of the answers to an item, weighted by relevance to their meaning.

Duan et al., Shifting Attention to Relevance (2024), as in LM-Polygraph. A cross-encoder measures similarity. A
token's weight is the dissimilarity of the answer with and without it, both after the question. An answer's probability
includes those of similar answers.
"""

from typing import Any, cast

import polars as pl
from pydantic import Field

from entropy_sentinel.core.section_base import Positive, Text
from entropy_sentinel.schemas.signal_schema import Family, Signal
from entropy_sentinel.study.semantic_clustering.backend_settings import TextModel

_USUAL = "cross-encoder/stsb-roberta-large"


class Sar(TextModel):
    """SAR: the uncertainty of the answers to an item, weighted by relevance to their meaning."""

    model: Text | None = Field(None, description=f"Hugging Face id of the cross-encoder; null for the usual, {_USUAL}")
    samples: Positive | None = Field(
        30,
        description="number of first answers to an item that are compared; null for all. Their pairs grow with the "
        "square",
    )

    @property
    def usual(self) -> str:
        """The model of the paper and of LM-Polygraph."""
        return _USUAL


_SAR = "shifting attention to relevance, of all answers to an item; the same for all its responses"


def compute(
    traces: pl.LazyFrame, benchmark: str, samples: int | None, **weights: Any
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A row per response in `traces`, in order: `sar`, or `sar_reason` if null; and the provenance of the similarities.

    `benchmark` is the file of the items, `samples` the number of first answers to use, `weights` are WeightsSettings.
    """
    from entropy_sentinel.study.semantic_clustering.backend_settings import WeightsSettings
    from papers.ambiguity.signal_families.sar.relevance import compute_item_sar, load_similarity

    similarity = load_similarity(cast(WeightsSettings, weights))
    values = compute_item_sar(traces, benchmark, similarity, samples)
    return values, {"similarity": similarity.provenance}


FAMILY = Family(
    "how unsure the answers to an item are, by the relevance of their tokens and their likeness: by a cross-encoder",
    (Signal("sar", "SAR", _SAR, "nats"),),
    per_item=True,
    settings=Sar,
    compares_texts=True,
    compute=compute,
)
