"""The features of every response, from its log-probability trace."""

from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.extension_guard import guard_extension
from entropy_sentinel.features import hashed_tokens
from entropy_sentinel.features.feature_declaration import NLL, H, X
from entropy_sentinel.features.feature_registry import CATALOGUE, EXTRAS, FEATURE_FRAME
from entropy_sentinel.features.token_lists import ROUNDING, response_lists, token_lists
from entropy_sentinel.features.zero_logprobs import exclude_zero_logprobs
from entropy_sentinel.schemas.generation_schema import CUT_OFF, GENERATIONS, REFUSED, UNUSABLE, top_k_of
from entropy_sentinel.schemas.response_schema import RESPONSE

# No sampler draws a response whose tokens have a mean probability below exp(-50). Its perplexity, about 1e22, is also
# the largest that every estimator can scale and square, even in Float32.
LARGEST_MEAN_NLL = 50.0
# Bounds the memory: a token takes about 100 bytes during the computation.
TOKENS_AT_A_TIME = 200_000
RESPONSES_AT_A_TIME = 1000
_NO_REASON = pl.Series([None], dtype=pl.String)
_NO_LOGPROBS = "no log-probabilities: the engine gives none"

IDENTITY = [*RESPONSE, "n_tokens", "displaced_steps", "finish_reason"]
_TRACE = ["trace_start", "token_logprobs", "top_logprobs"]
# The columns of GENERATIONS that features need.
INPUT_COLUMNS = [name for name in GENERATIONS.schema if name in (*IDENTITY, *_TRACE)]


def is_traces(value: object) -> bool:
    """Whether this is a frame of GENERATIONS."""
    return isinstance(value, pl.DataFrame | pl.LazyFrame) and set(_TRACE) <= set(value.collect_schema().names())


def compute_features(traces: pl.DataFrame | pl.LazyFrame, vocabulary: int | None = None) -> pl.DataFrame:
    """A frame FEATURE_FRAME with a row for each response, from rows of GENERATIONS with `model` and `benchmark`.

    It keeps columns of `traces` beyond GENERATIONS: LOGPROBS and a log's own. A response with a reason in the column
    UNUSABLE has no features. `vocabulary` is the number of the model's tokens, None if unknown. Raises InputError for a
    missing column, a column of another dtype, or lists that do not have n_tokens steps.
    """
    if not isinstance(traces, pl.DataFrame | pl.LazyFrame):
        raise InputError(f"traces: must be a frame from `read_logs`, got {type(traces).__name__}")
    _check_columns(traces.collect_schema())
    if isinstance(traces, pl.LazyFrame):
        # The features of no response, so that there are columns without any batch.
        parts = [compute_features(traces.collect_schema().to_frame())]
        for batch in traces.collect_batches(chunk_size=RESPONSES_AT_A_TIME, maintain_order=True, lazy=True):
            parts.append(compute_features(batch, vocabulary))
        return pl.concat(parts)
    _check_lengths(traces)
    if UNUSABLE not in traces.columns:
        traces = traces.with_columns(pl.lit(None, pl.String).alias(UNUSABLE))
    traces = exclude_zero_logprobs(_replace_nulls(traces))
    standard_columns = (*GENERATIONS.schema, *IDENTITY, UNUSABLE, *hashed_tokens.SCHEMA)
    log_columns = [name for name in traces.columns if name not in standard_columns]
    features = pl.concat([_compute_batch(part, vocabulary) for part in _split_batches(traces)])
    return pl.concat([features, hashed_tokens.hash_responses(traces), traces.select(log_columns)], how="horizontal")


def _check_columns(schema: pl.Schema) -> None:
    """Raise InputError if a column that features need is missing, or has another dtype than in GENERATIONS."""
    for name in (*INPUT_COLUMNS, "model", "benchmark"):
        if name not in schema:
            raise InputError(f"traces: column '{name}' is missing; columns: {', '.join(schema)[:1000] or 'none'}")
    for column in GENERATIONS.columns:
        if column.name in INPUT_COLUMNS and not column.accepts(schema[column.name]):
            raise InputError(f"traces: column '{column.name}' must be {column.dtype}, got {schema[column.name]}")


def _check_lengths(traces: pl.DataFrame) -> None:
    """Raise InputError for the first response whose lists of log-probabilities do not have n_tokens steps."""
    uneven = traces.filter(pl.any_horizontal(pl.col("token_logprobs", "top_logprobs").list.len() != pl.col("n_tokens")))
    if len(uneven):
        first = uneven.row(0, named=True)
        raise InputError(
            f"item '{first['item_id']}', sample {first['sample']}: token_logprobs and top_logprobs must have "
            f"n_tokens = {first['n_tokens']} steps, had {len(first['token_logprobs'])} and "
            f"{len(first['top_logprobs'])}; generate or import this response again"
        )


