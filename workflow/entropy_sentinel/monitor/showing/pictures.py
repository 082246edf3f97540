"""A monitor's pictures of slices, as numbers for the page's template: places in per cent of a bar.

The page draws them itself: so they follow its width and its colours, and need no package. `over_time` has the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from entropy_sentinel.monitor.result import Monitored
from entropy_sentinel.monitor.showing.columns import slice_name

# What one picture shows; tables and files have all.
RANKED = 20
# The column that is there where labels were given, null where they do not stand for the slice.
LABELLED = "improved_accuracy"
ESTIMATE = ("estimated_accuracy", "lower", "upper")
_ERRORS = ("expected_errors", "expected_errors_lower", "expected_errors_upper")
_WITH_LABELS = (LABELLED, "improved_lower", "improved_upper")


@dataclass(frozen=True)
class Mark:
    """A number with its interval on a bar: `at`, `low` and `high` in per cent of its length, `text` beside it.

    `kind` is what it is drawn as: `estimate`, `errors` or `labels`. Without an interval all three places are one.
    """

    kind: str
    text: str
    at: float
    low: float
    high: float

    @classmethod
    def of(cls, row: Mapping[str, Any], kind: str, names: Sequence[str], full: float, form: str) -> "Mark":
        """The mark of the columns `names`, a value and its limits, on a bar whose end is `full`."""
        value, lower, upper = (row[name] for name in names)
        text = f"{value:{form}}" + ("" if lower is None else f" ({lower:{form}} to {upper:{form}})")
        ends = (value, value if lower is None else lower, value if upper is None else upper)
        return cls(kind, text, *(round(min(max(100 * one / full, 0.0), 100.0), 2) for one in ends))


@dataclass(frozen=True)
class Line:
    """A slice's name and its bars, each with one mark or several."""

    name: str
    bars: tuple[tuple[Mark, ...], ...]


@dataclass(frozen=True)
class Ranges:
    """Slices one below the other; `scales` says for each bar what it shows, and what its begin and end are."""

    scales: tuple[tuple[str, str, str], ...]
    lines: tuple[Line, ...]
    caption: str


def ranked(found: Monitored) -> Ranges | None:
    """Accuracy and expected errors of the slices with the most of these; null where nothing is estimated."""
    rows = most_errors(found)
    if rows.is_empty():
        return None
    full = rows.select(pl.max_horizontal(pl.lit(1.0), pl.col(_ERRORS).max())).item()
    lines = [
        Line(
            name_of(found, row),
            ((Mark.of(row, "estimate", ESTIMATE, 1, ".3f"),), (Mark.of(row, "errors", _ERRORS, full, ",.0f"),)),
        )
        for row in rows.iter_rows(named=True)
    ]
    return Ranges(
        (("estimated accuracy", "0", "1"), ("errors expected", "0", f"{full:,.0f}")),
        tuple(lines),
        "Slices by the number of errors that is expected in them, responses times (1 - accuracy): where labels or "
        f"better data would help most. Bars are {rows['level'][0]:.0%} intervals.",
    )


def labelled(found: Monitored) -> Ranges | None:
    """Estimates beside what labels and estimates together say; null where no labels stand for a slice."""
    rows, of = _labelled_rows(found)
    if rows.is_empty():
        return None
    lines = [
        Line(
            name_of(found, row),
            ((Mark.of(row, "estimate", ESTIMATE, 1, ".3f"), Mark.of(row, "labels", _WITH_LABELS, 1, ".3f")),),
        )
        for row in rows.head(RANKED).iter_rows(named=True)
    ]
    return Ranges(
        (("accuracy", "0", "1"),),
        tuple(lines),
        f"Slices{of} that have labels. Blue, round: the estimate without them. Green, square: labels and estimate "
        f"together. Bars are {rows['level'][0]:.0%} intervals.",
    )


def most_errors(found: Monitored) -> pl.DataFrame:
    """The rows of the slices with the most expected errors, RANKED of them at most."""
    return found.slices.filter(pl.col("estimated_accuracy").is_not_null()).head(RANKED)


def name_of(found: Monitored, row: Mapping[str, Any]) -> str:
    """How the slice of a row is called."""
    return slice_name(row[one] for one in found.by)


def _labelled_rows(found: Monitored) -> tuple[pl.DataFrame, str]:
    """Slices whose labels stand for them, or else those of the newest window, and what they are of."""
    sets = {"": found.slices}
    if found.newest:
        newest = found.newest[-1]
        sets[f" in the {found.provenance['window']} from {newest:%Y-%m-%d}"] = found.now
    for of, rows in sets.items():
        if LABELLED in rows.columns and rows[LABELLED].count():
            return rows.drop_nulls([LABELLED, "estimated_accuracy"]), of
    return found.slices.head(0), ""
