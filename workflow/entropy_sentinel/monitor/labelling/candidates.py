"""The responses that a sample is drawn from: slice by slice, in an order that chance has made."""

import hashlib
from collections.abc import Sequence

import polars as pl

from entropy_sentinel.features.catalogue import FEATURES
from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.frames.response import RESPONSE
from entropy_sentinel.monitor.settings import SampleOptions
from entropy_sentinel.sources.logs.question import QUESTION
from entropy_sentinel.sources.logs.settings import FormatOptions
from entropy_sentinel.verbs.files import Paths
from entropy_sentinel.verbs.frames import features_table, is_table, require_slices
from entropy_sentinel.verbs.reading import read_features

# Of a row, beside the columns of a log, which may have any name: the number of its slice, and its place in the order.
SLICE, ORDER = "(slice)", "(order)"
_OWN_COLUMNS = ("model", "benchmark")


def candidates(logs: Paths | pl.DataFrame, asked: SampleOptions, signals: Sequence[str]) -> pl.DataFrame:
    """The responses with features, and the further `signals`, sorted by SLICE and ORDER; InputError where none is."""
    rows = _rows(logs, asked, signals).filter(pl.col("reason").is_null())
    if rows.is_empty():
        raise InputError("logs: no response has features, so none can be chosen")
    one = pl.struct(asked.by).rank("dense") if asked.by else pl.lit(1)
    return rows.with_columns(one.alias(SLICE), _order(rows, asked.seed).alias(ORDER)).sort(SLICE, ORDER)


def _rows(logs: Paths | pl.DataFrame, asked: SampleOptions, signals: Sequence[str]) -> pl.DataFrame:
    """Features with the columns of the slices by their names, and `question` and `response`."""
    if is_table(logs):
        rows = features_table(logs, signals=signals)
    else:
        options = {name: getattr(asked, name) for name in FormatOptions.model_fields}
        columns = [*(one for one in asked.by if one not in _OWN_COLUMNS), QUESTION]
        found = read_features(logs, texts=True, signals=signals, columns=columns, **options)
        rows = features_table(found, signals=signals)
    for name in asked.by:
        # A log's column with the name of one that every frame has goes by `log_NAME`.
        there = [one for one in (f"log_{name}", name) if one in rows.columns]
        if not there or rows[there[0]].null_count() == len(rows):
            raise InputError(f"by: no response has a '{name}'; columns there: {', '.join(_slice_columns(rows))}")
        require_slices(rows, there[:1], "by")
        rows = rows.with_columns(rows[there[0]].alias(name))
    texts = (QUESTION, "response")
    return rows.with_columns(pl.lit(None, pl.String).alias(name) for name in texts if name not in rows.columns)


def _slice_columns(rows: pl.DataFrame) -> list[str]:
    taken = {*FEATURES, QUESTION, "response"}
    return [name for name in rows.columns if name not in taken and rows[name].null_count() < len(rows)]


def identity(rows: pl.DataFrame) -> tuple[str, ...]:
    """The ids alone, where they tell the responses apart: labels may be given back with a log of another name."""
    return ("item_id",) if rows["item_id"].is_unique().all() else RESPONSE


def _order(rows: pl.DataFrame, seed: int) -> pl.Series:
    """A number for each response that looks drawn by chance, and is the same wherever the response stands."""
    names = rows.select(identity(rows)).iter_rows()
    return pl.Series([_drawn_number(f"{seed} {name}") for name in names], dtype=pl.UInt64)


def _drawn_number(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
