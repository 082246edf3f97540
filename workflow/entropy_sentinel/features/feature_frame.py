"""Stage `feature`: 17 statistics per response, `features/{model}/{benchmark}.parquet`."""

import polars as pl

from entropy_sentinel.features.catalogue import CATALOGUE, EXTRAS
from entropy_sentinel.frames.contract import Column, Contract
from entropy_sentinel.frames.response import RESPONSE, RESPONSE_COLUMNS

FEATURE_FRAME = Contract(
    stage="features",
    open=True,
    key=RESPONSE,
    columns=(
        *RESPONSE_COLUMNS,
        Column("n_tokens", pl.UInt32, "length of the response", "tokens"),
        Column("displaced_steps", pl.UInt32, "steps whose entropy may lack a term (frames/generation.py)", "tokens"),
        Column("finish_reason", pl.String, "`stop` where the response is whole (frames/generation.py)"),
        *(one.column for one in CATALOGUE.values()),
        Column(
            "trace_tokens", pl.UInt32, "tokens that the features are over: all, or those after the thinking", "tokens"
        ),
        Column("cut_off", pl.Boolean, "whether the response ended before its end (frames/generation.py)"),
        *(one.column for one in EXTRAS.values()),
        Column("clamped_tokens", pl.UInt32, "sampled tokens whose log-probability was -inf or <= -9999", "tokens"),
        Column("reason", pl.String, "why the features are null; null where there are features", nullable=True),
    ),
)
