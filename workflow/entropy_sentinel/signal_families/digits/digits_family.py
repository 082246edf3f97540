"""Family `digits`: the model's uncertainty about the tokens of its response that contain a digit.

In answers to questions about numbers, the digits are right or wrong; the words around them are not. So the estimator
`log-digits`, which has these signals besides three features, ranks the responses of a domain better
(benchmarks/bench_digits.py). It is for such questions only: a response without any digit has sums of 0, as if the model
were sure.
"""

import polars as pl

from entropy_sentinel.schemas.signal_schema import Family, Signal

# Responses at a time, to limit memory.
_BATCH = 2000


def compute(traces: pl.LazyFrame) -> pl.DataFrame:
    """A row per response, in order, with `digit_entropy_sum` and `digit_entropy_max`.

    They are null without the texts of the tokens or without a trace.
    """
    frame = traces.collect()
    parts = [_compute_batch(frame[begin : begin + _BATCH]) for begin in range(0, max(len(frame), 1), _BATCH)]
    return pl.concat(parts)


def _compute_batch(traces: pl.DataFrame) -> pl.DataFrame:
    """The entropies of tokens with a digit, summed and the largest, per response; null without texts of tokens."""
    from entropy_sentinel.features.token_lists import token_lists

    tokens = pl.col("tokens") if "tokens" in traces.columns else pl.lit(None)
    rows = traces.with_columns(
        pl.col("token_logprobs", "top_logprobs").fill_null([]), pl.col("trace_start").fill_null(0)
    )
    texts = rows.select(tokens.cast(pl.List(pl.String)).list.slice("trace_start").alias("text"))
    # `token_lists` cuts the steps at `trace_start`, too.
    steps = token_lists(rows, vocabulary=None).select("entropy").hstack(texts).with_row_index("row")
    usable = steps.filter(pl.col("text").list.len() == pl.col("entropy").list.len(), pl.col("text").list.len() > 0)
    digits = usable.explode("entropy", "text").with_columns(
        pl.when(pl.col("text").str.contains(r"\p{Nd}")).then("entropy").otherwise(0.0).alias("entropy")
    )
    by_row = digits.group_by("row").agg(
        digit_entropy_sum=pl.col("entropy").sum(), digit_entropy_max=pl.col("entropy").max()
    )
    names = [signal.name for signal in FAMILY.signals]
    return steps.select("row").join(by_row, on="row", how="left", maintain_order="left").select(names)


FAMILY = Family(
    "uncertainty about the tokens that contain a digit: ranks single responses to questions about numbers",
    (
        Signal(
            "digit_entropy_sum",
            "Digit entropy sum",
            "sum of H(t) over the tokens with a digit; 0 without any, null if the texts of tokens are unknown",
            "nats",
        ),
        Signal(
            "digit_entropy_max",
            "Digit entropy max",
            "largest H(t) of a token with a digit; 0 without any, null if the texts of tokens are unknown",
            "nats",
        ),
    ),
    compute=compute,
)
