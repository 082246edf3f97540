"""Tables as files that people open: CSV, in which no text becomes a formula, JSON Lines and Parquet.

A text that a spreadsheet would compute, such as `=HYPERLINK(...)`, gets an apostrophe in front (OWASP, CSV Injection);
if it already begins with apostrophes, one more, so that reading restores it.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entropy_sentinel.core.printable import is_hidden
from entropy_sentinel.core.whole_files import whole_file

# Polars is imported where files are written or read, so that help texts and errors appear at once.
if TYPE_CHECKING:
    import polars as pl

# In JSON, all other characters are plain: control characters below U+0020 are escaped anyway.
_NOT_PLAIN = re.compile(r"[^\n -~]")
_BEGINS = r"[=+\-@\t\r\n＝＋－＠]"


def write_csv(frame: "pl.DataFrame", path: str | Path) -> None:
    """Write a frame as CSV, with texts and column names escaped so that no spreadsheet runs them as formulas."""
    import polars as pl
    import polars.selectors as cs

    names = pl.select(escape_formulas(pl.lit(pl.Series(frame.columns, dtype=pl.String)))).to_series()
    escaped = frame.with_columns(escape_formulas(cs.string()))
    escaped.rename(dict(zip(frame.columns, names, strict=True))).write_csv(path)


def write_table(frame: "pl.DataFrame", path: str | Path) -> None:
    """Write a frame in one step as .csv (see `write_csv`), .jsonl or .parquet, according to the name of the file."""
    import polars as pl

    writers: dict[str, Callable[..., object]] = {
        ".csv": write_csv,
        ".jsonl": lambda table, target: Path(target).write_text(format_json_lines(table), encoding="utf-8", newline=""),
        ".parquet": pl.DataFrame.write_parquet,
    }
    with whole_file(path) as partial:
        writers[Path(path).suffix](frame, partial)


def format_json_lines(frame: "pl.DataFrame") -> str:
    """A frame as JSON Lines; a hidden character in a text is escaped, so a terminal does not obey it."""
    return _NOT_PLAIN.sub(_escape_hidden, frame.write_ndjson())


def _escape_hidden(match: re.Match[str]) -> str:
    """A matched character as JSON escapes it, if it is hidden."""
    char = match[0]
    if not is_hidden(char):
        return char
    return json.dumps(char)[1:-1] if char != "\x7f" else "\\u007f"


def read_csv(path: str | Path, **options: Any) -> "pl.DataFrame":
    """Read a CSV file of `write_csv`, with its original texts; `options` are those of polars.read_csv."""
    import polars as pl
    import polars.selectors as cs

    table = pl.read_csv(path, **options).with_columns(unescape_formulas(cs.string()))
    return table.rename({name: pl.select(unescape_formulas(pl.lit(name))).item() for name in table.columns})


def escape_formulas(texts: "pl.Expr") -> "pl.Expr":
    """Texts as a spreadsheet-safe file contains them."""
    return texts.str.replace(f"^('*{_BEGINS})", "'$1")


def unescape_formulas(texts: "pl.Expr") -> "pl.Expr":
    """The original texts of a spreadsheet-safe file."""
    return texts.str.replace(f"^'('*{_BEGINS})", "$1")
