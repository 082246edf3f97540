"""The declaration of a table or a figure of an analysis. Planning reads the titles, so importing this is light."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from entropy_sentinel.core import extensions


@dataclass(frozen=True)
class ExhibitDeclaration:
    """A table or a figure: its title, and the function that makes it from the inputs of the analysis's exhibits.

    `function` is a dotted name as in the rules' `calls(...)`, such as `mine.tables.table_counts`, because planning must
    not import what makes an exhibit. The function takes one argument, an `ExhibitInputs`, and returns a `Table` or a
    `Drawing`.
    """

    title: str
    function: str

    def load(self) -> Callable[[Any], Any]:
        """Import the function."""
        return load_function(self.function)


@dataclass(frozen=True)
class PrintedTable(ExhibitDeclaration):
    """A table of a paper that prints values of these `benchmarks` and `models`, with which results can be compared.

    Without `benchmarks` it prints none that can be; without `models`, its values are the same for all models.
    """

    benchmarks: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    def is_comparable(self, models: Iterable[str], benchmarks: Iterable[str]) -> bool:
        """Whether the paper prints a value for some of these models and benchmarks."""
        has_model = not self.models or bool(set(self.models) & set(models))
        return has_model and bool(set(self.benchmarks) & set(benchmarks))


Declarations = Mapping[str, ExhibitDeclaration]


def load_function(name: str) -> Callable[..., Any]:
    """Import a function by its dotted name, which is relative to this package or full for an extension's."""
    module, _, function = name.rpartition(".")
    loaded: Callable[..., Any] = getattr(extensions.import_by_name(module), function)
    return loaded


def list_titles(declarations: Declarations) -> dict[str, str]:
    """The titles of exhibits by name, in the order of the page."""
    return {name: declaration.title for name, declaration in declarations.items()}
