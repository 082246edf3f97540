"""Convert replies to frames of GENERATIONS with a common top k; steps with fewer entries are padded with nulls.

This module sorts, cuts and pads steps for all formats. The entries of a step are sorted, largest first. The steps of a
response keep k entries: the number that most of its steps have, or that its format states. Additional entries (a
sampled token that is not among the k most likely) are dropped.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from entropy_sentinel.features.half_precision import HALF, rounding_error
from entropy_sentinel.logs.parsed_response import (
    NO_ALTERNATIVES,
    NO_TOKENS,
    Reply,
    Trace,
    most_common,
    parse_id,
    replace_surrogates,
)
from entropy_sentinel.schemas.arrow_lists import split_lists
from entropy_sentinel.schemas.generation_schema import GENERATIONS, top_k_of

# The column with the id that the server gave to the response; no column of a log can have this name.
REPLY_ID = ".reply_id"
# Columns that a batch has in every format, with their dtypes. The log's own columns are named `column.NAME`.
ROW_DTYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    "item_id": pl.String,
    REPLY_ID: pl.String,
    "model": pl.String,
    "sample": pl.UInt16,
    "text": pl.String,
    "finish_reason": pl.String,
    "prompt_tokens": pl.UInt32,
    "seed": pl.Int64,
    "tokens": pl.List(pl.String),
    "token_ids": pl.List(pl.UInt32),
    "trace_start": pl.UInt32,
    "unusable": pl.String,
}
# Additional columns if the log has labels; a null label has a reason.
LABEL_DTYPES = {"label": pl.Boolean, "label_reason": pl.String}


@dataclass(frozen=True)
class ResponseBatch:
    """Responses of a batch: a frame of everything except the traces, and the concatenated traces.

    `rows` (n,) has the columns of ROW_DTYPES, and the log's columns as `column.NAME`. `lengths` are the numbers of
    tokens, and `k` the numbers of alternatives if the format states them (else -1). `displaces` tells whether the
    sampled token may be first and replace the k-th most likely token.
    """

    rows: pl.DataFrame
    lengths: np.ndarray  # (n,)
    trace: Trace
    k: np.ndarray  # (n,)
    displaces: np.ndarray  # (n,)


def build_batch(replies: Sequence[Reply], trace_after: str | None, place: str | None = None) -> ResponseBatch:
    """Replies as a batch; features will use each reply's tokens after the last `trace_after`.

    `place` is the name of an optional column with the place of each reply.
    """
    rows = [_build_row(reply, trace_after) for reply in replies]
    columns = [pl.Series(name, [row[name] for row in rows], dtype=dtype) for name, dtype in ROW_DTYPES.items()]
    columns += _build_log_columns(replies)
    if place is not None:
        columns.append(pl.Series(place, [reply.place for reply in replies], dtype=pl.String))
    empty = Trace(np.zeros(0, np.float32), np.zeros(0, np.int64), np.zeros(0, np.float32))
    traces = [reply.trace or empty for reply in replies]
    return ResponseBatch(
        rows=pl.DataFrame(columns),
        lengths=np.array([len(part.sampled) for part in traces], dtype=np.int64),
        trace=Trace(*map(np.concatenate, zip(*(traces or [empty]), strict=True))),
        k=np.array([-1 if reply.k is None else reply.k for reply in replies], dtype=np.int64),
        displaces=np.array([reply.displaces for reply in replies], dtype=bool),
    )


def _build_row(reply: Reply, trace_after: str | None) -> dict[str, Any]:
    """The values of one response by the columns of ROW_DTYPES."""
    n_steps = None if reply.trace is None else len(reply.trace.sampled)
    # One text per token, or null: some servers leave reasoning out of the tokens.
    has_texts = n_steps is not None and len(reply.tokens) == n_steps
    unusable = reply.unusable
    if trace_after is not None and n_steps is not None and not has_texts:
        unusable = unusable or NO_TOKENS
    return {
        "item_id": parse_id(reply.item_id),
        REPLY_ID: parse_id(reply.reply_id),
        "model": None if reply.model is None else replace_surrogates(str(reply.model)),
        "sample": reply.sample,
        "text": reply.text,
        "finish_reason": reply.finish_reason,
        "prompt_tokens": reply.prompt_tokens,
        "seed": reply.seed,
        "tokens": [replace_surrogates(str(token)) for token in reply.tokens] if n_steps and has_texts else None,
        "token_ids": reply.token_ids,
        "trace_start": find_trace_start(reply, trace_after),
        "unusable": unusable,
    }


def _build_log_columns(replies: Sequence[Reply]) -> list[pl.Series]:
    """The log's own columns as `column.NAME`, and the labels if it has any."""
    names: dict[str, None] = {}
    for reply in replies:
        names |= dict.fromkeys(reply.columns)
    columns = []
    for name in names:
        values = [reply.columns.get(name) for reply in replies]
        columns.append(_build_column(f"column.{replace_surrogates(name)}", values))
    if any(reply.label is not None or reply.label_reason is not None for reply in replies):
        for name, dtype in LABEL_DTYPES.items():
            columns.append(pl.Series(name, [getattr(reply, name) for reply in replies], dtype))
    return columns