def _replace_nulls(traces: pl.DataFrame) -> pl.DataFrame:
    """Give responses without log-probabilities empty lists of steps, and the reason."""
    absent = pl.any_horizontal(pl.col("token_logprobs", "top_logprobs").is_null())
    if not traces.select(absent.any()).item():
        return traces

    def replace_absent(name: str, replacement: pl.Expr) -> pl.Expr:
        return pl.when(absent).then(replacement).otherwise(name).alias(name)

    return traces.with_columns(
        replace_absent(UNUSABLE, pl.coalesce(UNUSABLE, pl.lit(_NO_LOGPROBS))),
        replace_absent("token_logprobs", pl.lit([], traces.schema["token_logprobs"])),
        replace_absent("top_logprobs", pl.lit([], traces.schema["top_logprobs"])),
        replace_absent("trace_start", pl.lit(0, pl.UInt32)),
    )


def _split_batches(traces: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield the frame in parts of about TOKENS_AT_A_TIME tokens, at least one response; an empty frame as one part."""
    lengths = traces["n_tokens"].to_numpy().astype(np.int64)
    n_tokens_before = lengths.cumsum() - lengths
    batch_numbers = n_tokens_before // TOKENS_AT_A_TIME
    begins = np.flatnonzero(np.diff(batch_numbers, prepend=-1)).tolist() or [0]
    for begin, end in pairwise([*begins, len(traces)]):
        yield traces[begin:end]


def _compute_batch(traces: pl.DataFrame, vocabulary: int | None) -> pl.DataFrame:
    """The columns of FEATURE_FRAME, except those of hashed tokens; features are null if there is a reason."""
    k = "top_k_returned" if "top_k_returned" in traces.columns else pl.lit(top_k_of(traces.schema))
    values = _evaluate_lists(token_lists(traces, vocabulary))
    return (
        pl.concat([traces.select(*IDENTITY, UNUSABLE, _k=k), values], how="horizontal")
        .with_columns(cut_off=CUT_OFF, reason=_reason_expression())
        .with_columns(pl.when(pl.col("reason").is_null()).then(pl.col(*CATALOGUE, *EXTRAS)))
        .select(name for name in FEATURE_FRAME.schema.names() if name not in hashed_tokens.SCHEMA)
    )


def compute_usable_features(sampled: np.ndarray, top: np.ndarray, finish_reason: str) -> pl.DataFrame | None:
    """One row with the features of one response, and the columns of `_fact_expressions`; None if it has no features.

    None, too, if that is unclear. `sampled` (T,) and `top` (T, k) are its log-probabilities, float32, without null
    entries and with T > 0. If all of `sampled` are 0, only other responses of the log could tell whether they are real.
    """
    if not sampled.any():  # perhaps a server's constant, which `exclude_zero_logprobs` recognises
        return None
    values = _evaluate_lists(response_lists(sampled, top))
    facts = {"n_tokens": len(sampled), "finish_reason": finish_reason, "_k": top.shape[1]}
    row = pl.DataFrame({name: [value] for name, value in facts.items()} | {UNUSABLE: _NO_REASON})
    exclusion_reason = row.hstack(values).select_seq(_reason_expression()).item()
    return values if exclusion_reason is None else None


def _evaluate_lists(lists: pl.DataFrame) -> pl.DataFrame:
    """The features of responses, their token counts, and the columns for `_reason_expression`, from `token_lists`.

    If that fails, each feature is computed alone, so that the error names the extension whose feature fails.
    """
    try:
        return lists.select(**_feature_expressions())
    except KeyboardInterrupt:
        raise
    except BaseException:  # also a panic of Polars, and exit() in an extension
        for name in CATALOGUE:
            with guard_extension("features", name, f"feature '{name}': its expression failed"):
                lists.select(_feature_expressions()[name])
        raise


@cache
def _feature_expressions() -> dict[str, pl.Expr]:
    """The expressions of the features, and of `_fact_expressions`, over the lists of `token_lists`."""
    features = (CATALOGUE | EXTRAS).items()
    return {name: feature.expression.cast(pl.Float64) for name, feature in features} | _fact_expressions()


def _fact_expressions() -> dict[str, pl.Expr]:
    """Expressions for counts of a response's tokens, and for the columns that `_reason_expression` needs.

    The names of the latter begin with `_`, which no feature's name does.
    """
    return {
        "trace_tokens": pl.col("nll").list.len().cast(pl.UInt32),
        "clamped_tokens": pl.col("clamped").list.sum().cast(pl.UInt32),
        "_nan": H(X.is_nan().any()) | NLL(X.is_nan().any()),
        "_positive": pl.col("positive").list.any(),
        "_likelihoods": pl.col("likelihoods").list.all(),
        "_impossible": pl.col("impossible").list.any(),
        "_excess": pl.col("excess").list.max(),
        "_above_top": pl.col("above_top").list.any(),
        "_equal": pl.col("equal").list.all(),
    }


@cache
def _reason_expression() -> pl.Expr:
    """The first reason why a response has no features; null if it has them.

    Over the features, `_fact_expressions`, n_tokens, finish_reason, UNUSABLE and `_k`, the number of alternatives.
    """
    k, positive = pl.col("_k"), pl.col("_positive")
    # By reason, whether it holds; `{}` is the number of alternatives.
    reasons = {
        "empty response": pl.col("n_tokens") == 0,
        "no token after the thinking": pl.col("trace_tokens") == 0,
        "NaN in the log-probabilities": pl.col("_nan"),
        "probabilities in place of their logarithms": positive & pl.col("_likelihoods"),
        "positive log-probability: raw logits?": positive,
        "a step has no token of its top {} with a probability above 0": pl.col("_impossible"),
        "probabilities of a step's top {} add up to more than 1": pl.col("_excess") > ROUNDING,
        "sampled token more likely than the first of its top {}": pl.col("_above_top"),
        "the top {} of every step are equally likely": (k > 1) & pl.col("_equal"),
        f"mean log-probability below -{LARGEST_MEAN_NLL:.0f}: no sampler draws such tokens": pl.col("nll_avg")
        > LARGEST_MEAN_NLL,
    }
    finish, unusable = pl.col("finish_reason"), pl.col(UNUSABLE)
    first_reason = pl.when(finish.str.starts_with(REFUSED)).then(finish).when(unusable.is_not_null()).then(unusable)
    for reason, holds in reasons.items():
        first_reason = first_reason.when(holds).then(pl.format(reason, k) if "{}" in reason else pl.lit(reason))
    return first_reason


def start_after(traces: pl.DataFrame, token: str | None, earlier: str | None) -> pl.DataFrame:
    """The traces with `trace_start`, the first token that features use, after the last `token` of each response.

    `token` is a text such as `</think>`: if it does not occur, features use no token; if it is None, all. `earlier` is
    the `token` with which the traces were made according to their provenance: version 0.1.0 recorded it, but no texts
    of tokens. Raises InputError if the texts are needed and unknown.
    """
    if token == earlier:  # `trace_start` is right already
        return traces
    if token is None:
        return traces.with_columns(trace_start=pl.lit(0, pl.UInt32))
    unknown = traces.filter(pl.col("tokens").is_null(), pl.col("n_tokens") > 0)
    if len(unknown):
        first = unknown.row(0, named=True)
        raise InputError(
            f"models.{first['model']}.trace_after: '{token}' must be searched for in the texts of the tokens, but "
            f"the traces of {first['benchmark']} lack them (item '{first['item_id']}'): they come from an earlier "
            "version or another tool; restore the key's old value, or delete their file to generate them again"
        )
    last = pl.col("tokens").list.agg(X.eq(token).arg_true().last())
    return traces.with_columns(trace_start=(last + 1).fill_null(pl.col("n_tokens")).cast(pl.UInt32))


def summarise_top_k(features: pl.DataFrame, reason_column: str = "reason") -> dict[str, Any]:
    """How much of the probability the top k of each step have, over all responses, by name.

    Means over all tokens of the responses with features (`reason_column` is null), null without any:

    - `captured_mass`: the probability of a step's top k;
    - `open_steps`: the share of steps whose other tokens have more than OPEN_MASS;
    - `entropy_error_bound`: nats per token, also null if the vocabulary of any response is unknown.

    Sums over all responses: `trace_tokens`; `clamped_tokens`, sampled ones with a log-probability of -inf; and
    `displaced_steps`, at which a server may have replaced the k-th token by the sampled one.
    """
    usable, tokens = pl.col(reason_column).is_null(), pl.col("trace_tokens").cast(pl.Float64)
    means = []
    for name in ("captured_mass", "open_steps", "entropy_error_bound"):
        is_complete = pl.col(name).filter(usable).null_count() == 0
        mean = (pl.col(name) * tokens).filter(usable).sum() / tokens.filter(usable).sum()
        means.append(pl.when(is_complete).then(mean).fill_nan(None).alias(name))
    sums = pl.col("trace_tokens", "clamped_tokens", "displaced_steps").cast(pl.UInt64).sum()
    return features.select(*means, sums).row(0, named=True)
