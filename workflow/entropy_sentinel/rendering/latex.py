r"""Floats of LaTeX for a paper: tables and figures that fit one or two columns.

A document needs `\usepackage{booktabs,graphicx}`. A float that is still wider than its column is shrunk to it.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from entropy_sentinel.formatting.text_format import format_number
from entropy_sentinel.rendering.exhibit_style import COLUMN, TEXT
from entropy_sentinel.rendering.html_pages import Exhibit

# A float with more rows is continued in a further one; with more than these, its lines are smaller and closer.
_MOST_ROWS, _MANY_ROWS = 56, 36
_CLOSER = r"\footnotesize\renewcommand{\arraystretch}{0.88}"
# Mean width of a character, of a subscript's, and the space between two columns, in points at the size `small`.
_CHARACTER, _SUBSCRIPT, _GAP = 4.6, 3.6, 8.0
_PACKAGES = r"\usepackage{booktabs,graphicx}"
_POINTS = 72.27  # per inch
_SPECIAL = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)
_COMMAND = re.compile(r"\\[a-zA-Z]+|[{}$\\^_]")
_LOWERED = re.compile(r"(?:\\textsubscript|_)\{([^}]*)\}")
# Abbreviations with a qualifier, as in "NLL sum".
_QUALIFIED = re.compile(r"([A-Z]{2,}) ([a-z]+)")


class Latex(str):
    """Text that is LaTeX already; all other text is escaped."""

    __slots__ = ()


RHO, UP, DOWN, NONE = Latex(r"$\rho$"), Latex(r"$\uparrow$"), Latex(r"$\downarrow$"), Latex("--")


def escape_latex(text: str) -> str:
    """A text as LaTeX that shows every character unchanged."""
    return text if isinstance(text, Latex) else " ".join(text.translate(_SPECIAL).split())


def write_symbols(text: str) -> Latex:
    """A sentence as LaTeX in which the word rho is the letter."""
    return Latex(re.sub(r"\brho\b", lambda _: RHO, escape_latex(text)))


def join_latex(*parts: str, separator: str = " ") -> Latex:
    """The parts as one LaTeX text."""
    return Latex(separator.join(map(escape_latex, parts)))


def lower_qualifier(title: str) -> Latex:
    r"""A title with its qualifier as subscript: `NLL sum` as `NLL\textsubscript{sum}`."""
    match = _QUALIFIED.fullmatch(title)
    return Latex(rf"{match[1]}\textsubscript{{{match[2]}}}" if match else escape_latex(title))


def format_share(value: float | None, decimals: int = 2) -> Latex:
    """A number with these decimals; a dash for null."""
    return NONE if value is None else Latex(f"${format_number(value, f'.{decimals}f')}$")


def format_spread(median: float | None, spread: float | None, decimals: int = 2) -> Latex:
    """A median with its interquartile range as subscript, without zeros before the point: .95 with .05."""
    if median is None:
        return NONE

    def drop_zero(value: float) -> str:
        return re.sub(r"^(-?)0\.", r"\1.", format_number(value, f".{decimals}f"))

    subscript = "" if spread is None else f"_{{{drop_zero(spread)}}}"
    return Latex(f"${drop_zero(median)}{subscript}$")


@dataclass(frozen=True)
class Block:
    """Rows between two rules, below a heading over all columns if there is one."""

    rows: Sequence[Sequence[str]]
    heading: str = ""


@dataclass(frozen=True)
class Wrapped:
    """A column of text that breaks into lines, of this width in inches."""

    width: float


@dataclass(frozen=True)
class PaperTable:
    """A table in the form of a paper; text that is not `Latex` is escaped.

    `columns` has `l`, `r`, `c` or a `Wrapped` for each column. `spans` are headings above the headings, each with the
    number of its columns.
    """

    caption: str
    columns: Sequence[str | Wrapped]
    headings: Sequence[str]
    blocks: Sequence[Block]
    spans: Sequence[tuple[str, int]] = ()

    @property
    def is_wide(self) -> bool:
        """Whether it needs the width of two columns."""
        return self._width > COLUMN * _POINTS

    @property
    def _width(self) -> float:
        """The natural width in points, estimated."""
        rows = [self.headings, *(row for block in self.blocks for row in block.rows)]
        widths = []
        for place, column in enumerate(self.columns):
            if isinstance(column, Wrapped):
                widths.append(column.width * _POINTS)
            else:
                widths.append(max(_estimate_width(row[place]) for row in rows))
        return sum(widths) + _GAP * (len(widths) - 1)


def _estimate_width(text: str) -> float:
    """The width of a text in points, from the number of its characters and of those in subscripts."""
    text = escape_latex(text)
    lowered = sum(len(match) for match in _LOWERED.findall(text))
    return _SUBSCRIPT * lowered + _CHARACTER * len(_COMMAND.sub("", _LOWERED.sub("", text)))


def lay_side_by_side(table: PaperTable, lanes: int) -> PaperTable:
    """The table in this many lanes side by side, each with all columns and its part of the blocks, one below the other.

    Blocks beside each other are filled up to the same number of rows.
    """
    if lanes == 1:
        return table
    per_lane = math.ceil(len(table.blocks) / lanes)
    parts = [table.blocks[start : start + per_lane] for start in range(0, len(table.blocks), per_lane)]
    first, *rest = table.columns
    blocks = []
    for level in range(per_lane):  # the blocks that are beside each other
        beside = [part[level] if level < len(part) else None for part in parts]
        n_rows = max(len(block.rows) for block in beside if block)
        rows: list[list[str]] = [[] for _ in range(n_rows)]
        headings = []
        for block in beside:
            empty = [""] * len(table.columns)
            headings.append(block.heading if block else "")
            for place, row in enumerate(rows):
                row += block.rows[place] if block and place < len(block.rows) else empty
        head = _span_cells([(heading, len(table.columns)) for heading in headings])
        blocks.append(Block(rows, Latex(head)))
    return replace(
        table,
        columns=[*table.columns, *[rf"@{{\hspace{{18pt}}}}{first}", *rest] * (len(parts) - 1)],
        headings=[*table.headings] * len(parts),
        blocks=blocks,
        spans=[*table.spans] * len(parts),
    )


def format_table(tables: Sequence[PaperTable], name: str) -> str:
    """The floats of a table: one, or several if it has too many rows for a page; a comment without rows."""
    parts = [part for table in tables for part in _split_rows(table)]
    if not parts:
        return f"% The table {name} is left out, because it has no rows; tables/table_{name}.md has its notes.\n"
    return f"% {_PACKAGES}\n" + "".join(_format_tabular(part, name, place) for place, part in enumerate(parts))


def format_document(exhibits: Sequence[Exhibit]) -> str:
    """A document of two columns with exhibits under the paper's numbers; it is compiled in their folder."""
    lines = [
        r"\documentclass[twocolumn]{article}",
        _PACKAGES,
        # Columns are as wide as figures.
        rf"\setlength{{\textwidth}}{{{TEXT}in}}\setlength{{\columnsep}}{{{TEXT - 2 * COLUMN:g}in}}",
        r"\setlength{\textheight}{9in}\setlength{\oddsidemargin}{-0.15in}\setlength{\topmargin}{-0.5in}",
        r"\begin{document}",
        *(rf"\setcounter{{{one.kind}}}{{{int(one.number) - 1}}}\input{{{one.file}}}\clearpage" for one in exhibits),
        r"\end{document}",
    ]
    return "\n".join(lines) + "\n"