def find_trace_start(reply: Reply, trace_after: str | None) -> int:
    """The position after the last token `trace_after` of a reply, or its number of tokens if there is none.

    If `trace_after` is None, return the position that the log states.
    """
    if trace_after is None or reply.trace is None:
        return reply.trace_start
    ends = [position for position, token in enumerate(reply.tokens) if token == trace_after]
    if not ends and reply.thinking is not None:
        return reply.thinking
    return ends[-1] + 1 if ends else len(reply.trace.sampled)


def _build_column(name: str, values: list[Any]) -> pl.Series:
    """A column; values of several types become text."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) > 1 and kinds != {int, float}:
        values = [None if value is None else str(value) for value in values]
    return pl.Series(name, values, strict=False)


def _choose_widths(responses: ResponseBatch, lengths: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The k of each response, (n,): the stated one, or the number of alternatives that most of its steps have.

    `lengths` (n,) are the numbers of tokens, and `counts` (n_steps,) those of alternatives.
    """
    if len(counts) and (counts == counts[0]).all():  # usually
        return np.where(responses.k >= 0, responses.k, np.where(lengths > 0, counts[0], 0))
    ends = lengths.cumsum()
    common = [most_common(counts[end - n : end]) for n, end in zip(lengths, ends, strict=True)]
    return np.where(responses.k >= 0, responses.k, np.array(common, dtype=np.int64))


