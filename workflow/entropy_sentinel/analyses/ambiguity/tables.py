"""The tables of the catalogue, from the files of all models."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

import polars as pl

from entropy_sentinel.analyses import tables
from entropy_sentinel.analyses.ambiguity import tables_of_concordance, tables_of_p_star
from entropy_sentinel.analyses.ambiguity.frames import ALIGNED, AUROCS, CONCORDANCES, ESTIMATES, P_STARS, UNCERTAINTIES
from entropy_sentinel.analyses.ambiguity.headings import AmbiguityShown
from entropy_sentinel.analyses.ambiguity.measures import joined
from entropy_sentinel.analyses.inputs import read_several
from entropy_sentinel.frames.benchmark import BENCHMARKS


class TableFiles(TypedDict):
    """Files of the tables: items, and the first model's classes of each; of each model the rest; measures of all."""

    benchmarks: Sequence[str]
    aligned: Sequence[str]
    uncertainties: Sequence[str]
    estimates: Sequence[str]
    concordances: str
    aurocs: str
    p_stars: str


def write_tables(files: TableFiles, settings: AmbiguityShown, titles: Mapping[str, str], folder: str) -> None:
    """Write the tables of these names and titles to `folder`."""
    expected = {"model": settings["models"]}
    uncertainties = read_several(UNCERTAINTIES, files["uncertainties"], expected)
    estimates = read_several(ESTIMATES, files["estimates"], expected)
    inputs = {
        "settings": settings,
        "questions": pl.concat(BENCHMARKS.read(path, ["item_id", "question"]) for path in files["benchmarks"]),
        "aligned": pl.concat(map(ALIGNED.read, files["aligned"])),
        "items": joined(uncertainties, estimates),
        "concordances": CONCORDANCES.read(files["concordances"]),
        "aurocs": AUROCS.read(files["aurocs"]),
        "p_stars": P_STARS.read(files["p_stars"]),
    }
    tables.write_tables(titles, [tables_of_concordance, tables_of_p_star], inputs, settings["label"], folder)
