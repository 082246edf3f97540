"""Tables 1 to 10 of the paper, from the frames of frames/estimate.py, for any number of models.

AEE, AUROC and accuracies are shares in [0, 1], rho is a correlation in [-1, 1].
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from entropy_sentinel.analyses.accuracy.tables_by_model import table_1, table_2, table_6, table_7, table_8
from entropy_sentinel.analyses.accuracy.tables_of_medians import table_3, table_4, table_5, table_9, table_10
from entropy_sentinel.report.tables import Table


@dataclass(frozen=True)
class Recipe:
    """How a table is made: its function, and the inputs that the function takes by name."""

    make: Callable[..., Table]
    needs: tuple[str, ...]


TABLES: dict[int, Recipe] = {
    1: Recipe(table_1, ("auroc", "auroc_models", "auroc_benchmarks")),
    2: Recipe(table_2, ("sweep", "groups")),
    3: Recipe(table_3, ("sweep", "groups", "headline_group")),
    4: Recipe(table_4, ("sweep", "default")),
    5: Recipe(table_5, ("sweep",)),
    6: Recipe(table_6, ("auroc", "auroc_models", "auroc_benchmarks")),
    7: Recipe(table_7, ("sweep", "groups")),
    8: Recipe(table_8, ("sweep", "groups", "headline_group")),
    9: Recipe(table_9, ("sweep", "domains", "default")),
    10: Recipe(table_10, ("sweep", "domains", "default")),
}


def make_table(number: int, inputs: Mapping[str, Any], label: str) -> Table:
    """Table `number` from those of `inputs` that it needs, with the study's label as its last note."""
    recipe = TABLES[number]
    table = recipe.make(**{name: inputs[name] for name in recipe.needs})
    return replace(table, notes=(*table.notes, f"Study: {label}."))
