"""Text and tables on a terminal, or as plain lines in a pipe or a log."""

import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

from rich import box
from rich.console import Console
from rich.table import Table

# A log has no width: nothing is wrapped or cut there.
_LOG_WIDTH = 10_000

Part = str | Table


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], last_is_total: bool = False) -> Table:
    """A table whose first column is text and whose others are numbers, as text."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for number, heading in enumerate(headings):
        made.add_column(heading, justify="right" if number else "left", no_wrap=number == 0)
    lines = list(rows)
    for line in lines:
        made.add_row(*line, style="bold" if last_is_total and line is lines[-1] else None)
    return made


def show(parts: Iterable[Part], file: TextIO | None = None) -> None:
    """Print lines and tables to `file` (default: standard output), an empty line around each table.

    On a terminal tables have rules and fit its width; elsewhere they are columns of text, as wide as they need.
    """
    out = sys.stdout if file is None else file
    console = Console(file=out, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console = Console(file=out, highlight=False, markup=False, emoji=False, width=_LOG_WIDTH)
    for part in parts:
        if isinstance(part, Table):
            if console.is_terminal:
                part.box = box.SIMPLE_HEAD
            console.print("", part, "", sep="\n")
        else:
            console.print(part, soft_wrap=True)
    out.flush()
