"""The tables of the catalogue, from the files of all models."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypedDict

import polars as pl

from entropy_sentinel.analyses.entropy_area import tables_of_correlations, tables_of_scores
from entropy_sentinel.analyses.entropy_area.frames import CORRELATIONS, ITEMS, SPREAD, TRUNCATION
from entropy_sentinel.analyses.entropy_area.headings import AreaShown
from entropy_sentinel.analyses.inputs import call, read_several
from entropy_sentinel.report.exhibits import Exhibit
from entropy_sentinel.report.tables import write_table


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
    for name, title in titles.items():
        table = call(f"table_{name}", [tables_of_scores, tables_of_correlations], inputs)
        table = replace(table, notes=(*table.notes, f"Study: {settings['label']}."))
        write_table(Exhibit("table", name, title), table, folder)
