"""The 17 features of a response from its log-probability trace (paper, section 3 and Table 1).

A feature is a Polars expression over the tokens of one response. Two columns of a token feed them: its
entropy H(t), truncated to the top 20 and not renormalised, and its negative log-likelihood -l(t).
"""

import polars as pl

from entropy_sentinel.features.catalogue import FEATURES
from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.frames.feature import FEATURE_FRAME
from entropy_sentinel.frames.generation import TOP_K

# Servers write -inf, or -9999 in its place, for a token of probability 0.
ZERO_PROBABILITY = -9999.0
# A log-probability is at most 0; rounding may lift it above, but not as far as this.
POSITIVE = 1e-3
# exp of a larger mean negative log-likelihood is infinite in Float64, and an infinite feature stops every estimator.
LARGEST_MEAN_NLL = 700.0
# Up to this standard deviation, in nats, third and fourth moments are float noise.
FLAT_STD = 1e-6
# Bounds the memory: in Float64, 64 responses of 2,048 tokens with 20 entries each take 21 MB per thread.
ROWS_PER_SLICE = 64

IDENTITY = ["item_id", "sample", "n_tokens", "displaced_steps", "finish_reason"]
H, NLL = pl.col("entropy"), pl.col("nll")


def compute_features(traces: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
    """Compute the features of every response, in nats: (n_responses,) rows of GENERATIONS to FEATURE_FRAME.

    All 17 are null, and `reason` says why, where a response is empty or its trace has a NaN, a positive
    log-probability, or a sampled token of probability 0 that no finite entry bounds.

    Raises InputError where the two traces of a response do not have `n_tokens` steps each.
    """
    columns = [*IDENTITY, "trace_start", "token_logprobs", "top_logprobs"]
    whole = traces.lazy().select(columns).collect()
    _check_lengths(whole)
    slices = pl.collect_all([_features_of_slice(part) for part in whole.iter_slices(ROWS_PER_SLICE)])
    return pl.concat([FEATURE_FRAME.schema.to_frame(), *slices])


def feature_expressions() -> dict[str, pl.Expr]:
    """The 17 features by name, each over columns `entropy` and `nll` of one response's tokens."""
    flat = H.std(ddof=0) <= FLAT_STD
    return {
        "mean": H.mean(),
        "std": H.std(ddof=0),
        "max": H.max(),
        **{f"q{percent}": H.quantile(percent / 100, "linear") for percent in (10, 25, 50, 75, 90)},
        "skewness": pl.when(flat).then(0.0).otherwise(H.skew(bias=True)),
        "kurtosis": pl.when(flat).then(0.0).otherwise(H.kurtosis(fisher=False, bias=True)),
        "se_sum": H.sum(),
        "nll_avg": NLL.mean(),
        "nll_max": NLL.max(),
        "nll_sum": NLL.sum(),
        "lntp": (-NLL.mean()).exp(),
        "mtp": (-NLL.max()).exp(),
        "ppl": NLL.mean().exp(),
    }


def _check_lengths(traces: pl.DataFrame) -> None:
    uneven = traces.filter(pl.any_horizontal(pl.col("token_logprobs", "top_logprobs").list.len() != pl.col("n_tokens")))
    if len(uneven):
        item_id, sample, n_tokens, *_, sampled, top = uneven.row(0)
        raise InputError(
            f"item '{item_id}', sample {sample}: token_logprobs and top_logprobs must have n_tokens = "
            f"{n_tokens} steps, had {len(sampled)} and {len(top)}; generate or import this response again"
        )


def _features_of_slice(traces: pl.DataFrame) -> pl.LazyFrame:
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
            reason=_reason(),
            **feature_expressions(),
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
    smallest = possible.arr.min()
    clamped = sampled <= ZERO_PROBABILITY
    return {
        "entropy": possible.arr.eval(-log_p * log_p.exp()).arr.sum(),
        "nll": -pl.when(clamped).then(smallest).otherwise(sampled),
        "clamped": clamped,
        "unbounded": clamped & smallest.is_null(),
        "largest": pl.max_horizontal(sampled, possible.arr.max()),
    }


def _reason() -> pl.Expr:
    """Why a response has no features: the first that holds; null where it has them."""
    return (
        pl.when(pl.col("n_tokens").first() == 0)
        .then(pl.lit("empty response"))
        .when(pl.col("trace_tokens").first() == 0)
        .then(pl.lit("no token after the thinking"))
        .when((H.is_nan() | NLL.is_nan()).any())
        .then(pl.lit("NaN in the log-probabilities"))
        .when(pl.col("largest").max() > POSITIVE)
        .then(pl.lit("positive log-probability: raw logits?"))
        .when(NLL.mean() > LARGEST_MEAN_NLL)
        .then(pl.lit("perplexity overflows"))
        .when(pl.col("unbounded").any())
        .then(pl.lit(f"sampled token of probability 0, and no finite log-probability in its top {TOP_K}"))
    )
