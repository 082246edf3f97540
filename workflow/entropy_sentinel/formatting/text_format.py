"""Numbers, counts and lists as text, and tables of them as HTML for a notebook, with all text escaped."""

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from entropy_sentinel.core.printable import make_printable


def format_number(value: float | None, form: str = ".3f") -> str:
    """A number as text, "-" for null; a number that rounds to zero has no minus sign."""
    if value is None:
        return "-"
    text = format(value, form)
    return text if any(digit in text for digit in "123456789") else format(abs(value), form)


def format_rounded(value: float | None) -> str:
    """A number with three significant digits: "1,060", "959", "0.0123"; "-" for null.

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


def format_interval(row: Mapping[str, Any], form: str = ".2f") -> str:
    """The interval of a row with `lower` and `upper` as text: "0.21 to 0.43"."""
    return f"{format_number(row['lower'], form)} to {format_number(row['upper'], form)}"


def format_millions(count: float) -> str:
    """A count in millions with one decimal, below one with two digits: "1,234.5", "1.0", "0.16", "0.0015"."""
    if not 0 < count < 1e6:
        return f"{count / 1e6:,.1f}"
    two_digits = float(f"{count / 1e6:.2g}")
    text = f"{two_digits:.8f}".rstrip("0")
    # Nothing is left after the point of what rounds to one million.
    return f"{text}0" if text.endswith(".") else text


def format_count(count: float, thing: str) -> str:
    """A number with its noun: "1 model", "2 models"."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def format_list(names: Sequence[str], most: int, separator: str = ", ") -> str:
    """The first `most` names and the number of the others: "a, b and 3 more"."""
    suffix = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{separator.join(names[:most])}{suffix}"


def format_html(heading: str, lines: Iterable[str], *tables: tuple[Sequence[str], Sequence[Sequence[str]]]) -> str:
    """A heading, lines and tables as HTML; the first column of a table is text, the others are numbers."""
    parts = [f"<b>{_escape_text(heading)}</b>"]
    parts += [f"<div>{_escape_text(line)}</div>" for line in lines]
    for headings, rows in tables:
        body = "".join(_format_row("td", row) for row in rows)
        parts.append(f"<table><thead>{_format_row('th', headings)}</thead><tbody>{body}</tbody></table>")
    return f"<div>{''.join(parts)}</div>"


def _escape_text(text: str) -> str:
    return escape(make_printable(text))


def _format_row(tag: str, cells: Sequence[str]) -> str:
    """A row of an HTML table whose cells have this tag, `th` or `td`."""
    parts = []
    for place, cell in enumerate(cells):
        side = "right" if place else "left"
        parts.append(f'<{tag} style="text-align:{side}">{_escape_text(cell)}</{tag}>')
    return f"<tr>{''.join(parts)}</tr>"
