"""A table with its caption and notes, and the files it is written to."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl

from entropy_sentinel.report.numbers import number

# A longer LaTeX table is broken over pages.
_PAGE_ROWS = 40


@dataclass(frozen=True)
class Table:
    """Numbers at full precision, one row per row shown, with headings that a person reads."""

    number: int
    caption: str
    frame: pl.DataFrame
    notes: tuple[str, ...] = ()
    decimals: int = 3

    def cells(self) -> list[list[str]]:
        """The rows as text: floats rounded to `decimals`, null as "-"."""
        return [[self._cell(value) for value in row] for row in self.frame.iter_rows()]

    def numeric(self) -> list[bool]:
        """For each column, whether it holds numbers."""
        return [dtype.is_numeric() for dtype in self.frame.dtypes]

    def _cell(self, value: object) -> str:
        if value is None or isinstance(value, float):
            return number(value, f".{self.decimals}f")
        return str(value)


def number_frame(rows: Sequence[dict[str, Any]], keys: Sequence[str], numbers: Iterable[str]) -> pl.DataFrame:
    """Rows under the headings `keys` and `numbers`; a column of nulls alone is a column of numbers."""
    frame = pl.DataFrame(rows, schema=[*keys, *numbers], infer_schema_length=None)
    return frame.cast({pl.Null: pl.Float64})


def write_table(table: Table, path_stem: str | Path) -> None:
    """Write `path_stem` + .csv (full precision), .md and .tex (rounded, with caption and notes)."""
    stem = Path(path_stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    columns = table.frame.columns
    pd.DataFrame(table.frame.to_dict(as_series=False), columns=columns).to_csv(f"{stem}.csv", index=False)
    shown = pd.DataFrame(table.cells(), columns=columns)
    Path(f"{stem}.md").write_text(_markdown(table, shown), encoding="utf-8")
    Path(f"{stem}.tex").write_text(_latex(table, shown), encoding="utf-8")


def _markdown(table: Table, shown: pd.DataFrame) -> str:
    aligned = ["right" if numeric else "left" for numeric in table.numeric()]
    body = shown.to_markdown(index=False, disable_numparse=True, colalign=aligned if len(shown) else None)
    notes = "".join(f"- {note}\n" for note in table.notes)
    return f"**Table {table.number}.** {table.caption}\n\n{body}\n\n{notes}"


def _latex(table: Table, shown: pd.DataFrame) -> str:
    long = len(shown) > _PAGE_ROWS
    body = shown.to_latex(
        index=False,
        escape=True,
        longtable=long,
        column_format="".join("r" if numeric else "l" for numeric in table.numeric()),
        caption=_escape_latex(table.caption),
        label=f"tab:{table.number}",
    )
    notes = "".join(f"\\par\\footnotesize {_escape_latex(note)}\n" for note in table.notes)
    return body + notes if long else body.replace("\\end{table}", f"{notes}\\end{{table}}")


def _escape_latex(text: str) -> str:
    return re.sub(r"([&%$#_{}])", r"\\\1", text)
