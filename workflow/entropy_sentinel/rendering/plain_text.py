"""Format plain text for summaries: tables with unchanged cells, and lines below a title."""

from collections.abc import Sequence

from tabulate import tabulate

_SIDES = {"l": "left", "r": "right"}


def format_text_table(headings: Sequence[str], rows: Sequence[Sequence[str]], sides: str = "") -> list[str]:
    """The lines of a table; `sides` aligns each column, `l` or `r`, by default `l`."""
    aligned = [_SIDES[side] for side in sides or "l" * len(headings)]
    # Without rows tabulate accepts no alignment.
    text = tabulate(rows, headings, tablefmt="simple", disable_numparse=True, colalign=aligned if rows else None)
    return str(text).splitlines()


def indent_lines(title: str, lines: Sequence[str]) -> str:
    """The lines below their title, indented."""
    return "\n".join([title, *(f"  {line}".rstrip() for line in lines)])
