"""The responses that a sample is drawn from: slice by slice, in an order that chance has made."""

import hashlib

import polars as pl

from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.frames.response import RESPONSE
from entropy_sentinel.monitor.reading.inputs import BY
from entropy_sentinel.monitor.settings import SampleOptions

# Of a row, beside the columns of a log, which may have any name: the number of its slice, and its place in the order.
SLICE, ORDER = "(slice)", "(order)"


def candidates(rows: pl.DataFrame, asked: SampleOptions) -> pl.DataFrame:
    """The responses that can be estimated, sorted by SLICE and ORDER; InputError where none can be."""
    rows = rows.filter(pl.col("excluded").is_null())
    if rows.is_empty():
        raise InputError("logs: no response has features, so none can be chosen")
    rows = rows.drop(asked.by, strict=False).rename({f"{BY}{name}": name for name in asked.by})
    one = pl.struct(asked.by).rank("dense") if asked.by else pl.lit(1)
    return rows.with_columns(one.alias(SLICE), _order(rows, asked.seed).alias(ORDER)).sort(SLICE, ORDER)


def identity(rows: pl.DataFrame) -> tuple[str, ...]:
    """The ids alone, where they tell the responses apart: labels may be given back with a log of another name."""
    return ("item_id",) if rows["item_id"].is_unique().all() else RESPONSE


def _order(rows: pl.DataFrame, seed: int) -> pl.Series:
    """A number for each response that looks drawn by chance, and is the same wherever the response stands."""
    names = rows.select(identity(rows)).iter_rows()
    return pl.Series([_drawn_number(f"{seed} {name}") for name in names], dtype=pl.UInt64)


def _drawn_number(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
