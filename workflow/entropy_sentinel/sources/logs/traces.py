"""Replies as frames of GENERATIONS with one width of top k, in which a step without so many entries has nulls.

Sorting, cutting and padding are done here, for all formats: entries of a step are sorted, largest first; a response has
as many as most of its steps have, or as its format says; further ones (a sampled token that is not among the k most
likely) are left out.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from entropy_sentinel.frames.arrow import split
from entropy_sentinel.frames.generation import GENERATIONS, top_k_of
from entropy_sentinel.sources.logs import entries
from entropy_sentinel.sources.logs.reply import NO_ALTERNATIVES
from entropy_sentinel.sources.logs.responses import Responses


class Counted(NamedTuple):
    """How many steps were out of order, and how many lack entries."""

    unsorted_steps: int
    short_steps: int


def to_frame(responses: Responses, cut: int | None) -> tuple[pl.DataFrame, Counted]:
    """The batch as a frame: GENERATIONS with `model`, `top_k_returned`, `unusable` and the log's columns.

    `cut` leaves so many entries to a step; a response that has fewer is unusable.
    """
    rows, lengths = responses.rows, responses.lengths
    sampled, counts, values = responses.trace
    of_row = np.repeat(np.arange(len(rows)), lengths)
    k = entries.widths(responses, lengths, counts)
    few = (k < cut) & (k > 0) if cut else np.zeros(len(k), dtype=bool)
    if cut:
        k = np.minimum(k, cut)
    matrix, there = entries.matrix(counts, values)
    # Where all steps have all entries, as a rule, nothing is looked at entry by entry.
    if there is None and (k[lengths > 0] < matrix.shape[1]).any():
        there = np.ones(matrix.shape, dtype=bool)
    displaced = np.zeros(len(of_row), dtype=bool)
    if responses.displaces.any():
        displaced = entries.displaced(matrix, counts, sampled) & responses.displaces[of_row]
    matrix, n_unsorted = entries.in_order(matrix)
    width = max(int(k.max(initial=0)), 1)
    n_short = 0
    if there is not None:
        there = (there & (np.arange(matrix.shape[1]) < k[of_row, None]))[:, :width]
        n_short = int((there.sum(axis=1) < k[of_row]).sum())
    frame = rows.with_columns(
        n_tokens=pl.Series(lengths, dtype=pl.UInt32),
        token_logprobs=split(pl.Series(sampled, dtype=pl.Float32), lengths),
        top_logprobs=split(entries.array(matrix[:, :width], there, width), lengths),
        displaced_steps=pl.Series(np.bincount(of_row[displaced], minlength=len(rows)), dtype=pl.UInt32),
        top_k_returned=pl.Series(k, dtype=pl.Int64),
    )
    return _judged(frame, few, cut), Counted(n_unsorted, n_short)


def _judged(frame: pl.DataFrame, few: np.ndarray, cut: int | None) -> pl.DataFrame:
    """The frame with it said of what is unusable: `few` (n,) are responses with fewer entries than `cut`."""
    too_few = pl.format("{} alternatives to a token in the log, {} are asked for", "top_k_returned", pl.lit(cut))
    none = (pl.col("n_tokens") > 0) & (pl.col("top_k_returned") == 0)
    return frame.with_columns(
        unusable=pl.when(pl.Series(few))
        .then(too_few)
        .otherwise(pl.coalesce("unusable", pl.when(none).then(pl.lit(NO_ALTERNATIVES)))),
    ).with_columns(
        # Without a trace it has no k.
        top_k_returned=pl.when(pl.col("unusable").is_null() & (pl.col("n_tokens") > 0)).then("top_k_returned"),
        **{name: pl.lit(None, GENERATIONS.schema[name]) for name in ("top_token_ids", "top_tokens")},
    )


def combined(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Frames of logs as one: null where one lacks a column or entries to a step, text where dtypes differ."""
    if "top_logprobs" in frames[0].columns:
        width = max(top_k_of(frame.schema) for frame in frames)
        frames = [_widened(frame, width) for frame in frames]
    return pl.concat(frames, how="diagonal_relaxed")


def _widened(frame: pl.DataFrame, width: int) -> pl.DataFrame:
    """A frame of traces with `width` entries to a step, nulls where a response has fewer."""
    missing = [pl.lit(None, pl.Float32)] * (width - top_k_of(frame.schema))
    if not missing:
        return frame
    steps = frame["top_logprobs"].explode(empty_as_null=False, keep_nulls=False)
    more = pl.select(pl.concat_arr(steps, *missing)).to_series() if len(steps) else entries.array_of_none(width)
    return frame.with_columns(top_logprobs=split(more, frame["top_logprobs"].list.len().to_list()))
