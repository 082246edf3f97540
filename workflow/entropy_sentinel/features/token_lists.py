"""Compute the inputs of features: lists with one value per token, from flat arrays."""

import numpy as np
import polars as pl

from entropy_sentinel.features.half_precision import NEAR_ZERO, rounding_error
from entropy_sentinel.schemas.arrow_lists import flatten_lists, split_lists
from entropy_sentinel.schemas.generation_schema import top_k_of

# Servers write -inf or -9999 for a token of probability 0.
ZERO_PROBABILITY = -9999.0
# A log-probability is at most 0, and the probabilities of a step add up to at most 1; rounding may exceed this by less
# than ROUNDING.
ROUNDING = 1e-3
# Steps at a time: in Float64 they fit into a core's cache.
_STEPS = 8192


def token_lists(traces: pl.DataFrame, vocabulary: int | None) -> pl.DataFrame:
    """One row per response of `traces`, with the lists, one value per token, that features are computed from.

    `entropy` H(t) and `nll` -l(t), in nats; `captured`, the probability of the step's top k; `bound`, the most by which
    H(t) may be below the entropy over all `vocabulary` tokens, null if that number is unknown; and columns that show
    whether the values can be log-probabilities: clamped, impossible, equal, likelihoods, above_top, excess, positive.
    """
    # Features use the tokens from here on, those after the thinking.
    if (traces["trace_start"] > 0).any():
        after = pl.col("token_logprobs", "top_logprobs").list.slice(pl.col("trace_start"))
        traces = traces.with_columns(after)
    lengths = traces["token_logprobs"].list.len().to_numpy().astype(np.int64)
    width = top_k_of(traces.schema)
    columns = _compute_token_columns(traces["token_logprobs"], traces["top_logprobs"], width, lengths)
    lists = {name: split_lists(pl.Series(values), lengths) for name, values in columns.items()}
    lists["bound"] = pl.repeat(None, len(traces), dtype=pl.List(pl.Float64), eager=True)
    if vocabulary:
        remaining: np.ndarray | int = vocabulary - width
        # Responses of a log may have fewer alternatives than the widest of the frame.
        if "top_k_returned" in traces.columns:
            remaining = vocabulary - np.repeat(traces["top_k_returned"].to_numpy(), lengths)
        lists["bound"] = split_lists(pl.Series(error_bound(1 - columns["captured"], remaining)), lengths)
    return pl.DataFrame(lists)


def response_lists(sampled: np.ndarray, top: np.ndarray) -> pl.DataFrame:
    """The row of `token_lists` for one response, from `sampled`, (T,), and `top`, (T, k), without null entries.

    It has the same columns: `entropy`, `nll`, `captured` and so on. `bound`, the largest error by truncation, is null
    because the vocabulary is unknown.

    Frames of one response cost more than their numbers, so this makes one frame only.
    """
    columns = _compute_in_parts(sampled, top, None, np.array([len(sampled)]))
    lists = {name: pl.Series(name, [pl.Series(values)]) for name, values in columns.items()}
    lists["bound"] = pl.Series("bound", [None], dtype=pl.List(pl.Float64))
    return pl.DataFrame(lists)


