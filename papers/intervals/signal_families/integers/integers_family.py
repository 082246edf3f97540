"""Family `integers`: the model's distribution over the integers that may be its answer.

Epstein et al., FermiEval (2025), use the most likely first tokens. Here integers of several tokens, and negative ones,
are followed to their end (asking), and `missing` is the probability of everything else. The paper's method is
included. The family is for models whose prompt asks only for an integer.
"""

from types import ModuleType

import polars as pl
from pydantic import Field

from entropy_sentinel.core.section_base import Number, Settings
from entropy_sentinel.schemas.response_schema import RESPONSE, align_rows
from entropy_sentinel.schemas.signal_schema import EnginePass, Family, Signal
from papers.intervals.signal_families.integers.integers_frames import INTEGERS


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


def compute_integer_signals(traces: pl.LazyFrame, asked: str) -> pl.DataFrame:
    """A row per response in `traces`, in order: integer_entropy and integer_max, or why they are null.

    The reason is in `integers_reason`. `asked` is a file INTEGERS; its probabilities are divided by their sum.
    """
    rows = INTEGERS.read(asked, [*RESPONSE, "logprobs", "reason"])
    responses = align_rows(traces, rows)
    logprobs = pl.col("logprobs")
    p = pl.element().exp() / pl.element().exp().sum()
    return responses.select(
        # Very low log-probabilities underflow to 0 and add nothing; if all do, there is no distribution.
        integer_entropy=logprobs.list.eval(pl.when(p == 0).then(0.0).otherwise(-(p * p.log())))
        .list.sum()
        .fill_nan(None),
        integer_max=logprobs.list.eval(p).list.max().fill_nan(None),
        integers_reason="reason",
    )


def _import_requery() -> ModuleType:
    """The module that asks an engine; imported only where that happens, because it imports the engines."""
    from papers.intervals.signal_families.integers.requery import integer_contexts

    return integer_contexts


FAMILY = Family(
    "how sure the model is of an answer that is only an integer: it is asked about every likely one, on a GPU",
    (
        Signal("integer_entropy", "Integer entropy", _ENTROPY, "nats"),
        Signal("integer_max", "Likeliest integer", _MAX, "1", confident=True, share=True),
    ),
    # Only the first response to each item, because the prompt is the same.
    requery=EnginePass(
        INTEGERS,
        load_module=_import_requery,
        version=1,
        alike=(("values", "logprobs"), ("first_values", "first_logprobs")),
        first_responses=lambda settings: 1,
    ),
    settings=Integers,
    compute=compute_integer_signals,
)
