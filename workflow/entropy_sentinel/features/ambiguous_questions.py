"""How many questions look ambiguous, by the signal `stable_classes`, the same for all responses to a question."""

from typing import Any

import polars as pl

from entropy_sentinel.statistics.ambiguity import SEVERAL

_STABLE = "stable_classes"


def ambiguous_questions(responses: pl.DataFrame) -> tuple[int, int] | None:
    """How many questions get several answers again and again, and of how many it is known; null where it is of none.

    `responses` have the column `item_id`; `stable_classes` is there where a study makes it.
    """
    if _STABLE not in responses.columns:
        return None
    # A log may have it as text.
    known = responses.with_columns(pl.col(_STABLE).cast(pl.Float64, strict=False)).drop_nulls(_STABLE).unique("item_id")
    return (int((known[_STABLE] >= SEVERAL).sum()), len(known)) if len(known) else None


def ambiguous_shares(responses: pl.DataFrame, domain: str = "benchmark") -> dict[str, dict[str, Any]] | None:
    """By domain the share of such questions and `n_questions`, those of which it is known; null where of none."""
    found = {}
    for (name,), rows in responses.group_by(domain, maintain_order=True):
        if counts := ambiguous_questions(rows):
            found[str(name)] = {"share": counts[0] / counts[1], "n_questions": counts[1]}
    return found or None