def error_bound(missing: np.ndarray, remaining: np.ndarray | int) -> np.ndarray:
    """The most, in nats, by which an entropy over the top k is too small: eps ln((V - K) / eps), 0 if eps is 0.

    `missing` is eps, the probability of `remaining`, V - K tokens. The bound is their share of the entropy if all were
    equally likely. Source: Entropy Area Score, equation for the error of the top K, there with the binary logarithm.
    """
    eps = np.clip(missing, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = eps * np.log(remaining / eps)
    return np.where((eps > 0) & (remaining > 0), bound, 0.0)


def _compute_token_columns(sampled: pl.Series, top: pl.Series, k: int, lengths: np.ndarray) -> dict[str, np.ndarray]:
    """The values that `token_lists` describes, by name (`entropy`, `nll`, ...), (T,) for the T tokens of all responses.

    `sampled` has a list of log-probabilities per response, and `top` a list of arrays of k; `lengths` (n,) are the
    responses' numbers of tokens.
    """
    sampled_values = flatten_lists(sampled).to_numpy()
    # Of all tokens in sequence: first lists of arrays become arrays, then these become numbers.
    entries = flatten_lists(top).arr.explode()
    # A null entry counts as a token of probability 0.
    absent = entries.is_null().to_numpy().reshape(-1, k) if entries.null_count() else None
    top_values = entries.fill_null(-np.inf).to_numpy().reshape(-1, k)
    return _compute_in_parts(sampled_values, top_values, absent, lengths)


def _compute_in_parts(
    sampled: np.ndarray, top: np.ndarray, absent: np.ndarray | None, lengths: np.ndarray
) -> dict[str, np.ndarray]:
    """The columns of `_compute_token_columns` from arrays: `sampled` (T,), `top` (T, k) with -inf where `absent`."""
    k = top.shape[1]
    columns: dict[str, np.ndarray] = {}
    # Allocated once: new memory pages cost more than the exponentials.
    scratch = np.empty((2, _STEPS, k))
    # Without steps, too, there are columns.
    for begin in range(0, max(len(sampled), 1), _STEPS):
        steps = slice(begin, begin + _STEPS)
        absent_of_steps = None if absent is None else absent[steps]
        for name, values in _compute_columns(sampled[steps], top[steps], absent_of_steps, scratch).items():
            if name not in columns:
                columns[name] = np.empty(len(sampled), values.dtype)
            columns[name][steps] = values
    # By how much a sum of probabilities exceeds 1, and whether a value is above 0: rounding to half precision may add
    # to both.
    error = np.repeat(rounding_error(sampled, top, lengths), lengths)
    with np.errstate(invalid="ignore"):  # of raw logits
        columns["excess"] = columns["captured"] - error * columns["entropy"] - 1
    columns["positive"] = columns.pop("highest") > np.where(error > 0, NEAR_ZERO, ROUNDING)
    return columns


def _compute_columns(
    sampled: np.ndarray, top: np.ndarray, absent: np.ndarray | None, scratch: np.ndarray
) -> dict[str, np.ndarray]:
    """The columns of n steps, (n,) each: `sampled` (n,), `top` (n, k) with -inf where `absent` (n, k).

    `clamped`: the sampled token has the probability 0. `impossible`: so has the whole top k. `equal`: the top k are
    equally likely. `likelihoods`: the values look like probabilities instead of their logarithms. `highest`: the
    largest value. `above_top`: the sampled token is more likely than the top k. `scratch`, (2, at least n, k), is
    overwritten.
    """
    sampled = sampled.astype(np.float64)
    log_p, p = scratch[:, : len(top)]
    log_p[:] = top
    if _is_descending(top):  # as usual: the first and the last entry are cheaper than the extremes
        largest, smallest = log_p[:, 0].copy(), log_p[:, -1].copy()
    else:
        largest, smallest = log_p.max(axis=1), log_p.min(axis=1)
    equal = largest == (smallest if absent is None else np.where(absent, np.inf, log_p).min(axis=1))
    if not (smallest > ZERO_PROBABILITY).all():
        smallest = np.where(log_p > ZERO_PROBABILITY, log_p, np.inf).min(axis=1)
        # The exponential is 0, and so is its product with this.
        np.maximum(log_p, ZERO_PROBABILITY, out=log_p)
    clamped = sampled <= ZERO_PROBABILITY
    highest = np.maximum(sampled, largest)
    likelihoods = np.zeros(len(top), dtype=bool)
    if (highest > ROUNDING).any():
        likelihoods = (smallest >= 0) & (sampled >= 0) & (highest <= 1 + ROUNDING)
    with np.errstate(over="ignore", invalid="ignore"):  # raw logits; a token of probability 0 among others
        np.exp(log_p, out=p)
        return {
            "entropy": 0.0 - np.einsum("ij,ij->i", p, log_p),
            "captured": np.einsum("ij->i", p),
            "nll": -np.where(clamped, smallest, sampled),
            "clamped": clamped,
            "impossible": largest <= ZERO_PROBABILITY,
            "equal": equal,
            "likelihoods": likelihoods,
            "highest": highest,
            "above_top": sampled - largest > ROUNDING,
        }


def _is_descending(top: np.ndarray) -> bool:
    """Whether the entries of each step never increase; `top` is (n, k), in C order."""
    entries = top.ravel()
    is_rising = entries[1:] > entries[:-1]  # several times as fast as row by row
    is_rising[top.shape[1] - 1 :: top.shape[1]] = False  # from one step to the next
    return not is_rising.any()
