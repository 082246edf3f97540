"""Read a user's table in the dtypes of a contract, and check its rows and steps.

Nothing is guessed. Columns that the contract lacks are dropped. An unusable value raises InputError with file, row and
column.
"""

import logging
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.features.half_precision import rounding_error
from entropy_sentinel.features.token_lists import ROUNDING, ZERO_PROBABILITY
from entropy_sentinel.schemas.contract import Column, Contract, Dtype
from entropy_sentinel.schemas.generation_schema import TOP_K
from entropy_sentinel.schemas.response_schema import RESPONSE, SAMPLE

# Number of responses whose traces are checked at a time, because arrays of traces take several times their memory.
RESPONSES_AT_A_TIME = 1000
log = logging.getLogger(__name__)


class ImpossibleStep(NamedTuple):
    """An impossible step: its row and number, both from 0; its column; the rule that it breaks; and its value."""

    row: int
    step: int
    column: str
    must: str
    was: Any


def align_widths(top: pl.Series) -> pl.Series | ImpossibleStep:
    """Convert `top`, which has a list of steps per response, to arrays with the number of entries of most steps.

    If a step has another number of entries, returns the first such step instead.
    """
    steps = top.explode(empty_as_null=False, keep_nulls=False)
    lengths = steps.arr.to_list().list.len() if isinstance(steps.dtype, pl.Array) else steps.list.len()
    counts = lengths.drop_nulls().value_counts(sort=True, name="n").filter(pl.col(top.name) > 0)
    width = counts.row(0)[0] if len(counts) else TOP_K
    wrong = (lengths != width).arg_true()
    if not len(wrong):
        return top.cast(pl.List(pl.Array(pl.Float32, width)))
    ends = top.list.len().fill_null(0).to_numpy().cumsum()
    row, step = _locate_step(wrong[0], ends)
    must = f"must have as many entries as most other steps ({width}), has {lengths[wrong[0]]}"
    return ImpossibleStep(row, step, top.name, must, steps[wrong[0]].to_list())


def _locate_step(position: int, ends: np.ndarray) -> tuple[int, int]:
    """The row of a step's response, and the step's number in it, by its `position` among the steps of all responses.

    `ends` has, for each response, the number of steps up to its last one.
    """
    row = int(np.searchsorted(ends, position, side="right"))
    start = int(ends[row - 1]) if row else 0
    return row, position - start


def find_impossible_step(traces: pl.DataFrame) -> ImpossibleStep | None:
    """The first impossible step of `traces` (columns token_logprobs and top_logprobs of GENERATIONS), or None.

    NaN is allowed: it shows that the engine failed at the step, and the features become null with this reason.
    """
    for slice_number, part in enumerate(traces.iter_slices(RESPONSES_AT_A_TIME)):
        ends = part["token_logprobs"].list.len().to_numpy().astype(np.int64).cumsum()
        top = part["top_logprobs"].explode(empty_as_null=False, keep_nulls=False)
        sampled = part["token_logprobs"].explode(empty_as_null=False, keep_nulls=False)
        lengths = np.diff(ends, prepend=0)
        for column, must, wrong in _check_steps(top, sampled.to_numpy(), lengths):
            if wrong.any():
                position = int(wrong.argmax())
                row, step = _locate_step(position, ends)
                was = sampled[position] if column == "token_logprobs" else top[position]
                was = was.to_list() if isinstance(was, pl.Series) else was
                return ImpossibleStep(slice_number * RESPONSES_AT_A_TIME + row, step, column, must, was)
    return None


