"""Family `integers`: the model's distribution over the integers that may be its answer.

Epstein et al., FermiEval (2025), use the most likely first tokens. Here integers of several tokens, and negative ones,
are followed to their end (asking.py), and `missing` is the probability of everything else. The paper's method is
included. The family is for models whose prompt asks only for an integer.

The pass writes `passes/integers/{model}/{benchmark}.parquet`, a row per response. Only the prompt matters: the first
response to an item has its distribution, and the others have a reason.
"""

import polars as pl
from pydantic import Field

from entropy_sentinel.frames.contract import Column, Contract
from entropy_sentinel.frames.response import RESPONSE, RESPONSE_COLUMNS, of_responses
from entropy_sentinel.frames.sections import Number, Settings
from entropy_sentinel.frames.signals import EnginePass, Family, Signal

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


class Integers(Settings):
    """Integers: the model's distribution over the integers that it may answer with."""

    prune_below: Number = Field(
        1e-4,
        gt=0,
        lt=1,
        description="the beginning of an integer, such as 1 of 12, is not followed if it is less likely than this: "
        "its probability is missing",
    )


_ENTROPY = "entropy of the distribution over only the integers that the model may answer with"
_MAX = "probability of the likeliest of these integers"

FAMILY = Family(
    "how sure the model is of an answer that is only an integer: it is asked about every likely one, on a GPU",
    (
        Signal("integer_entropy", "Integer entropy", _ENTROPY, "nats"),
        Signal("integer_max", "Likeliest integer", _MAX, "1", confident=True, share=True),
    ),
    # Only the first response to each item, because the prompt is the same.
    asks=EnginePass(
        INTEGERS,
        version=1,
        alike=(("values", "logprobs"), ("first_values", "first_logprobs")),
        first_responses=lambda settings: 1,
    ),
    settings=Integers,
)


def compute(traces: pl.LazyFrame, asked: str) -> pl.DataFrame:
    """Return a row per response, in order: the signals, or the reason in `integers_reason`.

    `asked` is the file of the pass. The probabilities are divided by their sum.
    """
    rows = INTEGERS.read(asked, [*RESPONSE, "logprobs", "reason"])
    responses = of_responses(traces, rows)
    logprobs, p = pl.col("logprobs"), pl.element().exp() / pl.element().exp().sum()
    return responses.select(
        # Very low log-probabilities underflow to 0 and add nothing; if all do, there is no distribution.
        integer_entropy=logprobs.list.eval(pl.when(p == 0).then(0.0).otherwise(-(p * p.log())))
        .list.sum()
        .fill_nan(None),
        integer_max=logprobs.list.eval(p).list.max().fill_nan(None),
        integers_reason="reason",
    )
