"""Pass `beam_search`: the likeliest responses to an item, as a beam search finds them.

`passes/beam_search/{model}/{benchmark}.parquet`, a row per response; those to one item have the same beams.
"""

import polars as pl

from entropy_sentinel.frames.contract import Column, Contract
from entropy_sentinel.frames.response import RESPONSE, RESPONSE_COLUMNS

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
            "(B,) `stop`, or `length` where a beam was not at its end: its probability is that of its beginning",
            nullable=True,
        ),
        Column("reason", pl.String, "why there are no beams; null where there are some", nullable=True),
    ),
)
