"""Merge files of labels into one table that has a single label for each response.

People correct labels, and weekly files overlap, so a response may be labelled in several files: the newest label wins.
Within one file nothing says which of two labels is newer, so two that differ are an error.
"""

import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import polars as pl

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.formatting.text_format import format_count
from entropy_sentinel.logs.label_table import LABEL_QUESTION
from entropy_sentinel.schemas.response_schema import RESPONSE
from entropy_sentinel.schemas.witness_schema import JUDGE, WITNESS

log = logging.getLogger(__name__)
# The optional column with the time at which a response was labelled, ISO 8601.
LABELLED_AT = "labelled_at"
# Largest number of responses that a message names.
_MOST_NAMES = 5
_FILE, _ROW, _TIME = "(file)", "(row)", "(time)"


class LabelFile(NamedTuple):
    """The labels of one file, in the order of its rows; LABELLED_AT is text."""

    name: str
    rows: pl.DataFrame


def merge_label_files(files: Sequence[LabelFile], title: str = "labels") -> pl.DataFrame:
    """One label per response: the latest by LABELLED_AT; without that column, the label of the last file.

    Empty labels replace nothing. Verdicts of several judges are kept apart. Columns of RESPONSE, which identify a
    response, are dropped if some file lacks them, so that ids are comparable. Warnings begin with `title`.
    Raises InputError, which names file, id and rows, for two labels of a response within a file that differ.
    """
    absent = {name for name in RESPONSE for file in files if name not in file.rows.columns}
    numbered: list[pl.DataFrame] = []
    for number, file in enumerate(files):
        rows = file.rows.drop(absent, strict=False)
        numbered.append(
            rows.drop(LABELLED_AT, strict=False).with_columns(
                pl.lit(number).alias(_FILE), (pl.int_range(pl.len()) + 1).alias(_ROW), _parse_times(file)
            )
        )
    all_rows = pl.concat(numbered, how="diagonal_relaxed")
    key = [name for name in (*RESPONSE, LABEL_QUESTION, JUDGE, WITNESS) if name in all_rows.columns]
    for number, file in enumerate(files):
        check_conflicts(all_rows.filter(pl.col(_FILE) == number), key, file.name, _ROW)
    # The label that counts is the last; empty labels come first.
    newest = all_rows.sort(pl.col("label").is_not_null(), _TIME, _FILE, _ROW, nulls_last=False)
    newest_by_id = newest.filter(pl.col("item_id").is_not_null()).unique(key, keep="last")
    kept = pl.concat([newest_by_id, newest.filter(pl.col("item_id").is_null())]).sort(_FILE, _ROW)
    _report_replaced(all_rows, kept, key, files, title)
    return kept.drop(_FILE, _ROW, _TIME)


def _parse_times(file: LabelFile) -> pl.Series:
    """When each row of a file was labelled, (n_rows,), null if unknown."""
    values = file.rows[LABELLED_AT].to_list() if LABELLED_AT in file.rows.columns else [None] * len(file.rows)
    times: list[datetime | None] = []
    for row, value in enumerate(values, 1):
        try:
            time = None if value is None else datetime.fromisoformat(value)
        except ValueError:
            raise InputError(
                f"{file.name}: row {row}: '{LABELLED_AT}' must be a time such as 2026-11-01T09:00:00, got "
                f"{value[:100]!r}"
            ) from None
        times.append(time if time is None or time.tzinfo else time.replace(tzinfo=UTC))
    return pl.Series(_TIME, times, dtype=pl.Datetime("us", "UTC"))


def check_conflicts(labels: pl.DataFrame, key: Sequence[str], name: str, row: str | None = None) -> None:
    """Raise InputError, beginning with `name`, if a response has two labels that differ.

    The columns `key` identify a response, and the column `row` has the numbers of rows; by default they are counted.
    """
    if row is None:
        row = _ROW
        labels = labels.with_columns((pl.int_range(pl.len()) + 1).alias(row))
    id_labels = labels.filter(pl.col("label").is_not_null(), pl.col("item_id").is_not_null())
    per_response = id_labels.group_by(key, maintain_order=True).agg(row, "label")
    conflicts = per_response.filter(pl.col("label").list.n_unique() > 1)
    if conflicts.is_empty():
        return
    first = conflicts.row(0, named=True)
    rows = ", ".join(
        f"{number} ({str(label).lower()})" for number, label in zip(first[row], first["label"], strict=True)
    )
    remainder = f"; so do {len(conflicts) - 1:,} more responses" if len(conflicts) > 1 else ""
    raise InputError(
        f"{name}: item_id '{first['item_id']}' has different labels in rows {rows}{remainder}; keep one label for each "
        f"response ({', '.join(key)})"
    )


def _report_replaced(
    all_rows: pl.DataFrame, kept: pl.DataFrame, key: Sequence[str], files: Sequence[LabelFile], title: str
) -> None:
    """Log how many responses have labels in several files, which ones, and from which file the label counts.

    `all_rows` are those of all files, and `kept` those whose label counts; the columns `key` identify a response.
    """
    id_labels = all_rows.filter(pl.col("label").is_not_null(), pl.col("item_id").is_not_null())
    repeated = id_labels.group_by(key).agg(n_files=pl.col(_FILE).n_unique(), n_labels=pl.col("label").n_unique())
    repeated = repeated.filter(pl.col("n_files") > 1)
    if repeated.is_empty():
        return
    newest = kept.join(repeated.select(key), on=key, how="semi", nulls_equal=True)
    ids_by_file = dict(newest.group_by(_FILE).agg(pl.col("item_id").sort()).sort(_FILE).iter_rows())
    parts = []
    for number, ids in ids_by_file.items():
        ellipsis = ", ..." if len(ids) > _MOST_NAMES else ""
        parts.append(f"{', '.join(ids[:_MOST_NAMES])}{ellipsis} from {files[number].name}")
    n_different = repeated.filter(pl.col("n_labels") > 1).height
    log.warning(
        "%s: %s in several files (%d with labels that differ); the newest label counts: %s",
        title,
        f"{format_count(len(repeated), 'response')} {'has' if len(repeated) == 1 else 'have'} labels",
        n_different,
        "; ".join(parts),
    )
