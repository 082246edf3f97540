"""The tables of the catalogue, from the files of all models."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

import polars as pl

from entropy_sentinel.analyses import tables
from entropy_sentinel.analyses.inputs import read_all
from entropy_sentinel.analyses.intervals import tables_of_answers, tables_of_beliefs, tables_of_scores
from entropy_sentinel.analyses.intervals.frames import (
    ADJUSTED,
    DIFFERENCES,
    INTEGER_ANSWERS,
    SCORES,
    SETS,
    STATED,
    TUNNEL_INDEX,
)
from entropy_sentinel.analyses.intervals.headings import IntervalsShown
from entropy_sentinel.frames.benchmark import BENCHMARKS


class TableFiles(TypedDict):
    """Files of the tables: items of both halves; what variants say; of all models intervals, scores and sets."""

    benchmarks: Sequence[str]
    stated: Sequence[str]
    integers: Sequence[str]
    adjusted: str
    scores: str
    differences: str
    sets: str
    tunnel_index: str


def write_tables(files: TableFiles, settings: IntervalsShown, titles: Mapping[str, str], folder: str) -> None:
    """Write the tables of these names and titles to `folder`."""
    inputs = {
        "items": pl.concat(BENCHMARKS.read(path, ["item_id", "question", "reference"]) for path in files["benchmarks"]),
        "stated": read_all(STATED, files["stated"]),
        "integers": read_all(INTEGER_ANSWERS, files["integers"]),
        "adjusted": ADJUSTED.read(files["adjusted"]),
        "scores": SCORES.read(files["scores"]),
        "differences": DIFFERENCES.read(files["differences"]),
        "sets": SETS.read(files["sets"]),
        "tunnel_index": TUNNEL_INDEX.read(files["tunnel_index"]),
    }
    tables.write_tables(
        titles, [tables_of_answers, tables_of_scores, tables_of_beliefs], inputs, settings["label"], folder
    )
