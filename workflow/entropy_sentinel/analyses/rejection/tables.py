"""The tables of the catalogue, from the measures of all models."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from entropy_sentinel.analyses.inputs import call, read_several
from entropy_sentinel.analyses.rejection import tables_of_curves, tables_of_pairs
from entropy_sentinel.analyses.rejection.frames import MEASURES
from entropy_sentinel.analyses.rejection.headings import RejectionShown
from entropy_sentinel.report.exhibits import Exhibit
from entropy_sentinel.report.tables import write_table


class TableSettings(RejectionShown):
    """Settings of the tables: also how many pairs are ranked."""

    best: int


def write_tables(
    measures: Sequence[str], settings: TableSettings, titles: Mapping[str, str], models: Sequence[str], folder: str
) -> None:
    """Write the tables of these names and titles to `folder`, from files MEASURES, one for each of `models`."""
    inputs = {**settings, "measures": read_several(MEASURES, measures, {"model": models})}
    for name, title in titles.items():
        table = call(f"table_{name}", [tables_of_pairs, tables_of_curves], inputs)
        table = replace(table, notes=(*table.notes, f"Study: {settings['label']}."))
        write_table(Exhibit("table", name, title), table, folder)
