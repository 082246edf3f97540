"""The features of every response, from its log-probability trace."""

import polars as pl

from entropy_sentinel.features.catalogue import CATALOGUE, FEATURES, NLL, H
from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.frames.feature import FEATURE_FRAME
from entropy_sentinel.frames.generation import GENERATIONS, REFUSED, UNUSABLE, top_k_of

# Servers write -inf, or -9999 in its place, for a token of probability 0.
ZERO_PROBABILITY = -9999.0
# A log-probability is at most 0, and the probabilities of a step add up to at most 1; rounding may lift them above, but
# not as far as this.
ROUNDING = 1e-3
# A response whose tokens have a mean probability below exp(-50) was drawn by no sampler. Its perplexity, some 1e22, is
# also the largest that can be scaled and squared by every estimator, in Float32 too.
LARGEST_MEAN_NLL = 50.0
# Bounds the memory: in Float64, 64 responses of 2,048 tokens with 20 entries each take 21 MB per thread.
ROWS_PER_SLICE = 64

IDENTITY = ["model", "benchmark", "item_id", "sample", "n_tokens", "displaced_steps", "finish_reason"]


def compute_features(traces: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
    """Compute the features of every response: (n_responses,) rows of GENERATIONS with `model` and `benchmark`.

    Returns FEATURE_FRAME, with the columns that `traces` has beside GENERATIONS: those of SIGNAL and of a log. The
    entropy is over as many tokens as a step of `traces` has. All features are null, and `reason` says why, where the
    column UNUSABLE does, where a response is empty, or where its trace cannot be one of probabilities: a NaN, a
    positive log-probability, a step that adds up to more than 1, a sampled token above the most likely one, a step
    without any likely token, steps of equal entries alone, a mean likelihood that no sampler draws.

    >>> import entropy_sentinel as es
    >>> es.features(es.read_logs(es.example().traces)).select("item_id", pl.col("max").round(3)).row(0)
    ('averages-00000', 0.756)

    Raises InputError where the two traces of a response do not have `n_tokens` steps each.
    """
    schema = traces.lazy().collect_schema()
    beside = [name for name in schema if name not in GENERATIONS.schema and name not in (*IDENTITY, UNUSABLE)]
    unusable = UNUSABLE if UNUSABLE in schema else pl.lit(None, pl.String).alias(UNUSABLE)
    whole = (
        traces.lazy().select([*IDENTITY, "trace_start", "token_logprobs", "top_logprobs", unusable, *beside]).collect()
    )
    _check_lengths(whole)
    k = pl.col("top_k_returned").first() if "top_k_returned" in beside else pl.lit(top_k_of(schema))
    slices = pl.collect_all([_features_of_slice(part, k) for part in whole.iter_slices(ROWS_PER_SLICE)])
    features = pl.concat([FEATURE_FRAME.schema.to_frame(), *slices])
    return pl.concat([features, whole.select(beside)], how="horizontal") if beside else features


def _check_lengths(traces: pl.DataFrame) -> None:
    uneven = traces.filter(pl.any_horizontal(pl.col("token_logprobs", "top_logprobs").list.len() != pl.col("n_tokens")))
    if len(uneven):
        first = uneven.row(0, named=True)
        raise InputError(
            f"item '{first['item_id']}', sample {first['sample']}: token_logprobs and top_logprobs must have "
            f"n_tokens = {first['n_tokens']} steps, had {len(first['token_logprobs'])} and "
            f"{len(first['top_logprobs'])}; generate or import this response again"
        )


def _features_of_slice(traces: pl.DataFrame, k: pl.Expr) -> pl.LazyFrame:
    """An empty response becomes one token of nulls, so that every row of `traces` stays a group."""
    return (
        traces.lazy()
        .with_columns(pl.col("token_logprobs", "top_logprobs").list.slice(pl.col("trace_start")))
        .with_columns(trace_tokens=pl.col("token_logprobs").list.len())
        .with_row_index("row")
        .explode("token_logprobs", "top_logprobs", empty_as_null=True)
        .with_columns(sampled=pl.col("token_logprobs").cast(pl.Float64), possible=_possible())
        .with_columns(**_token_columns())
        .group_by("row", maintain_order=True)
        .agg(
            pl.col(IDENTITY).first(),
            clamped_tokens=pl.col("clamped").sum().cast(pl.UInt32),
            reason=_reason(k),
            **{name: feature.expression for name, feature in CATALOGUE.items()},
        )
        .with_columns(pl.when(pl.col("reason").is_null()).then(pl.col(FEATURES)))
        .select(FEATURE_FRAME.schema.names())
    )


def _possible() -> pl.Expr:
    """The top k of a step in Float64; entries of probability 0 are null, which sums and minima leave out."""
    log_p = pl.element()
    return pl.col("top_logprobs").arr.eval(pl.when(log_p > ZERO_PROBABILITY).then(log_p.cast(pl.Float64)))


def _token_columns() -> dict[str, pl.Expr]:
    """Entropy, negative log-likelihood and what `_reason` looks at, from `possible` and `sampled`."""
    sampled, possible, log_p = pl.col("sampled"), pl.col("possible"), pl.element()
    smallest, largest = possible.arr.min(), possible.arr.max()
    clamped = sampled <= ZERO_PROBABILITY
    return {
        "entropy": possible.arr.eval(-log_p * log_p.exp()).arr.sum(),
        "nll": -pl.when(clamped).then(smallest).otherwise(sampled),
        "clamped": clamped,
        "impossible": largest.is_null(),
        "equal": pl.col("top_logprobs").arr.min() == largest,
        "likelihoods": (smallest >= 0) & (sampled >= 0) & (pl.max_horizontal(sampled, largest) <= 1 + ROUNDING),
        "largest": pl.max_horizontal(sampled, largest),
        "above_top": sampled - largest,
        "total": possible.arr.eval(log_p.exp()).arr.sum(),
    }


def _reason(k: pl.Expr) -> pl.Expr:
    """Why a response has no features: the first that holds; null where it has them. `k` is the response's top k."""
    positive = pl.col("largest").max() > ROUNDING
    reasons = {
        "empty response": pl.col("n_tokens").first() == 0,
        "no token after the thinking": pl.col("trace_tokens").first() == 0,
        "NaN in the log-probabilities": (H.is_nan() | NLL.is_nan()).any(),
        "probabilities in place of their logarithms": positive & pl.col("likelihoods").all(),
        "positive log-probability: raw logits?": positive,
        "a step has no token of its top {} with a probability above 0": pl.col("impossible").any(),
        "probabilities of a step's top {} add up to more than 1": pl.col("total").max() > 1 + ROUNDING,
        "sampled token more likely than the first of its top {}": pl.col("above_top").max() > ROUNDING,
        "the top {} of every step are equally likely": (k > 1) & pl.col("equal").all(),
        f"mean log-probability below -{LARGEST_MEAN_NLL:.0f}: no sampler draws such tokens": NLL.mean()
        > LARGEST_MEAN_NLL,
    }
    finish, unusable = pl.col("finish_reason").first(), pl.col(UNUSABLE).first()
    found = pl.when(finish.str.starts_with(REFUSED)).then(finish).when(unusable.is_not_null()).then(unusable)
    for reason, holds in reasons.items():
        found = found.when(holds).then(pl.format(reason, k) if "{}" in reason else pl.lit(reason))
    return found
