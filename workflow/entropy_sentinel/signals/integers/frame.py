"""Pass `integers`: the integers that a model may answer a question with, and their probabilities.

`passes/integers/{model}/{benchmark}.parquet`, a row per response. The prompt alone decides: the first response to an
item has its distribution, and the others have a reason.
"""

import polars as pl

from entropy_sentinel.frames.contract import Column, Contract
from entropy_sentinel.frames.response import RESPONSE, RESPONSE_COLUMNS

INTEGERS = Contract(
    stage="integers",
    key=RESPONSE,
    columns=(
        *RESPONSE_COLUMNS,
        Column(
            "values",
            pl.List(pl.Int32),
            "(n,) integers that may be the whole answer, rising; null with a reason",
            nullable=True,
        ),
        Column(
            "logprobs",
            pl.List(pl.Float64),
            "(n,) log-probability that the answer is this integer and nothing else, of everything that the model could "
            "say: the probabilities sum up to 1 - missing",
            "nats",
            nullable=True,
        ),
        Column(
            "missing",
            pl.Float64,
            "probability of all else: answers that are no integer alone, tokens that are not among the 20 most likely, "
            "and beginnings that were not followed (signals.integers.prune_below)",
            "1",
            nullable=True,
        ),
        Column(
            "first_values",
            pl.List(pl.Int32),
            "(m,) integers among the 20 most likely first tokens, as the paper takes them, rising: whatever follows. "
            "Null with a reason, empty where none is an integer",
            nullable=True,
        ),
        Column(
            "first_logprobs",
            pl.List(pl.Float64),
            "(m,) log-probability of these first tokens; of several that are the same integer, their sum's",
            "nats",
            nullable=True,
        ),
        Column("reason", pl.String, "why there is no distribution; null where there is one", nullable=True),
    ),
)
