"""Stage `labels`: a judge's verdicts, `labels/{judge}/{model}/{benchmark}.parquet`."""

from enum import StrEnum

import polars as pl

from entropy_sentinel.schemas.contract import Column, Contract
from entropy_sentinel.schemas.response_schema import ITEM_COLUMN, SAMPLE, SAMPLE_COLUMN

# The reason for a response to an item without a reference, which no judge sees.
NO_REFERENCE = "no reference"


class NoAnswer(StrEnum):
    """The reason for a response without a final answer; the judge's key `unanswered` decides its label."""

    EMPTY = "empty response"
    ENDLESS_THINKING = "the thinking has no end"
    NOTHING_AFTER_THINKING = "no answer after the thinking"
    # Labels of earlier versions have this text, also where the response states an answer without a box.
    CUT_OFF = "cut off before a boxed answer"
    REFUSAL = "the response declines to answer"


# In the provenance of a file without any label: the kind of judge that suits the references.
FITTING_KIND = "fitting_kind"

LABELS = Contract(
    stage="labels",
    key=SAMPLE,
    columns=(
        ITEM_COLUMN,
        SAMPLE_COLUMN,
        Column(
            "label",
            pl.Boolean,
            "whether the response is correct; null if the judge cannot decide",
            nullable=True,
        ),
        Column(
            "reason",
            pl.String,
            "why the label is null, or why a response without a final answer is incorrect; otherwise null",
            nullable=True,
        ),
        Column("answer", pl.String, "the final answer that the judge compared", nullable=True),
        Column(
            "decided_by",
            pl.String,
            "for a judge that combines others: the judges whose label this is; otherwise null",
            nullable=True,
            added=True,
        ),
        Column(
            "caution",
            pl.String,
            "text in the response that addressed the judge, and what was done about it; null if there was none",
            nullable=True,
            added=True,
        ),
    ),
)
