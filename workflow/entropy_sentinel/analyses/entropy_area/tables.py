"""The tables of the catalogue, from the files of all models."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

import polars as pl

from entropy_sentinel.analyses import tables
from entropy_sentinel.analyses.entropy_area import tables_of_correlations, tables_of_scores
from entropy_sentinel.analyses.entropy_area.frames import CORRELATIONS, ITEMS, SPREAD, TRUNCATION
from entropy_sentinel.analyses.entropy_area.headings import AreaShown
from entropy_sentinel.analyses.inputs import read_several


class TableFiles(TypedDict):
    """Files of the tables: items and truncation of each model; correlations and spread of all."""

    by_item: Sequence[str]
    truncation: Sequence[str]
    correlations: str
    spread: str


def write_tables(
    files: TableFiles, settings: AreaShown, titles: Mapping[str, str], models: Sequence[str], folder: str
) -> None:
    """Write the tables of these names and titles to `folder`."""
    inputs = {
        **settings,
        "models": models,
        "items": read_several(ITEMS, files["by_item"], {"model": models}),
        "truncation": pl.concat(map(TRUNCATION.read, files["truncation"])),
        "correlations": CORRELATIONS.read(files["correlations"]),
        "spread": SPREAD.read(files["spread"]),
    }
    tables.write_tables(titles, [tables_of_scores, tables_of_correlations], inputs, settings["label"], folder)
