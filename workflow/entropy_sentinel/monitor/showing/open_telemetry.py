"""Scores as events of OpenTelemetry's conventions for generative models, `gen_ai.evaluation.result`."""

from collections.abc import Iterator
from typing import Any

import polars as pl

EVENT, NAME = "gen_ai.evaluation.result", "entropy_sentinel.p_correct"


def events(scores: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield an event for each row of the result of `score`; JSON-serialisable.

    The label is the verdict that covers the response. A response without P(correct) has the reason as `error.type`.
    """
    for row in scores.iter_rows(named=True):
        attributes = {
            "gen_ai.evaluation.name": NAME,
            "gen_ai.evaluation.score.value": row["p_correct"],
            "gen_ai.evaluation.score.label": row["verdict"],
            "gen_ai.response.id": row["item_id"],
            "gen_ai.response.model": row["model"],
            "error.type": row["reason"],
        }
        known = {name: value for name, value in attributes.items() if value is not None}
        yield {"event_name": EVENT, "attributes": known}
