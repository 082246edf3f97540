"""The tables of the catalogue, from the measures of all models."""

from collections.abc import Mapping, Sequence

from entropy_sentinel.analyses import tables
from entropy_sentinel.analyses.inputs import read_several
from entropy_sentinel.analyses.rejection import tables_of_curves, tables_of_pairs
from entropy_sentinel.analyses.rejection.frames import MEASURES
from entropy_sentinel.analyses.rejection.headings import RejectionShown


class TableSettings(RejectionShown):
    """Settings of the tables: also how many pairs are ranked."""

    best: int


def write_tables(
    measures: Sequence[str], settings: TableSettings, titles: Mapping[str, str], models: Sequence[str], folder: str
) -> None:
    """Write the tables of these names and titles to `folder`, from files MEASURES, one for each of `models`."""
    inputs = {**settings, "measures": read_several(MEASURES, measures, {"model": models})}
    tables.write_tables(titles, [tables_of_pairs, tables_of_curves], inputs, settings["label"], folder)