def _check_steps(top: pl.Series, sampled: np.ndarray, lengths: np.ndarray) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield each check of `top` (n_steps, k) and `sampled` (n_steps,) in nats: column, rule, and its failing steps.

    The failing steps are a mask (n_steps,). `lengths` (n,) are the numbers of steps of the responses.
    """
    nulls = top.arr.eval(pl.element().is_null(), as_list=True).list.any().fill_null(True).to_numpy()
    values = top.to_numpy()
    rising = (values[:, 1:] > values[:, :-1]).any(axis=1)
    largest = f"must have the {values.shape[1]} largest log-probabilities of every step, largest first, without null"
    yield "top_logprobs", largest, nulls | rising
    yield "top_logprobs", "must have a token of probability above 0", values[:, 0] <= ZERO_PROBABILITY
    # Rounding to half precision changes the sum: a relative error e of each log p changes sum(p) by at most about
    # e * sum(p * |log p|), which is e times the entropy.
    relative_error = np.repeat(rounding_error(sampled, values, lengths), lengths)
    with np.errstate(over="ignore", invalid="ignore"):  # of raw logits
        p = np.exp(values)
        entropy = -np.sum(p * np.where(p > 0, values, 0), axis=1)
        largest_rounding = np.where(relative_error > 0, relative_error * entropy, 0)
        exceeds_one = p.sum(axis=1) - largest_rounding > 1 + ROUNDING
    yield "top_logprobs", "must be logarithms of probabilities whose sum is at most 1", exceeds_one
    exceeds_top = sampled > values[:, 0] + ROUNDING
    yield "token_logprobs", "must be at most the largest of the step's top_logprobs", exceeds_top


def read_columns(source: str, contract: Contract, nullable_by_column: Mapping[str, bool]) -> pl.DataFrame:
    """Read the contract's columns from a Parquet file in the contract's dtypes; number a missing `sample` per item.

    `nullable_by_column` has the columns that the file must have, and whether each may be null.
    """
    try:
        raw = pl.read_parquet(source)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{source}: must be a Parquet file: {error}") from None
    return convert_columns(raw, source, contract, nullable_by_column)


def convert_columns(
    raw: pl.DataFrame, source: str, contract: Contract, nullable_by_column: Mapping[str, bool]
) -> pl.DataFrame:
    """The contract's columns of `raw`, the table in the file `source`, in the contract's dtypes.

    `nullable_by_column` has the columns that it must have, and whether each may be null. A missing `sample` is numbered
    per item. Raises InputError for a missing column, a value that does not convert, and a repeated key.
    """
    for name in nullable_by_column:
        if name not in raw.columns:
            raise InputError(f"{source}: column '{name}' is missing; columns: {', '.join(raw.columns)}")
    if not len(raw):
        raise InputError(f"{source}: has no rows")
    present_columns = [column for column in contract.columns if column.name in raw.columns]
    frame = pl.DataFrame([_convert_column(raw[column.name], column, source) for column in present_columns])
    for column in present_columns:
        if not nullable_by_column.get(column.name, column.nullable):
            refuse_rows(frame, source, {column.name: (pl.col(column.name).is_null(), "must not be null")})
    if "sample" not in frame.columns:
        frame = frame.with_columns(sample=pl.int_range(pl.len(), dtype=pl.UInt16).over("item_id"))
    # The contract's key without model and benchmark, which the study knows; its first column is `item_id`.
    key = [name for name in contract.key if name in SAMPLE or name not in RESPONSE]
    is_repeated = pl.struct(key).is_first_distinct().not_()
    refuse_rows(frame, source, {"item_id": (is_repeated, f"must occur once per {' and '.join(key[1:])}")})
    return frame


def add_missing_columns(
    frame: pl.DataFrame, contract: Contract, values: Mapping[str, Any] | None = None
) -> pl.DataFrame:
    """`frame` with all columns of the contract; a missing one gets its constant or expression in `values`, or null."""
    missing = {}
    for name, dtype in contract.schema.items():
        if name not in frame.columns:
            value = (values or {}).get(name)
            missing[name] = (value if isinstance(value, pl.Expr) else pl.lit(value)).cast(dtype)
    return frame.with_columns(**missing)


def refuse_rows(frame: pl.DataFrame, source: str, checks: Mapping[str, tuple[pl.Expr, str]]) -> None:
    """Raise InputError for the first row that fails a check.

    `checks` has by column an expression that is true for wrong rows, and the rule that they break (`must be ...`).
    """
    for column, (wrong, must) in checks.items():
        rows = frame.select(wrong.fill_null(False)).to_series().arg_true()
        if len(rows):
            raise make_row_error(source, rows[0], column, must, frame[column][rows[0]])


def has_null(column: str) -> pl.Expr:
    """An expression: whether a row's list in `column` contains null."""
    return pl.col(column).list.eval(pl.element().is_null()).list.any()


