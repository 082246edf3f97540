"""Family `beam_search`: the likeliest responses to an item by beam search, and the improbability of the likeliest.

The pass writes `passes/beam_search/{model}/{benchmark}.parquet`, a row per response. There is one search per item, so
all responses to it have the same beams and the same value.
"""

import polars as pl

from entropy_sentinel.schemas.contract import Column, Contract
from entropy_sentinel.schemas.response_schema import RESPONSE, RESPONSE_COLUMNS

BEAMS = Contract(
    stage="beam_search",
    key=RESPONSE,
    columns=(
        *RESPONSE_COLUMNS,
        Column("texts", pl.List(pl.String), "(B,) the beams, the likeliest first; null with a reason", nullable=True),
        Column(
            "logprobs",
            pl.List(pl.Float64),
            "(B,) log-probability of each beam as a whole, its end included, before temperature",
            "nats",
            nullable=True,
        ),
        Column("lengths", pl.List(pl.UInt32), "(B,) their tokens, the end included", "tokens", nullable=True),
        Column(
            "finish_reasons",
            pl.List(pl.String),
            "(B,) `stop`, or `length` if a beam was truncated: its probability is then that of its beginning",
            nullable=True,
        ),
        Column("reason", pl.String, "why there are no beams; null if there are some", nullable=True),
    ),
)
