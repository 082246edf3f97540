"""How much probability the top k leave out, over the tokens of many responses."""

from typing import Any

import polars as pl

# Columns of a response that are means over its tokens.
_MEANS = ("captured_mass", "open_steps", "entropy_error_bound")


def missing_mass(features: pl.DataFrame, reason: str = "reason") -> dict[str, Any]:
    """Means over all tokens of the responses that have features, so where `reason` is null; null where there is none.

    `captured_mass`, the probability of a step's top k; `open_steps`, the share of steps that leave more than OPEN_MASS;
    `entropy_error_bound` in nats per token, null too where the vocabulary of one response is not known. And the sums
    `trace_tokens`, `clamped_tokens`, `displaced_steps` over all responses.
    """
    usable, tokens = pl.col(reason).is_null(), pl.col("trace_tokens").cast(pl.Float64)
    means = [
        pl.when(pl.col(name).filter(usable).null_count() == 0)
        .then((pl.col(name) * tokens).filter(usable).sum() / tokens.filter(usable).sum())
        .fill_nan(None)
        .alias(name)
        for name in _MEANS
    ]
    sums = pl.col("trace_tokens", "clamped_tokens", "displaced_steps").cast(pl.UInt64).sum()
    return features.select(*means, sums).row(0, named=True)
