"""CSV files that people open in a spreadsheet: no text of a log or a model becomes a formula there.

A text that a spreadsheet would compute, as `=HYPERLINK(...)`, gets an apostrophe before it, and one that has
apostrophes before such a beginning gets one more: what is read back is the text as it was. Numbers stay numbers.
Source: OWASP, CSV Injection.
"""

from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

_BEGINS = r"[=+\-@\t\r\n＝＋－＠]"


def write_csv(frame: pl.DataFrame, path: str | Path) -> None:
    """Write a frame, its texts and the names of its columns so that a spreadsheet shows them."""
    frame.with_columns(as_shown(cs.string())).rename(_shown_names(frame.columns)).write_csv(path)


def read_csv(path: str | Path, **options: Any) -> pl.DataFrame:
    """Read such a file, its texts as they were; `options` are those of polars.read_csv."""
    found = pl.read_csv(path, **options).with_columns(as_written(cs.string()))
    return found.rename({name: pl.select(as_written(pl.lit(name))).item() for name in found.columns})


def as_shown(texts: pl.Expr) -> pl.Expr:
    """Texts as they stand in the file."""
    return texts.str.replace(f"^('*{_BEGINS})", "'$1")


def as_written(texts: pl.Expr) -> pl.Expr:
    """Texts of a file as they were."""
    return texts.str.replace(f"^'('*{_BEGINS})", "$1")


def _shown_names(names: list[str]) -> dict[str, str]:
    found = pl.select(as_shown(pl.lit(pl.Series(names, dtype=pl.String)))).to_series()
    return dict(zip(names, found, strict=True))
