"""Keep only the responses of the slices that a file lists, such as that of `monitor --ask`."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.formatting.spreadsheet import read_csv


def keep_listed_slices(rows: pl.DataFrame, path: Path | None, columns: Mapping[str, str]) -> pl.DataFrame:
    """The rows of the slices in a CSV file with the slice columns; all rows without a file.

    `columns` are the names of the slice columns in the file, by their names in the rows. Raises InputError for a file
    without these columns, and if no row is left.
    """
    if path is None:
        return rows
    if not columns:
        raise InputError(f"slices: name the columns of the slices with {format_option('by')}")
    try:
        listed = read_csv(path, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"slices: {path}: cannot be read: {' '.join(str(error).split())[:200]}") from None
    if absent := [name for name in columns.values() if name not in listed.columns]:
        raise InputError(f"slices: {path}: no column '{absent[0]}' (columns: {', '.join(listed.columns)})")
    wanted = listed.select(**{name: pl.col(column) for name, column in columns.items()}).unique()
    kept = rows.join(wanted, on=list(columns), how="semi", nulls_equal=True)
    if kept.is_empty():
        raise InputError(f"slices: the logs have no response of the {len(wanted)} slices in {path}")
    return kept