def _split_rows(table: PaperTable) -> Iterator[PaperTable]:
    """Yield parts of the table that each fit a page."""
    blocks: list[Block] = []
    for block in table.blocks:
        for first in range(0, len(block.rows), _MOST_ROWS):
            piece = replace(block, rows=block.rows[first : first + _MOST_ROWS])
            if blocks and sum(len(one.rows) + 1 for one in [*blocks, piece]) > _MOST_ROWS:
                yield replace(table, blocks=blocks)
                blocks = []
            blocks.append(piece)
    if blocks:
        yield replace(table, blocks=blocks)


def _format_tabular(table: PaperTable, name: str, place: int) -> str:
    """A part of a table as a LaTeX float; all but the first (`place` 0) are continued."""
    n_rows = sum(len(block.rows) + bool(block.heading) for block in table.blocks)
    sides = "".join("l" if isinstance(column, Wrapped) else column for column in table.columns)
    lines = [rf"\begin{{tabular}}{{@{{}}{sides}@{{}}}}", r"\toprule"]
    if any(text for text, _ in table.spans):
        lines += [rf"{_span_cells(table.spans)} \\", _span_rules(table.spans)]
    lines.append(rf"{_join_cells(table.headings, table.columns)} \\")
    for block in table.blocks:
        lines.append(r"\midrule")
        if block.heading:
            heading = block.heading
            if not isinstance(heading, Latex):
                heading = _span_cells([(heading, len(table.columns))])
            lines.append(rf"{heading} \\")
        lines += [rf"{_join_cells(row, table.columns)} \\" for row in block.rows]
    lines += [r"\bottomrule", r"\end{tabular}"]
    suffix = " (continued)" if place else ""
    return format_float(
        "table",
        "\n".join(lines),
        Latex(escape_latex(table.caption) + suffix),
        name if place == 0 else f"{name}-{place + 1}",
        is_wide=table.is_wide,
        setup=(_CLOSER if n_rows > _MANY_ROWS else r"\small") + r"\setlength{\tabcolsep}{4pt}",
    )


def format_float(kind: str, body: str, caption: str, name: str, *, is_wide: bool, setup: str = "") -> str:
    """A float, `table` or `figure`, over one or two columns; `body` is shrunk if it is wider than these."""
    environment = f"{kind}*" if is_wide else kind
    lines = [
        rf"\begin{{{environment}}}[tp]",
        rf"\centering{setup}",
        r"\sbox2{%",
        rf"{body}}}%",
        r"\ifdim\wd2>\linewidth\resizebox{\linewidth}{!}{\usebox2}\else\usebox2\fi",
        rf"\caption{{{escape_latex(caption)}}}",
        rf"\label{{{kind[:3]}:{name}}}",
        rf"\end{{{environment}}}",
    ]
    return "\n".join(lines) + "\n"


def _join_cells(cells: Sequence[str], columns: Sequence[str | Wrapped]) -> str:
    """A row of LaTeX, with the cells of wrapped columns in boxes of their width."""
    texts = []
    for cell, column in zip(cells, columns, strict=True):
        text = escape_latex(cell)
        if isinstance(column, Wrapped):
            text = rf"\parbox[t]{{{column.width}in}}{{\raggedright {text}\strut}}"
        texts.append(text)
    return " & ".join(texts)


def _span_cells(spans: Sequence[tuple[str, int]]) -> str:
    """A row of LaTeX with texts that each span a number of columns."""
    cells = []
    for text, n_columns in spans:
        cells.append(rf"\multicolumn{{{n_columns}}}{{c}}{{{escape_latex(text)}}}")
    return " & ".join(cells)


def _span_rules(spans: Sequence[tuple[str, int]]) -> str:
    """Rules below the texts of `_span_cells`, (text, number of columns) each; none below an empty text."""
    rules = []
    first = 1
    for text, n_columns in spans:
        if text:
            rules.append(rf"\cmidrule(lr){{{first}-{first + n_columns - 1}}}")
        first += n_columns
    return "".join(rules)
