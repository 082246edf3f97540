"""Contracts of this analysis' files per model: `candidates/{model}.parquet` and `selections/{model}.parquet`."""

import polars as pl

from entropy_sentinel.schemas.contract import Column, Contract
from entropy_sentinel.schemas.response_schema import ITEM_COLUMN, MODEL_COLUMN

_ITEM = (
    MODEL_COLUMN,
    Column("benchmark", pl.String, "the item's benchmark"),
    ITEM_COLUMN,
)

CANDIDATES = Contract(
    stage="candidates",
    key=("model", "benchmark", "item_id"),
    columns=(
        *_ITEM,
        Column("question", pl.String, "what the model is asked"),
        Column("reference", pl.String, "the correct answer, as the benchmark gives it"),
        Column("n_tokens", pl.UInt32, "length of the first response", "tokens"),
        Column("label", pl.Boolean, "whether it is correct; null if the judge cannot decide", nullable=True),
        Column("passes", pl.UInt16, "number of correct tries; null with a reason", "responses", nullable=True),
        Column("pass_rate", pl.Float64, "passes / tries; null with a reason", "1", nullable=True),
        Column("pass_rate_reason", pl.String, "why there is no pass rate", nullable=True),
        Column("eas", pl.Float64, "entropy area score of this response; null with a reason", "bits", nullable=True),
        Column("eas_reason", pl.String, "why there is none", nullable=True),
    ),
)

SELECTIONS = Contract(
    stage="selections",
    key=("model", "strategy", "benchmark", "item_id"),
    columns=(
        *_ITEM,
        Column("strategy", pl.String, "how it was selected"),
        Column("rank", pl.UInt32, "place in the selection, from 1"),
        Column("score", pl.Float64, "the score that it was selected by; null for `random`", nullable=True),
        Column("reason", pl.String, "why it was selected"),
    ),
)
