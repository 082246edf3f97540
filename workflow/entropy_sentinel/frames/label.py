"""Stage `labels`: a judge's verdicts, `labels/{judge}/{model}/{benchmark}.parquet`."""

import polars as pl

from entropy_sentinel.frames.contract import Column, Contract
from entropy_sentinel.frames.response import ITEM_COLUMN, SAMPLE, SAMPLE_COLUMN

# The reason for a response to an item without a reference, which no judge sees.
NO_REFERENCE = "no reference"

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
        Column("reason", pl.String, "why the label is null; null if there is a label", nullable=True),
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
