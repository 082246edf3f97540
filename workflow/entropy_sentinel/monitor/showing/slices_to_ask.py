"""List the slices about which a second opinion is worth its price: new and unfamiliar ones, and those that dropped."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.formatting.spreadsheet import write_table
from entropy_sentinel.monitor.alert_codes import AlertKind, Flag
from entropy_sentinel.monitor.monitor_result import LABEL_COLUMN, Monitored
from entropy_sentinel.monitor.summing.sum_merging import OTHERS
from entropy_sentinel.statistics.monitoring.requested_slices import FEWEST_LABELS

# A slice is asked about until so many of its responses were; of a drop, so many since it began.
ENOUGH_ASKED = 30
# A slice is new if its first window is among the last ones.
NEW_WINDOWS = 7
# The column with the reason.
WHY = "why"


def check_ask_path(path: Path) -> None:
    """Raise InputError if the suffix of the file is not .csv."""
    if path.suffix != ".csv":
        raise InputError(f"ask: must end with .csv, got '{path}'")


def write_slices_to_ask(result: Monitored, path: Path) -> None:
    """Write a row for each slice to ask about: the slice's columns, and WHY; no row if there is none."""
    write_table(list_slices_to_ask(result), path)


def list_slices_to_ask(result: Monitored) -> pl.DataFrame:
    """A row for each slice to ask about: the slice's columns, and WHY (`drop`, `unfamiliar`, `new`)."""
    by = list(result.by)
    reasons: dict[tuple[Any, ...], str] = {}
    for values, why in (*_list_dropped(result, by), *_list_unfamiliar(result, by), *_list_new(result, by)):
        if OTHERS not in values:  # the pooled small slices are no value of a log
            reasons.setdefault(values, why)
    rows = [(*values, why) for values, why in reasons.items()]
    return pl.DataFrame(rows, schema=dict.fromkeys((*by, WHY), pl.String), orient="row")


def _list_dropped(result: Monitored, by: list[str]) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Yield the values of slices with a drop that lasts and few opinions since it began, with the reason."""
    for alert in result.alerts:
        is_drop = alert.kind == AlertKind.DROP and not alert.is_over
        if is_drop and float(alert.details.get("n_opinion_after", 0)) < ENOUGH_ASKED:
            yield tuple(alert.slice[name] for name in by), AlertKind.DROP.slug


def _list_unfamiliar(result: Monitored, by: list[str]) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Yield the values of slices unlike all labelled domains, with the reason."""
    rows = result.slices.filter(pl.col("flag_codes").list.contains(Flag.UNFAMILIAR), _is_unasked(result))
    for values in rows.select(by).rows():
        yield values, Flag.UNFAMILIAR.slug


def _list_new(result: Monitored, by: list[str]) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Yield the values of slices whose first window is among the last NEW_WINDOWS, if there are earlier windows."""
    if result.windows is None:
        return
    windows = result.windows.drop_nulls("window")
    last = windows["window"].unique().sort()
    if len(last) <= NEW_WINDOWS:
        return
    first = windows.group_by(by).agg(pl.col("window").min()).filter(pl.col("window") >= last[-NEW_WINDOWS])
    asked = result.slices.filter(_is_unasked(result))
    for values in asked.join(first, on=by, nulls_equal=True, maintain_order="left").select(by).rows():
        yield values, "new"


def _is_unasked(result: Monitored) -> pl.Expr:
    """Whether a slice has too few opinions and labels by people."""
    if LABEL_COLUMN not in result.slices.columns:
        return pl.lit(True)
    return (pl.col("n_asked") < ENOUGH_ASKED) & (pl.col("n_labelled") < FEWEST_LABELS)
