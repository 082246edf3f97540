"""Family `integers`: the model's distribution over the integers that it may answer a question with.

Epstein et al., FermiEval (2025), read it off the most likely first tokens. Here the integers of several tokens, and the
negative ones, are followed to their end, and what is not followed is said (search.py); the paper's way stands beside.
It is for models whose prompt asks for an integer alone.
"""

import polars as pl

from entropy_sentinel.frames.response import RESPONSE, of_responses
from entropy_sentinel.frames.signals import EnginePass, Family, Signal
from entropy_sentinel.signals.integers.frame import INTEGERS
from entropy_sentinel.signals.integers.settings import Integers

_ENTROPY = "entropy of the distribution over the integers that the model may answer with, these alone"
_MAX = "probability of the likeliest of these integers"

FAMILY = Family(
    "how sure the model is of an answer that is an integer alone: it is asked for every likely one, on a GPU",
    (
        Signal("integer_entropy", "Integer entropy", _ENTROPY, "nats"),
        Signal("integer_max", "Likeliest integer", _MAX, "1", confident=True, share=True),
    ),
    # Of each item the first response alone: the prompt is the same.
    asks=EnginePass(
        INTEGERS,
        version=1,
        alike=(("values", "logprobs"), ("first_values", "first_logprobs")),
        first_responses=lambda settings: 1,
    ),
    settings=Integers,
)


def compute(traces: pl.LazyFrame, asked: str) -> pl.DataFrame:
    """A row per response, in their order: the signals, and `integers_reason` where there are none.

    `asked` is the file of the pass. The probabilities are divided by their sum.
    """
    rows = INTEGERS.read(asked, [*RESPONSE, "logprobs", "reason"])
    found = of_responses(traces, rows)
    logprobs, p = pl.col("logprobs"), pl.element().exp() / pl.element().exp().sum()
    return found.select(
        # A very low log-probability is a probability of 0, which adds nothing; of such alone nothing is known.
        integer_entropy=logprobs.list.eval(pl.when(p == 0).then(0.0).otherwise(-(p * p.log())))
        .list.sum()
        .fill_nan(None),
        integer_max=logprobs.list.eval(p).list.max().fill_nan(None),
        integers_reason="reason",
    )
