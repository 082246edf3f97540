"""What a notebook shows of a result: lines and tables as HTML, all text escaped. It needs no template."""

from collections.abc import Iterable, Sequence
from html import escape


def html(heading: str, lines: Iterable[str], *tables: tuple[Sequence[str], Sequence[Sequence[str]]]) -> str:
    """A heading, lines, and tables of headings and rows, whose first column is text and whose others are numbers."""
    parts = [f"<b>{escape(heading)}</b>", *(f"<div>{escape(line)}</div>" for line in lines)]
    return "<div>" + "".join([*parts, *(_table(*one) for one in tables)]) + "</div>"


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = _row("th", headings)
    return f"<table><thead>{head}</thead><tbody>{''.join(_row('td', row) for row in rows)}</tbody></table>"


def _row(tag: str, cells: Sequence[str]) -> str:
    sides = ["left", *["right"] * (len(cells) - 1)]
    return (
        "<tr>"
        + "".join(
            f'<{tag} style="text-align:{side}">{escape(cell)}</{tag}>' for side, cell in zip(sides, cells, strict=True)
        )
        + "</tr>"
    )
