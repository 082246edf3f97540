"""Stage `labels`: a judge's verdicts, `labels/{judge}/{model}/{benchmark}.parquet`."""

import polars as pl

from entropy_sentinel.frames.contract import Column, Contract
from entropy_sentinel.frames.response import ITEM_COLUMN, SAMPLE, SAMPLE_COLUMN

# Raised by hand when verdicts of all judges move, for the reason given at GENERATION_VERSION: a judge may cost money.
# Where those of one kind move, that kind gets a VERSION of its own, in judges/settings.py.
LABEL_VERSION = 1

# The reason of a response to an item without a reference: no judge is shown it.
NO_REFERENCE = "no reference"

LABELS = Contract(
    stage="labels",
    key=SAMPLE,
    columns=(
        ITEM_COLUMN,
        SAMPLE_COLUMN,
        Column(
            "label",
            pl.Boolean,
            "whether the response is correct; null where the judge cannot say",
            nullable=True,
        ),
        Column("reason", pl.String, "why the label is null; null where there is a label", nullable=True),
        Column("answer", pl.String, "the final answer that the judge compared", nullable=True),
        Column(
            "decided_by",
            pl.String,
            "of a judge made of others: those whose label this is; null for other judges and where there is no label",
            nullable=True,
            added=True,
        ),
        Column(
            "caution",
            pl.String,
            "what in the response spoke to the judge itself, and what was done about it; null where nothing did",
            nullable=True,
            added=True,
        ),
    ),
)
