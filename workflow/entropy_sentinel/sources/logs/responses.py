"""Responses of a batch: what is no trace as a frame, and their traces one after the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.sources.logs.reply import NO_TOKENS, Reply, Trace, storable

# Columns of a batch's rows that every format has, in its dtypes; those of the log are named `column.NAME` beside them.
ROWS: dict[str, pl.DataType | type[pl.DataType]] = {
    "item_id": pl.String,
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


@dataclass(frozen=True)
class Responses:
    """Responses of a batch: a frame with what is no trace, and their traces one after the other.

    `rows` (n,) has the columns of ROWS, and those of the log as `column.NAME`. `lengths` are the tokens of each, `k`
    their alternatives where the format says so (else -1), `displaces` where the sampled token may stand first in place
    of the k-th.
    """

    rows: pl.DataFrame
    lengths: np.ndarray  # (n,)
    trace: Trace
    k: np.ndarray  # (n,)
    displaces: np.ndarray  # (n,)


def gathered(replies: Sequence[Reply], trace_after: str | None, place: str | None = None) -> Responses:
    """Replies as a batch; the features are over what follows the last `trace_after` among a reply's tokens.

    `place` is the name of a column for where each stands, if one is wanted.
    """
    starts = [start_of(one, trace_after) for one in replies]
    if trace_after is not None:
        for one in replies:
            if one.trace is not None and len(one.tokens) != len(one.trace.sampled):
                one.unusable = one.unusable or NO_TOKENS
    columns: dict[str, list[Any]] = {
        "item_id": [None if one.item_id is None else storable(str(one.item_id)) for one in replies],
        "model": [None if one.model is None else storable(str(one.model)) for one in replies],
        "trace_start": starts,
        # One text for each token, or none at all: the reasoning of some servers is not among the tokens.
        "tokens": [_texts(one) for one in replies],
        **{
            name: [getattr(one, name) for one in replies]
            for name in ("sample", "text", "finish_reason", "prompt_tokens", "seed", "token_ids", "unusable")
        },
    }
    names = dict.fromkeys(name for one in replies for name in one.columns)
    slices = [_column(f"column.{storable(name)}", [one.columns.get(name) for one in replies]) for name in names]
    if place is not None:
        slices.append(pl.Series(place, [one.place for one in replies], dtype=pl.String))
    none = Trace(np.zeros(0, np.float32), np.zeros(0, np.int64), np.zeros(0, np.float32))
    traces = [one.trace or none for one in replies]
    return Responses(
        pl.DataFrame([pl.Series(name, columns[name], dtype=dtype) for name, dtype in ROWS.items()] + slices),
        np.array([len(one.sampled) for one in traces], dtype=np.int64),
        Trace(*map(np.concatenate, zip(*(traces or [none]), strict=True))),
        np.array([-1 if one.k is None else one.k for one in replies], dtype=np.int64),
        np.array([one.displaces for one in replies], dtype=bool),
    )


def _texts(one: Reply) -> list[str] | None:
    whole = one.trace is not None and len(one.tokens) == len(one.trace.sampled) > 0
    return [storable(str(token)) for token in one.tokens] if whole else None


def start_of(one: Reply, trace_after: str | None) -> int:
    """The position after the last `trace_after` among a reply's tokens, their number where it never came.

    Where no token is asked for, what the log says.
    """
    if trace_after is None or one.trace is None:
        return one.trace_start
    ends = [position for position, token in enumerate(one.tokens) if token == trace_after]
    return ends[-1] + 1 if ends else len(one.trace.sampled)


def _column(name: str, values: list[Any]) -> pl.Series:
    """Values of one type as they are, of several as text."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) > 1 and kinds != {int, float}:
        values = [None if value is None else str(value) for value in values]
    return pl.Series(name, values, strict=False)