def has_unknown_sample(responses: pl.DataFrame) -> pl.Expr:
    """An expression: whether a row has the item of one of the `responses` (item_id, sample), but no such sample."""
    answered = pl.col("item_id").is_in(responses["item_id"].implode())
    return answered & ~pl.struct(SAMPLE).is_in(responses.select(pl.struct(SAMPLE)).to_series().implode())


def select_items(frame: pl.DataFrame, item_ids: pl.Series, source: str) -> tuple[pl.DataFrame, int]:
    """The rows of `frame` with item ids in `item_ids`, and the number of other rows.

    Raises InputError for the first id that no item of the benchmark can have, and if no row remains.
    """
    benchmark = item_ids[0].rpartition("-")[0]  # ids are `{benchmark}-{row}`
    possible = pl.col("item_id").str.contains(rf"^{re.escape(benchmark)}-[0-9]{{5,}}$")
    refuse_rows(frame, source, {"item_id": (~possible, f"must be an item of the benchmark, {benchmark}-NNNNN")})
    used = frame.filter(pl.col("item_id").is_in(item_ids.implode()))
    n_unused = len(frame) - len(used)
    if used.is_empty():
        raise InputError(
            f"{source}: none of its {n_unused} rows belongs to an item of the study, such as {item_ids[0]}; the "
            "number in an id must be the item's row in the benchmark's source, from 0"
        )
    if n_unused:
        log.info("%s: skipped %d of %d rows for items that the study does not use", source, n_unused, len(frame))
    return used, n_unused


def _convert_column(values: pl.Series, column: Column, source: str) -> pl.Series:
    """A column in the contract's dtype; `top_logprobs` keeps its number of entries."""
    inner = values.dtype.inner if isinstance(values.dtype, pl.List) else None
    if column.name == "top_logprobs" and isinstance(inner, pl.List | pl.Array) and inner.inner.is_numeric():
        top = align_widths(values)
        if isinstance(top, ImpossibleStep):
            raise make_row_error(source, f"{top.row}, step {top.step}", top.column, top.must, top.was)
        return top
    return _cast_column(values, column.dtype, source)


def _cast_column(column: pl.Series, dtype: Dtype, source: str) -> pl.Series:
    """The column in the contract's dtype; raises InputError for the first value that does not convert."""
    if dtype == pl.Boolean and column.dtype not in (pl.Boolean, pl.Null):
        raise InputError(f"{source}: column '{column.name}' must be Boolean, got {column.dtype}")
    try:
        return _cast_exactly(column, dtype)
    except pl.exceptions.PolarsError:
        row = next(row for row in range(len(column)) if not _can_cast(column[row : row + 1], dtype))
        raise make_row_error(source, row, column.name, f"must be {dtype}", column[row]) from None


def _cast_exactly(column: pl.Series, dtype: Dtype) -> pl.Series:
    """Convert a column; raise PolarsError for a value that does not convert, such as 0.5 to an integer."""
    cast = column.cast(dtype)
    if dtype.is_integer() and column.dtype.is_float() and not cast.cast(column.dtype).equals(column):
        raise pl.exceptions.InvalidOperationError("not a whole number")
    return cast


def _can_cast(value: pl.Series, dtype: Dtype) -> bool:
    """Whether a column with a single value converts to the dtype."""
    try:
        _cast_exactly(value, dtype)
    except pl.exceptions.PolarsError:
        return False
    return True


def make_row_error(source: str, row: int | str, column: str, must: str, was: Any) -> InputError:
    """The error for the value `was` in a row of the file `source`, which breaks the rule `must`."""
    was = was.to_list() if isinstance(was, pl.Series) else was
    return InputError(f"{source}: row {row}: '{column}' {must}; got {str(was)[:200]}")
