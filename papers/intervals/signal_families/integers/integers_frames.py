"""Family `integers`: the model's distribution over the integers that may be its answer.

The pass writes `passes/integers/{model}/{benchmark}.parquet`, a row per response. Only the prompt matters: the first
response to an item has its distribution, and the others have a reason.
"""

import polars as pl

from entropy_sentinel.schemas.contract import Column, Contract
from entropy_sentinel.schemas.response_schema import RESPONSE, RESPONSE_COLUMNS

INTEGERS = Contract(
    stage="integers",
    key=RESPONSE,
    columns=(
        *RESPONSE_COLUMNS,
        Column(
            "values",
            pl.List(pl.Int32),
            "(n,) integers that may be the whole answer, ascending; null with a reason",
            nullable=True,
        ),
        Column(
            "logprobs",
            pl.List(pl.Float64),
            "(n,) log-probability that the answer is exactly this integer, among everything that the model could "
            "say: the probabilities sum up to 1 - missing",
            "nats",
            nullable=True,
        ),
        Column(
            "missing",
            pl.Float64,
            "probability of everything else: answers that are more than an integer, tokens outside the 20 most "
            "likely, and beginnings that were not followed (signals.integers.prune_below)",
            "1",
            nullable=True,
        ),
        Column(
            "first_values",
            pl.List(pl.Int32),
            "(m,) integers among the 20 most likely first tokens, as in the paper, ascending, whatever follows. "
            "Null with a reason, empty if there is no integer",
            nullable=True,
        ),
        Column(
            "first_logprobs",
            pl.List(pl.Float64),
            "(m,) log-probability of these first tokens; tokens for the same integer are added up",
            "nats",
            nullable=True,
        ),
        Column("reason", pl.String, "why there is no distribution; null if there is one", nullable=True),
    ),
)
