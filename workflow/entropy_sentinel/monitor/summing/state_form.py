"""Check the form of a state's content: its own row, and the frames of the parts of files.

A checksum finds what was damaged. These checks find content with a right checksum that this version cannot use, such as
that of another program or of a later version. They raise ValueError with the reason.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl

from entropy_sentinel.core.registry_entries import is_built_in
from entropy_sentinel.monitor.reading.deduplication import HASH_COLUMNS
from entropy_sentinel.monitor.reading.dependence import CLUSTER, STRATUM
from entropy_sentinel.monitor.reading.exclusions import SCHEMA
from entropy_sentinel.monitor.reading.feature_stream import SLICE_PREFIX
from entropy_sentinel.monitor.reading.time_zones import DTYPE
from entropy_sentinel.monitor.slice_columns import LISTS, STATISTICS
from entropy_sentinel.monitor.summing.cluster_sums import CLUSTER_COLUMNS
from entropy_sentinel.monitor.summing.slice_sums import IS_TRAINING, P_OUT_OF_FOLD
from entropy_sentinel.schemas.response_schema import RESPONSE_COLUMNS

# Larger sums than any log has, whose squares are numbers.
_MOST = 1e100
_RESPONSES: dict[str, Any] = {column.name: column.dtype for column in RESPONSE_COLUMNS}


def check_sums(
    frame: pl.DataFrame, by: Sequence[str], statistics: Collection[str], n_values: int | None
) -> pl.DataFrame:
    """A frame of `KeyedSums.to_frame`: its slice columns, its window, the known `statistics`, and the lists.

    `n_values` is the number of values that the estimator computes for a response, null if it is not known.
    """
    sums = {STATISTICS[name].kept_as: pl.Float64 for name in statistics}
    checked = _check_columns(frame, {**_make_key_schema(by), **sums})
    for name in statistics:
        # A statistic of an extension may have any sum, if it is no count.
        if name.startswith("n_") or is_built_in("statistics", name):
            _check_between(frame[STATISTICS[name].kept_as], 0, 2**53)
    if n_values is None:
        n_values = _read_width(frame, "values")
    if _read_width(frame, "values") != n_values or _read_width(frame, "products") != n_values * (n_values + 1) // 2:
        raise ValueError("the sums of values and of their products are not those of the estimator")
    for name in ("values", "products"):
        _check_between(frame[name].explode(), -_MOST, _MOST)
    return checked.with_columns(frame[name] for name in LISTS if name in frame.columns)


def check_responses(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """A frame of responses: their ids, slice columns, window, cluster and prediction.

    Predictions are numbers, or all null.
    """
    hashes = dict.fromkeys((CLUSTER, STRATUM), pl.UInt64())
    for name in set(hashes) - set(frame.columns):  # written by an earlier version
        frame = frame.with_columns(pl.lit(None, pl.UInt64).alias(name))
    if IS_TRAINING not in frame.columns:
        frame = frame.with_columns(pl.lit(False).alias(IS_TRAINING), pl.lit(None, pl.Float64).alias(P_OUT_OF_FOLD))
    training = {IS_TRAINING: pl.Boolean(), P_OUT_OF_FOLD: pl.Float64()}
    columns = {**_RESPONSES, **_make_key_schema(by), **hashes, **training, "p": pl.Float64}
    nullable = ["model", "benchmark", "item_id", P_OUT_OF_FOLD, *hashes]
    if "p" in frame.columns and frame["p"].null_count() == len(frame):  # without an estimator
        nullable.append("p")
    checked = _check_columns(frame, columns, nullable)
    for name in ("p", P_OUT_OF_FOLD):
        _check_between(frame[name].drop_nulls(), 0, 1)
    return checked


def check_exclusions(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """A frame of exclusions, with their slice columns."""
    checked = _check_columns(frame, {**_make_key_schema(by), **SCHEMA}, nullable=("subject", "hash"))
    _check_between(frame["n"], 0, 2**53)
    return checked


def check_clusters(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """A frame of the sums of clusters, with their slice columns and window."""
    checked = _check_columns(frame, {**_make_key_schema(by), **CLUSTER_COLUMNS})
    for name in ("x", "xx"):
        _check_between(frame[name], -_MOST, _MOST)
    _check_between(frame["n"], 1, 2**32 - 1)
    return checked


def check_hashes(frame: pl.DataFrame, _: Sequence[str]) -> pl.DataFrame:
    """A frame of the responses' hashes."""
    return _check_columns(frame, HASH_COLUMNS)


def list_widths(frame: pl.DataFrame) -> tuple[int, ...]:
    """The number of values in each list of a frame of sums, which is the same in all frames of a state."""
    return tuple(_read_width(frame, name) for name in LISTS)


def check_state(row: Any) -> None:
    """Check the row about the state itself."""
    texts = isinstance(row, Mapping) and all(isinstance(row.get(name), str) for name in ("estimator", "checksum"))
    if not texts or not isinstance(row.get("reading"), Mapping):
        raise ValueError("the row about the state has another form")


def _make_key_schema(by: Sequence[str]) -> dict[str, Any]:
    """The dtypes of the slice columns and of the smallest window."""
    return {**{f"{SLICE_PREFIX}{name}": pl.String for name in by}, "grain": DTYPE}


def _check_columns(frame: pl.DataFrame, columns: Mapping[str, Any], nullable: Sequence[str] = ()) -> pl.DataFrame:
    """The frame with only these columns; raises ValueError for another dtype, or a null where none may be."""
    for name, kind in columns.items():
        if frame.schema.get(name) != kind:
            raise ValueError(f"the column '{name}' must be {kind}, got {frame.schema.get(name, 'missing')}")
        if name != "grain" and not name.startswith(SLICE_PREFIX) and name not in nullable and frame[name].null_count():
            raise ValueError(f"the column '{name}' must have no null")
    return frame.select(list(columns))


def _check_between(numbers: pl.Series, least: float, most: float) -> None:
    """Raise ValueError if a number of the column is not from `least` to `most`."""
    if not numbers.is_between(least, most).all():  # NaN is above all numbers
        raise ValueError(f"the column '{numbers.name}' must have numbers from {least:g} to {most:g}")


def _read_width(frame: pl.DataFrame, name: str) -> int:
    """The number of values in each row of a list, 0 without the list."""
    kind = frame.schema.get(name)
    if kind is None:
        return 0
    if not isinstance(kind, pl.Array) or not kind.inner.is_numeric():
        raise ValueError(f"the column '{name}' must be an array of numbers, got {kind}")
    if frame[name].null_count() or frame[name].explode().null_count():
        raise ValueError(f"the column '{name}' must have no null")
    return kind.size
