"""Text and tables on a terminal, or as plain lines in a pipe or a log."""

import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from entropy_sentinel.frames.printable import one_line, printable

# A log has no width, so nothing is wrapped there.
_LOG_WIDTH = 10_000

Part = str | Text | Table


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], last_is_total: bool = False) -> Table:
    """Format a table with text in the first column and numbers in the others. Headings are wrapped, cells never.

    Every cell is on one line. Control characters in it are made visible and have no effect.
    """
    headings, lines = [*map(one_line, headings)], [[*map(one_line, line)] for line in rows]
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for number, heading in enumerate(headings):
        needed = max(map(len, [*heading.split(), *(line[number] for line in lines)]), default=0)
        made.add_column(heading, justify="right" if number else "left", min_width=needed)
    for line in lines:
        made.add_row(*line, style="bold" if last_is_total and line is lines[-1] else None)
    return made


def show(parts: Iterable[Part], file: TextIO | None = None) -> None:
    """Print lines and tables to `file` (default: standard output), an empty line around each table.

    Control characters in lines are made visible and have no effect (`table` does this for tables). On a terminal a
    table has a rule and long headings are wrapped to fit; elsewhere it is columns of text.
    """
    console = Console(file=file or sys.stdout, highlight=False, markup=False, emoji=False)
    terminal_width, height = console.size
    for part in parts:
        console.size = (_LOG_WIDTH, height)
        if isinstance(part, Table):
            part.box = box.SIMPLE_HEAD if console.is_terminal else None
            if console.is_terminal:
                # A terminal narrower than the numbers breaks the lines, so that no digit is lost.
                needed = Measurement.get(console, console.options, part).minimum
                console.size = (max(terminal_width, needed), height)
            console.print("", part, "", sep="\n")
        else:
            console.print(_printable(part), soft_wrap=True)


def _printable(part: str | Text) -> str | Text:
    if isinstance(part, str):
        return printable(part)
    shown = part.copy()
    shown.plain = printable(part.plain)  # the length is unchanged, so the colours stay in place
    return shown
