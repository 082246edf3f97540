"""The table of slices, as a terminal, a notebook and the page show it: its columns, and what a slice is called."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import polars as pl

from entropy_sentinel.frames.numbers import number
from entropy_sentinel.frames.printable import one_line
from entropy_sentinel.monitor.catalogue import STATISTICS, Statistic
from entropy_sentinel.monitor.result import Monitored

# The column that rows have where labels were given.
LABELLED = "labelled_accuracy"

Row = Mapping[str, Any]
# What stands above a column, and what a row has in it.
Shown = tuple[str, Callable[[Row], str]]


def table_of(found: Monitored, rows: pl.DataFrame, most: int) -> tuple[list[str], list[list[str]]]:
    """What stands above the numbers of slices; of the first `most` rows the slice's name and its numbers."""
    shown = list(_columns(found, rows))
    cells = [
        [slice_name(row[name] for name in found.by), *(cell(row) for _, cell in shown)]
        for row in rows.head(most).iter_rows(named=True)
    ]
    return [heading for heading, _ in shown], cells


def _columns(found: Monitored, rows: pl.DataFrame) -> Iterator[Shown]:
    """The columns after the slice's name; flags but for those that all slices have."""
    about = found.provenance
    yield "responses", lambda row: f"{row['n_estimated']:,}{_pooled(row, about['window'])}"
    yield "estimated", lambda row: number(row["estimated_accuracy"])
    yield f"{about['level']:.0%} interval" if len(rows) else "interval", lambda row: _interval(row, "", ".3f")
    yield "errors expected", _errors
    if about["reference"] is not None:
        yield "change", lambda row: number(row["change"], "+.3f")
        yield "q", lambda row: number(row["change_q"], ".2g")
    for one in STATISTICS.values():
        if one.heading:
            yield one.heading, partial(_statistic, one)
    if LABELLED in rows.columns:
        yield "labels say (n)", _labels
        yield "with labels", lambda row: number(row["improved_accuracy"])
        yield "interval", lambda row: _interval(row, "improved_", ".3f")
        yield "read", lambda row: row["read"]
    if "true_accuracy" in rows.columns:
        yield "labels", lambda row: f"{row['n_labelled']:,}"
        yield "estimated on them", lambda row: number(row["estimated_on_labelled"])
        yield "true", lambda row: number(row["true_accuracy"])
        yield "error", lambda row: number(row["error"], "+.3f")
    yield "flags", lambda row: ", ".join(flag for flag in row["flags"] if flag not in about["general_flags"])


def _statistic(one: Statistic, row: Row) -> str:
    return number(row[one.name], one.form)


def _pooled(row: Row, window: str) -> str:
    return f" in {row['n_windows']} {window}s" if row.get("n_windows", 1) > 1 else ""


def _labels(row: Row) -> str:
    return f"{number(row['labelled_accuracy'])} ({row['n_labelled']:,})" if row["n_labelled"] else "-"


def _interval(row: Row, of: str, form: str) -> str:
    lower, upper = row[f"{of}lower"], row[f"{of}upper"]
    return "-" if lower is None else f"{lower:{form}}-{upper:{form}}"


def _errors(row: Row) -> str:
    if row["expected_errors"] is None:
        return "-"
    return f"{row['expected_errors']:,.0f} ({_interval(row, 'expected_errors_', ',.0f')})"


def slice_name(values: Iterable[Any]) -> str:
    """How a slice is called: its values, - for one that a response has not, and "-" for one that is so."""
    shown = ("-" if value is None else one_line(str(value)) if value != "-" else '"-"' for value in values)
    return ", ".join(shown)