def _pad_steps(counts: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """The entries, (n_steps, most entries), padded with -inf, and a mask of real entries; None if all are."""
    width = max(int(counts.max(initial=0)), 1)
    if len(values) == len(counts) * width:  # avoids the indices
        return values.reshape(-1, width), None
    mask = np.arange(width) < counts[:, None]
    matrix = np.full(mask.shape, -np.inf, dtype=np.float32)
    matrix[mask] = values
    return matrix, mask


def _find_displaced(matrix: np.ndarray, counts: np.ndarray, sampled: np.ndarray) -> np.ndarray:
    """Whether the sampled token is first and the least likely of several, (n_steps,)."""
    first = matrix[:, 0]
    least = np.where(np.arange(matrix.shape[1]) < counts[:, None], matrix, np.inf).min(axis=1)
    displaced: np.ndarray = (first == sampled) & (first == least) & (first < matrix.max(axis=1))
    return displaced


def sort_steps(matrix: np.ndarray) -> tuple[np.ndarray, int]:
    """Sort each step's entries, largest first, except in steps with NaN; also return the number of unsorted steps."""
    rising = matrix[:, 1:] > matrix[:, :-1]
    if not rising.any():
        return matrix, 0
    wrong = rising.any(axis=1) & ~np.isnan(matrix).any(axis=1)
    matrix = matrix.copy()
    matrix[wrong] = -np.sort(-matrix[wrong], axis=1)
    return matrix, int(wrong.sum())


def _build_arrays(matrix: np.ndarray, mask: np.ndarray | None, width: int) -> pl.Series:
    """The entries as a series of Array(width), (n_steps,), with null for missing entries."""
    flat = pl.Series(np.ascontiguousarray(matrix).ravel(), dtype=pl.Float32)
    if mask is not None and not mask.all():
        flat = pl.select(pl.when(pl.Series(mask.ravel())).then(flat)).to_series()
    return flat.reshape((-1, width)) if len(flat) else _make_empty_arrays(width)


def _make_empty_arrays(width: int) -> pl.Series:
    return pl.Series([], dtype=pl.Array(pl.Float32, width))


class StepCounts(NamedTuple):
    """Numbers of steps that were unsorted, of steps with too few entries, and of responses in half precision."""

    unsorted_steps: int
    short_steps: int
    rounded: dict[str, int]


def to_frame(responses: ResponseBatch, cut: int | None) -> tuple[pl.DataFrame, StepCounts]:
    """The batch as a frame: GENERATIONS with `model`, `top_k_returned`, `unusable` and the log's columns.

    An entry is an alternative of a step. Each step is truncated to `cut` entries, if it is not null; a response with
    fewer entries per step is unusable.
    """
    rows, lengths = responses.rows, responses.lengths
    sampled, counts, values = responses.trace
    row_indices = np.repeat(np.arange(len(rows)), lengths)
    k = _choose_widths(responses, lengths, counts)
    has_few = np.zeros(len(k), dtype=bool)  # responses with fewer entries than `cut`
    if cut:
        has_few = (k < cut) & (k > 0)
        k = np.minimum(k, cut)
    matrix, mask = _pad_steps(counts, values)
    # Usually all steps have all entries, so no mask is needed.
    if mask is None and (k[lengths > 0] < matrix.shape[1]).any():
        mask = np.ones(matrix.shape, dtype=bool)
    displaced = np.zeros(len(row_indices), dtype=bool)
    if responses.displaces.any():
        displaced = _find_displaced(matrix, counts, sampled) & responses.displaces[row_indices]
    matrix, n_unsorted = sort_steps(matrix)
    width = max(int(k.max(initial=0)), 1)
    n_short = 0
    if mask is not None:
        mask = (mask & (np.arange(matrix.shape[1]) < k[row_indices, None]))[:, :width]
        n_short = int((mask.sum(axis=1) < k[row_indices]).sum())
    frame = rows.with_columns(
        n_tokens=pl.Series(lengths, dtype=pl.UInt32),
        token_logprobs=split_lists(pl.Series(sampled, dtype=pl.Float32), lengths),
        top_logprobs=split_lists(_build_arrays(matrix[:, :width], mask, width), lengths),
        displaced_steps=pl.Series(np.bincount(row_indices[displaced], minlength=len(rows)), dtype=pl.UInt32),
        top_k_returned=pl.Series(k, dtype=pl.Int64),
    )
    errors = rounding_error(sampled, matrix, lengths)
    rounded = {}
    for name, error in HALF.items():
        n_rounded = int((errors == error).sum())
        if n_rounded:
            rounded[name] = n_rounded
    return _add_reasons(frame, has_few, cut), StepCounts(n_unsorted, n_short, rounded)


def _add_reasons(frame: pl.DataFrame, few: np.ndarray, cut: int | None) -> pl.DataFrame:
    """Add the reasons why responses are unusable; `few` (n,) marks responses with fewer entries than `cut`."""
    too_few = pl.format("the log has {} alternatives per token, {} are needed", "top_k_returned", pl.lit(cut))
    none = (pl.col("n_tokens") > 0) & (pl.col("top_k_returned") == 0)
    return frame.with_columns(
        unusable=pl.when(pl.Series(few))
        .then(too_few)
        .otherwise(pl.coalesce("unusable", pl.when(none).then(pl.lit(NO_ALTERNATIVES)))),
    ).with_columns(
        # A response without a trace has no k.
        top_k_returned=pl.when(pl.col("unusable").is_null() & (pl.col("n_tokens") > 0)).then("top_k_returned"),
        **{name: pl.lit(None, GENERATIONS.schema[name]) for name in ("top_token_ids", "top_tokens")},
    )


def combine_frames(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Concatenate frames of logs; columns and entries that a frame lacks become null, and differing dtypes text."""
    if "top_logprobs" in frames[0].columns:
        width = max(top_k_of(frame.schema) for frame in frames)
        frames = [_widen_frame(frame, width) for frame in frames]
    return pl.concat(frames, how="diagonal_relaxed")


def _widen_frame(frame: pl.DataFrame, width: int) -> pl.DataFrame:
    """A frame of traces with `width` entries per step, padded with nulls."""
    missing = [pl.lit(None, pl.Float32)] * (width - top_k_of(frame.schema))
    if not missing:
        return frame
    steps = frame["top_logprobs"].explode(empty_as_null=False, keep_nulls=False)
    widened = pl.select(pl.concat_arr(steps, *missing)).to_series() if len(steps) else _make_empty_arrays(width)
    return frame.with_columns(top_logprobs=split_lists(widened, frame["top_logprobs"].list.len().to_list()))
