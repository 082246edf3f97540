"""What features are made of: one row per token of a batch of responses, from flat arrays."""

import numpy as np
import polars as pl

from entropy_sentinel.frames.generation import top_k_of
from entropy_sentinel.frames.lists import flat

# Servers write -inf, or -9999 in its place, for a token of probability 0.
ZERO_PROBABILITY = -9999.0
# A log-probability is at most 0, and the probabilities of a step add up to at most 1; rounding may lift them above, but
# not as far as this.
ROUNDING = 1e-3
# Steps at a time: what they take in Float64 stays in a core's cache.
_STEPS = 4096


def token_frame(traces: pl.DataFrame, vocabulary: int | None) -> pl.DataFrame:
    """One row per token that the features are over, in order; `row` is the number of its response in `traces`.

    `entropy` H(t) and `nll` -l(t), in nats; `captured`, the probability of the step's top k; `bound`, by how much H(t)
    may lie below the entropy over all `vocabulary` tokens, null where that number is not known; `position` in the
    response; and what shows that a trace cannot be one of probabilities.
    """
    if (traces["trace_start"] > 0).any():
        after = pl.col("token_logprobs", "top_logprobs").list.slice(pl.col("trace_start"))
        traces = traces.with_columns(after)
    lengths = traces["token_logprobs"].list.len().to_numpy().astype(np.int64)
    row = np.repeat(np.arange(len(traces), dtype=np.int32), lengths)
    begins = lengths.cumsum() - lengths - traces["trace_start"].to_numpy()
    columns = _step_columns(traces["token_logprobs"], traces["top_logprobs"], top_k_of(traces.schema))
    k = traces["top_k_returned"].to_numpy()[row] if "top_k_returned" in traces.columns else top_k_of(traces.schema)
    bound = (
        error_bound(1 - columns["captured"], vocabulary - k)
        if vocabulary
        else pl.repeat(None, len(row), dtype=pl.Float64, eager=True)
    )
    return pl.DataFrame(
        {
            "row": pl.Series(row).set_sorted(),
            "position": (np.arange(len(row)) - begins[row]).astype(np.uint32),
            "bound": bound,
            **columns,
        }
    )


def error_bound(missing: np.ndarray, others: np.ndarray | int) -> np.ndarray:
    """By how much, in nats, an entropy over the top k may be too small: eps ln((V - K) / eps), 0 where eps is.

    `missing` is eps, the probability of all other tokens, of which there are `others`, V - K: the bound is their share
    of the entropy if all were equally likely. Source: Entropy Area Score, equation for the error of the top K, there
    with the binary logarithm.
    """
    eps = np.clip(missing, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = eps * np.log(others / eps)
    return np.where((eps > 0) & (others > 0), bound, 0.0)


def _step_columns(sampled: pl.Series, top: pl.Series, k: int) -> dict[str, np.ndarray]:
    """Columns of a step from `sampled` (T,) and `top` (T, k) of all responses together."""
    entries = flat(top).arr.explode() if k else pl.Series([], dtype=pl.Float32)
    absent = entries.is_null().to_numpy().reshape(-1, k) if entries.null_count() else None
    matrix = entries.fill_null(-np.inf).to_numpy().reshape(-1, k)
    chosen = flat(sampled).to_numpy().astype(np.float64)
    names = ("entropy", "captured", "largest", "smallest", "level")
    found = {name: np.empty(len(chosen)) for name in names}
    for begin in range(0, len(chosen), _STEPS):
        steps = slice(begin, begin + _STEPS)
        for name, values in zip(names, _steps(matrix[steps], None if absent is None else absent[steps]), strict=True):
            found[name][steps] = values
    largest, smallest = found.pop("largest"), found.pop("smallest")
    clamped = chosen <= ZERO_PROBABILITY
    return {
        "entropy": found["entropy"],
        "captured": found["captured"],
        "nll": -np.where(clamped, smallest, chosen),
        "clamped": clamped,
        "impossible": largest <= ZERO_PROBABILITY,
        "equal": found["level"] == largest,
        "likelihoods": (smallest >= 0) & (chosen >= 0) & (np.maximum(chosen, largest) <= 1 + ROUNDING),
        "largest": np.maximum(chosen, largest),
        "above_top": chosen - largest,
    }


def _steps(top: np.ndarray, absent: np.ndarray | None) -> tuple[np.ndarray, ...]:
    """Entropy, captured probability, largest, smallest possible and smallest entry of steps (n, k)."""
    log_p = top.astype(np.float64)
    if absent is not None:
        log_p[absent] = np.inf
    level = smallest = log_p.min(axis=1)
    if absent is not None:
        log_p[absent] = -np.inf
    if not (smallest > ZERO_PROBABILITY).all():
        smallest = np.where(log_p > ZERO_PROBABILITY, log_p, np.inf).min(axis=1)
        # The exponential is 0, and its product with this is, too.
        np.maximum(log_p, ZERO_PROBABILITY, out=log_p)
    with np.errstate(over="ignore", invalid="ignore"):  # raw logits
        p = np.exp(log_p)
        entropy = 0.0 - np.einsum("ij,ij->i", p, log_p)
    return entropy, np.einsum("ij->i", p), log_p.max(axis=1), smallest, level
