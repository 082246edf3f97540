"""Tables by name: the function `table_<name>` makes one of those inputs that its parameters name."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

from entropy_sentinel.analyses.inputs import call
from entropy_sentinel.report.pages import Exhibit
from entropy_sentinel.report.tables import Table, write_table


def make_table(name: str, modules: Sequence[ModuleType], inputs: Mapping[str, Any], label: str) -> Table:
    """The table whose function is in one of `modules`, with the study's label as last note."""
    table: Table = call(f"table_{name}", modules, inputs)
    return replace(table, notes=(*table.notes, f"Study: {label}."))


def write_tables(
    titles: Mapping[str, str], modules: Sequence[ModuleType], inputs: Mapping[str, Any], label: str, folder: str
) -> None:
    """Write the tables of these names and titles to `folder`."""
    for name, title in titles.items():
        write_table(Exhibit("table", name, title), make_table(name, modules, inputs, label), folder)
