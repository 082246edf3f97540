"""Display of text, numbers and tables on a terminal, in a notebook and in a spreadsheet.

On a terminal, no text from logs or models can move the cursor, change colours, or reverse the order of characters
(Unicode, UAX 9 and UTR 36). In a CSV file no text becomes a formula (OWASP, CSV Injection): a text that a spreadsheet
would compute, such as `=HYPERLINK(...)`, gets an apostrophe in front; if it already begins with apostrophes, one more,
so that reading restores it. A notebook gets lines and tables as HTML with all text escaped.
"""

import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entropy_sentinel.frames.files import whole_file

# Polars is imported where files are written or read, so that help texts and errors appear at once.
if TYPE_CHECKING:
    import polars as pl

# Joiners of letters in some scripts and in emoji.
_JOINERS = "\u200c\u200d"
_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
# In JSON, all other characters are plain: control characters below U+0020 are escaped anyway.
_NOT_PLAIN = re.compile(r"[^\n -~]")


def printable(text: str) -> str:
    """Return the text with a visible character for each control character; line breaks and tabs stay."""
    if text.isprintable():
        return text
    return "".join(char if char in "\n\t" else _visible(char) for char in text)


def one_line(text: str) -> str:
    """Return the text like `printable`, on one line."""
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(char: str) -> str:
    """Return the symbol of a control character, U+FFFD for another invisible one, any other character unchanged."""
    if unicodedata.category(char) not in _HIDDEN or char in _JOINERS:
        return char
    if char < " ":
        return chr(0x2400 + ord(char))
    return "\N{SYMBOL FOR DELETE}" if char == "\x7f" else "\N{REPLACEMENT CHARACTER}"


_BEGINS = r"[=+\-@\t\r\n＝＋－＠]"


def write_csv(frame: "pl.DataFrame", path: str | Path) -> None:
    """Write a frame as CSV, with texts and column names escaped so that no spreadsheet runs them as formulas."""
    import polars as pl
    import polars.selectors as cs

    names = pl.select(as_shown(pl.lit(pl.Series(frame.columns, dtype=pl.String)))).to_series()
    shown = frame.with_columns(as_shown(cs.string()))
    shown.rename(dict(zip(frame.columns, names, strict=True))).write_csv(path)


def write_table(frame: "pl.DataFrame", path: str | Path) -> None:
    """Write a frame in one step as .csv (see `write_csv`), .jsonl or .parquet, according to the name of the file."""
    import polars as pl

    writers: dict[str, Callable[..., object]] = {
        ".csv": write_csv,
        ".jsonl": lambda table, target: Path(target).write_text(json_lines(table), encoding="utf-8", newline=""),
        ".parquet": pl.DataFrame.write_parquet,
    }
    with whole_file(path) as partial:
        writers[Path(path).suffix](frame, partial)


def json_lines(frame: "pl.DataFrame") -> str:
    """Return a frame as JSON Lines; a hidden character in a text is escaped, so a terminal does not obey it."""
    return _NOT_PLAIN.sub(_escaped, frame.write_ndjson())


def _escaped(match: re.Match[str]) -> str:
    char = match[0]
    if unicodedata.category(char) not in _HIDDEN or char in _JOINERS:
        return char
    return json.dumps(char)[1:-1] if char != "\x7f" else "\\u007f"


def read_csv(path: str | Path, **options: Any) -> "pl.DataFrame":
    """Read a CSV file of `write_csv`, with its original texts; `options` are those of polars.read_csv."""
    import polars as pl
    import polars.selectors as cs

    table = pl.read_csv(path, **options).with_columns(as_written(cs.string()))
    return table.rename({name: pl.select(as_written(pl.lit(name))).item() for name in table.columns})


def as_shown(texts: "pl.Expr") -> "pl.Expr":
    """Return texts as a spreadsheet-safe file contains them."""
    return texts.str.replace(f"^('*{_BEGINS})", "'$1")


def as_written(texts: "pl.Expr") -> "pl.Expr":
    """Return the original texts of a spreadsheet-safe file."""
    return texts.str.replace(f"^'('*{_BEGINS})", "$1")


def number(value: float | None, form: str = ".3f") -> str:
    """Return a number as text, "-" for null; a number that rounds to zero has no minus sign."""
    if value is None:
        return "-"
    text = format(value, form)
    return text if any(digit in text for digit in "123456789") else format(abs(value), form)


def rounded(value: float | None) -> str:
    """Return a number with three significant digits: "1,060", "959", "0.0123"; "-" for null.

    Only numbers from 1e15 on, and those below 1e-9, have an exponent.
    """
    if value is None:
        return "-"
    if not 1e-9 <= abs(value) < 1e15:
        return f"{value:.3g}"
    n_decimals = 2 - math.floor(math.log10(abs(value)))
    # Rounding up may add a digit, such as that of 999.9.
    n_decimals = 2 - math.floor(math.log10(abs(round(value, n_decimals))))
    text = f"{round(value, n_decimals):,.{max(n_decimals, 0)}f}"
    return text.rstrip("0").rstrip(".") if n_decimals > 0 else text


def span(row: Mapping[str, Any], form: str = ".2f") -> str:
    """Return the interval of a row with `lower` and `upper` as text: "0.21 to 0.43"."""
    return f"{number(row['lower'], form)} to {number(row['upper'], form)}"


def millions(count: float) -> str:
    """Return a count in millions with one decimal, below one with two digits: "1,234.5", "0.16", "0.0015"."""
    if not 0 < count < 1e6:
        return f"{count / 1e6:,.1f}"
    two_digits = float(f"{count / 1e6:.2g}")
    return f"{two_digits:.8f}".rstrip("0")


def counted(count: float, thing: str) -> str:
    """Return a number with its noun: "1 model", "2 models"."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def listed(names: Sequence[str], most: int, separator: str = ", ") -> str:
    """Return the first `most` names and the number of the others: "a, b and 3 more"."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{separator.join(names[:most])}{more}"


def html(heading: str, lines: Iterable[str], *tables: tuple[Sequence[str], Sequence[Sequence[str]]]) -> str:
    """Return a heading, lines and tables as HTML; the first column of a table is text, the others are numbers."""
    parts = [f"<b>{_shown(heading)}</b>"]
    parts += [f"<div>{_shown(line)}</div>" for line in lines]
    for headings, rows in tables:
        body = "".join(_row("td", row) for row in rows)
        parts.append(f"<table><thead>{_row('th', headings)}</thead><tbody>{body}</tbody></table>")
    return f"<div>{''.join(parts)}</div>"


def _shown(text: str) -> str:
    return escape(printable(text))


def _row(tag: str, cells: Sequence[str]) -> str:
    parts = []
    for place, cell in enumerate(cells):
        side = "right" if place else "left"
        parts.append(f'<{tag} style="text-align:{side}">{_shown(cell)}</{tag}>')
    return f"<tr>{''.join(parts)}</tr>"
