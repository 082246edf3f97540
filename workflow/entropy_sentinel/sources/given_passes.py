"""Passes made elsewhere: what a model said where it was asked again about its responses, checked and taken over."""

from collections.abc import Iterator

import polars as pl
from polars.datatypes import DataTypeClass

from entropy_sentinel.features.tokens import ROUNDING
from entropy_sentinel.frames.contract import Contract, Dtype
from entropy_sentinel.frames.response import RESPONSE, SAMPLE
from entropy_sentinel.frames.signals import EnginePass
from entropy_sentinel.sources.given_table import has_null, of_items, of_none, read_columns, refuse_rows, with_missing

# The least and the largest number of each unit: entropies and areas, log-probabilities, probabilities.
_LIMITS = {"bits": (0.0, float("inf")), "nats": (float("-inf"), 0.0), "1": (0.0, 1.0)}


def import_pass(responses: pl.DataFrame, source: str, asks: EnginePass) -> tuple[pl.DataFrame, int]:
    """The rows of the file `source` on `responses` (columns RESPONSE), in their order: a frame of `asks.contract`.

    A response may have no row. Also the number of rows on items without a response, which are set aside. Raises
    InputError for what cannot be used.
    """
    contract = asks.contract
    required = {
        column.name: column.nullable
        for column in contract.columns
        if not column.added and (column.name in SAMPLE or column.name not in RESPONSE)
    }
    found = read_columns(source, contract, required)
    refuse_rows(found, source, {"sample": (of_none(responses), "must be that of a response of the model")})
    refuse_rows(found, source, dict(_impossible_numbers(contract)))
    lists = [column.name for column in contract.columns if isinstance(column.dtype, pl.List)]
    refuse_rows(found, source, {name: (has_null(name), "must not hold null") for name in lists})
    refuse_rows(found, source, dict(_other_lengths(asks)))
    found, unused = of_items(found, responses["item_id"], source)
    rows = with_missing(found, contract).drop("model", "benchmark")
    frame = responses.join(rows, on=SAMPLE, how="inner", maintain_order="left_right")
    return frame.select(contract.schema.names()), unused


def _impossible_numbers(contract: Contract) -> Iterator[tuple[str, tuple[pl.Expr, str]]]:
    for column in contract.columns:
        if column.unit in _LIMITS and _of_floats(column.dtype):
            low, high = _LIMITS[column.unit]
            wrong = _beyond(pl.col(column.name), column.dtype, low - ROUNDING, high + ROUNDING)
            yield column.name, (wrong, f"must be finite and from {low:g} to {high:g} ({column.unit})")


def _of_floats(dtype: Dtype | DataTypeClass) -> bool:
    return _of_floats(dtype.inner) if isinstance(dtype, pl.List) else dtype.is_float()


def _beyond(values: pl.Expr, dtype: Dtype | DataTypeClass, low: float, high: float) -> pl.Expr:
    """Whether any number of each row is not finite, or not within the limits; numbers may lie in lists of lists."""
    if isinstance(dtype, pl.List):
        return values.list.eval(_beyond(pl.element(), dtype.inner, low, high)).list.any()
    return ~(values.is_finite() & values.is_between(low, high))


def _other_lengths(asks: EnginePass) -> Iterator[tuple[str, tuple[pl.Expr, str]]]:
    for first, *others in asks.alike:
        for name in others:
            other = pl.col(first).list.len().ne_missing(pl.col(name).list.len())
            yield name, (other, f"must have an entry for each of {first}")
