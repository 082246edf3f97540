"""A table with its caption and notes, and the files it is written to."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from entropy_sentinel.formatting.text_format import format_number
from entropy_sentinel.rendering.html_pages import Exhibit, render_fragment
from entropy_sentinel.rendering.latex import escape_latex

if TYPE_CHECKING:
    import pandas as pd

# A longer LaTeX table is split over pages.
_PAGE_ROWS = 40
# This many columns of numbers do not fit on a page.
_MANY_COLUMNS = 14
# Largest number of rows without a value that a note names.
_MOST_NAMED = 6


@dataclass(frozen=True)
class Table:
    """A table's numbers at full precision, one row per row shown, with readable headings.

    `words` are shown instead of nulls, by row number and column. `published` is shown below the table, as a part of it,
    if it has rows.
    """

    caption: str
    frame: pl.DataFrame
    notes: tuple[str, ...] = ()
    decimals: int = 3
    words: Mapping[tuple[int, str], str] = field(default_factory=dict)
    published: "Table | None" = None

    def cells(self) -> list[list[str]]:
        """The rows as text: floats rounded to `decimals`, null as "-" or its entry in `words`."""
        rows = []
        for place, values in enumerate(self.frame.iter_rows()):
            cells = []
            for column, value in zip(self.frame.columns, values, strict=True):
                if value is None:
                    cells.append(self.words.get((place, column), "-"))
                elif isinstance(value, float):
                    cells.append(format_number(value, f".{self.decimals}f"))
                else:
                    cells.append(str(value))
            rows.append(cells)
        return rows

    def numeric(self) -> list[bool]:
        """Whether each column holds numbers."""
        return [dtype.is_numeric() for dtype in self.frame.dtypes]

    def page_cells(self) -> tuple[list[str], list[list[str]], list[bool]]:
        """Headings, rows of texts, and whether each column holds numbers, for a page, which may be narrow.

        A table with many columns of numbers and fewer rows is transposed.
        """
        headings = self.frame.columns
        cells = self.cells()
        numeric = self.numeric()
        n_numbers = sum(numeric)
        numbers_are_last = numeric == sorted(numeric)
        if n_numbers < _MANY_COLUMNS or len(cells) >= n_numbers or not numbers_are_last:
            return headings, cells, numeric
        n_keys = len(numeric) - n_numbers
        names = [", ".join(row[:n_keys]) for row in cells]
        transposed = []
        for place in range(n_keys, len(headings)):
            transposed.append([headings[place], *[row[place] for row in cells]])
        return ["Number", *names], transposed, [False, *[True] * len(names)]


def select_headings(
    frame: pl.DataFrame, headings: Mapping[str, str], words: Mapping[str, Callable[[Any], str]] | None = None
) -> pl.DataFrame:
    """Select and rename the columns of a frame that have a heading; `words` has the texts for a column's values."""
    columns = []
    for name, heading in headings.items():
        column = frame[name]
        if words and name in words:
            in_words = words[name]
            texts = [None if value is None else in_words(value) for value in column]
            column = pl.Series(name, texts, pl.String)
        columns.append(column.alias(heading))
    return frame.select(columns)


def number_frame(rows: Sequence[dict[str, Any]], keys: Sequence[str], numbers: Iterable[str]) -> pl.DataFrame:
    """Make a frame of rows under the headings `keys` and `numbers`; a column with only nulls counts as numbers."""
    frame = pl.DataFrame(rows, schema=[*keys, *numbers], infer_schema_length=None)
    return frame.cast({pl.Null: pl.Float64})


def missing_notes(missing: Iterable[tuple[str, str, str]]) -> list[str]:
    """A note for each value and reason why it is missing: `No SAR (no tokens): a, maqa; b, maqa.`

    `missing` has the names of the value, the reason and the row. A note names the first few rows and counts the others.
    """
    rows_by_note: dict[str, list[str]] = {}
    for value, reason, row in missing:
        rows_by_note.setdefault(f"No {value} ({reason})", []).append(row)
    notes = []
    for note, rows in rows_by_note.items():
        names = list(dict.fromkeys(rows))
        n_omitted = len(names) - _MOST_NAMED
        if n_omitted > 1:
            names = [*names[:_MOST_NAMED], f"and {n_omitted} more"]
        notes.append(f"{note}: {'; '.join(names)}.")
    return notes


def write_table(exhibit: Exhibit, table: Table, folder: str | Path) -> None:
    """Write the table to `folder`: .csv with all digits; .md, .tex and .html (a page's part) rounded, with its text.

    Published values have a .csv of their own.
    """
    stem = Path(folder) / exhibit.file
    stem.parent.mkdir(parents=True, exist_ok=True)
    _write_csv(table, f"{stem}.csv")
    if table.published:
        _write_csv(table.published, Path(folder) / f"{exhibit.published.file}.csv")
        table = table if table.published.frame.height else replace(table, published=None)
    texts = {
        "md": _format_markdown(exhibit, table),
        "tex": _format_latex(exhibit, table),
        "html": render_fragment("table", exhibit, table),
    }
    for kind, text in texts.items():
        Path(f"{stem}.{kind}").write_text(text, encoding="utf-8")


def _write_csv(table: Table, path: str | Path) -> None:
    """Write the numbers of a table with all digits."""
    import pandas as pd  # imported here and below, because pages that only show tables do not need it

    columns = table.frame.columns
    pd.DataFrame(table.frame.to_dict(as_series=False), columns=columns).to_csv(path, index=False)


def _pandas_frame(table: Table) -> "pd.DataFrame":
    """The rows of a table as texts, in a frame of pandas, which can write Markdown and LaTeX."""
    import pandas as pd

    return pd.DataFrame(table.cells(), columns=table.frame.columns)


def _format_markdown(exhibit: Exhibit, table: Table) -> str:
    """A table as Markdown with its notes, and the published values below it."""
    cells = _pandas_frame(table)
    aligned = ["right" if numeric else "left" for numeric in table.numeric()]
    body = cells.to_markdown(index=False, disable_numparse=True, colalign=aligned if len(cells) else None)
    notes = "".join(f"- {note}\n" for note in table.notes)
    text = f"**{exhibit.heading}.** {table.caption}\n\n{body}\n\n{notes}"
    if table.published:
        text += f"\n{_format_markdown(exhibit.published, table.published)}"
    return text


def _format_latex(exhibit: Exhibit, table: Table) -> str:
    """A table as LaTeX with its notes, and the published values below it."""
    cells = _pandas_frame(table)
    caption, *notes = map(escape_latex, [f"{exhibit.title}. {table.caption}", *table.notes])
    is_long = len(cells) > _PAGE_ROWS
    styler = cells.style.hide(axis="index").format(escape="latex").format_index(axis="columns", escape="latex")
    body = styler.to_latex(
        environment="longtable" if is_long else None,
        hrules=True,
        column_format="".join("r" if numeric else "l" for numeric in table.numeric()),
        caption=caption,
        label=f"tab:{exhibit.name}",
    )
    below = "".join(f"\\par\\footnotesize {note}\n" for note in notes)
    text = body + below if is_long else body.replace("\\end{table}", f"{below}\\end{{table}}")
    if table.published:
        text += _format_latex(exhibit.published, table.published)
    return text
