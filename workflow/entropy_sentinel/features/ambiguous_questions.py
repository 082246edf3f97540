"""How many questions look ambiguous, by the signal `stable_classes`, the same for all responses to a question."""

import polars as pl

from entropy_sentinel.statistics.ambiguity import SEVERAL

_STABLE = "stable_classes"


def ambiguous_questions(responses: pl.DataFrame) -> tuple[int, int] | None:
    """How many questions get several answers again and again, and of how many it is known; null where it is of none.

    `responses` have the column `item_id`; `stable_classes` is there where a study makes it.
    """
    if _STABLE not in responses.columns:
        return None
    known = responses.drop_nulls(_STABLE).unique("item_id")
    return (int((known[_STABLE] >= SEVERAL).sum()), len(known)) if len(known) else None
