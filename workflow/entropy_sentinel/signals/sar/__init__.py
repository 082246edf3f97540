"""Family `sar`: how unsure the answers to an item are, with what matters to their meaning counted more.

Duan et al., Shifting Attention to Relevance (2024), as in LM-Polygraph. A cross-encoder says how alike texts are: a
token matters as much as the answer without it is unlike the answer, both after the question; and an answer counts as
likely as those are that are like it.
"""

from typing import Any, cast

import polars as pl

from entropy_sentinel.frames.signals import Family, Signal
from entropy_sentinel.signals.sar.settings import Sar

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
    from entropy_sentinel.grouping.settings import WeightsSettings
    from entropy_sentinel.grouping.similarity import make
    from entropy_sentinel.signals.sar.relevance import of_items

    similarity = make(cast(WeightsSettings, weights))
    found = of_items(traces, benchmark, similarity, samples)
    return found, {"similarity": similarity.provenance}
