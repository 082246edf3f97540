"""Scores as events of OpenTelemetry's conventions for generative models, `gen_ai.evaluation.result`."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from entropy_sentinel.monitor.estimating.verdict_coverage import explain_verdict

EVENT, NAME = "gen_ai.evaluation.result", "entropy_sentinel.p_correct"


def make_events(scores: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield an event for each row of the result of `score`; JSON-serialisable.

    The label is the verdict that covers the response. A response without P(correct) has the code of the reason as
    `error.type`, and the reason as explanation.
    """
    for row in scores.iter_rows(named=True):
        attributes = {
            "gen_ai.evaluation.name": NAME,
            "gen_ai.evaluation.score.value": row["p_correct"],
            "gen_ai.evaluation.score.label": row["verdict"],
            "gen_ai.evaluation.explanation": row["reason"] or _explain_row(row),
            "gen_ai.response.id": row["item_id"],
            "gen_ai.response.model": row["model"],
            "error.type": row["reason_code"],
        }
        filled = {name: value for name, value in attributes.items() if value is not None}
        yield {"event_name": EVENT, "attributes": filled}


def _explain_row(row: Mapping[str, Any]) -> str | None:
    """More than the label says; null if it says everything."""
    words = explain_verdict(row["verdict"], row["familiarity_reason"])
    return words if words != row["verdict"] else None
