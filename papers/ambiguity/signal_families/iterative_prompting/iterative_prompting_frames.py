"""Family `iterative_prompting`: how much the model changes its answer if one of its own answers is in the prompt.

The pass writes `passes/iterative_prompting/{model}/{benchmark}.parquet`, a row per response. Of responses to one item
with the same text, only the first one's tokens are measured.
"""

import polars as pl

from entropy_sentinel.schemas.contract import Column, Contract
from entropy_sentinel.schemas.response_schema import RESPONSE, RESPONSE_COLUMNS

ITERATIVE_PROMPTS = Contract(
    stage="iterative_prompting",
    key=RESPONSE,
    columns=(
        *RESPONSE_COLUMNS,
        Column("answer", pl.String, "the response, without white space around it; null with a reason", nullable=True),
        Column(
            "logprob",
            pl.Float64,
            "log-probability of the answer as a whole after the model's own prompt, its end included",
            "nats",
            nullable=True,
        ),
        Column(
            "distinct",
            pl.List(pl.UInt16),
            "(n,) the distinct answers to the item: the first sample that gave each",
            nullable=True,
        ),
        Column(
            "conditional_logprobs",
            pl.List(pl.Float64),
            "(n,) log-probability of each of `distinct` as a whole after the prompt with this response's answer in it",
            "nats",
            nullable=True,
        ),
        Column("reason", pl.String, "why the answer was not asked about; null if it was", nullable=True),
    ),
)
