"""Text and tables on a terminal, or as plain lines in a pipe or a log."""

import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from entropy_sentinel.core.printable import make_one_line, make_printable

# A log has no width, so nothing is wrapped there.
_LOG_WIDTH = 10_000

Part = str | Text | Table


def format_terminal_table(headings: Sequence[str], rows: Iterable[Sequence[str]], last_is_total: bool = False) -> Table:
    """Format a table with text in the first column and numbers in the others. Headings are wrapped, cells never.

    Every cell is on one line. Control characters in it are made visible and have no effect.
    """
    lines = [list(map(make_one_line, row)) for row in rows]
    formatted = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for number, heading in enumerate(map(make_one_line, headings)):
        unbroken = [*heading.split(), *[line[number] for line in lines]]
        width = max(map(len, unbroken), default=0)
        formatted.add_column(heading, justify="right" if number else "left", min_width=width)
    for line in lines:
        formatted.add_row(*line, style="bold" if last_is_total and line is lines[-1] else None)
    return formatted


def print_parts(parts: Iterable[Part], file: TextIO | None = None) -> None:
    """Print lines and tables to `file` (default: standard output), an empty line around each table.

    Control characters in lines are made visible and have no effect (so does `format_terminal_table`). On a terminal a
    table has a rule, long headings and lines are wrapped to fit, and a table that is wider than the terminal is shown
    row by row. Elsewhere it is columns of text.
    """
    console = Console(file=file or sys.stdout, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.size = (_LOG_WIDTH, console.height)
    for part in parts:
        if isinstance(part, Table):
            _print_table(console, part)
        else:
            console.print(_make_printable(part), soft_wrap=not console.is_terminal)


def _print_table(console: Console, table: Table) -> None:
    """Print a table between empty lines; row by row if it is wider than the terminal."""
    table.box = box.SIMPLE_HEAD if console.is_terminal else None
    # The terminal's width would limit the measured width.
    unlimited = console.options.update(max_width=_LOG_WIDTH)
    if console.is_terminal and Measurement.get(console, unlimited, table).minimum > console.width:
        console.print("", *_format_row_by_row(table, console.width), "", sep="\n")
    else:
        console.print("", table, "", sep="\n")


def _format_row_by_row(wide: Table, width: int) -> list[Text]:
    """The rows of a table, each as its first cell and the others with their headings, in lines of `width`."""
    headings = [str(column.header) for column in wide.columns]
    lines = [Text(headings[0], style="bold underline")]
    for cells in zip(*(column.cells for column in wide.columns), strict=True):
        lines.append(Text(str(cells[0]), style="bold"))
        line = ""
        for heading, cell in zip(headings[1:], cells[1:], strict=True):
            if not cell:
                continue
            entry = f"{heading} {cell}".rstrip()
            if line and len(line) + 2 + len(entry) > width - 2:
                lines.append(Text(f"  {line},"))
                line = entry
            else:
                line = f"{line}, {entry}" if line else entry
        lines.append(Text(f"  {line}"))
    return lines


def _make_printable(part: str | Text) -> str | Text:
    """A line with visible characters for its control characters."""
    if isinstance(part, str):
        return make_printable(part)
    visible = part.copy()
    visible.plain = make_printable(part.plain)  # the length is unchanged, so the colours stay in place
    return visible
