"""Tables, figures and pages of an analysis: their inputs and the files they are written to.

An analysis maps the name of each exhibit to the function that makes it from the inputs that its parameters name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from entropy_sentinel.core.files import write_whole
from entropy_sentinel.report.pages import Exhibit, read_fragment, render
from entropy_sentinel.report.style import Style
from entropy_sentinel.report.tables import Table, write_table

if TYPE_CHECKING:
    from entropy_sentinel.report.figures import Drawing

# The functions of tables or figures, by the names in the catalogue.
Functions = Mapping[str, Callable[..., Any]]


class DrawnFigure(TypedDict):
    """A figure to make: its name in the catalogue, its title, and its model and benchmark if it shows only one."""

    figure: str
    title: str
    model: str | None
    benchmark: NotRequired[str | None]


def make_table(name: str, functions: Functions, inputs: Mapping[str, Any], label: str) -> Table:
    """Return a table of the catalogue, with the study's label as last note."""
    table: Table = _call(functions[name], inputs)
    return replace(table, notes=(*table.notes, f"Study: {label}."))


def save_tables(
    titles: Mapping[str, str], functions: Functions, inputs: Mapping[str, Any], label: str, folder: str
) -> None:
    """Write the tables of these names and titles to `folder`."""
    for name, title in titles.items():
        write_table(Exhibit("table", name, title), make_table(name, functions, inputs, label), folder)


def draw(name: str, functions: Functions, inputs: Mapping[str, Any], look: Style | None = None) -> "Drawing":
    """Return a figure of the catalogue; `look` is the style of its function, if that is not the report's."""
    from entropy_sentinel.report.figures import style  # imports matplotlib, which tables and pages do not need

    with style(look):
        drawing: Drawing = _call(functions[name], inputs)
        return drawing


def save_figures(
    figures: Mapping[str, str | DrawnFigure], functions: Functions, inputs: Mapping[str, Any], folder: str
) -> None:
    """Write figures, by the names of their files, to `folder`.

    A string is the title of the figure of this name. What a DrawnFigure names, such as its model, is a further input.
    """
    from entropy_sentinel.report.figures import write_figure

    for name, figure in figures.items():
        drawn = DrawnFigure(figure=name, title=figure, model=None) if isinstance(figure, str) else figure
        drawing = draw(drawn["figure"], functions, {**inputs, **drawn})
        write_figure(Exhibit("figure", name, drawn["title"]), drawing, folder)


def save_page(
    template: Path, page: str, tables: Sequence[str] = (), figures: Sequence[str] = (), **content: object
) -> None:
    """Write a page with this content, and with tables and figures from their .html files."""
    fragments = {"tables": list(map(read_fragment, tables)), "figures": list(map(read_fragment, figures))}
    write_whole(page, render(template, **content, **fragments))


def _call(function: Callable[..., Any], inputs: Mapping[str, Any]) -> Any:
    """Call a function with the `inputs` that it takes."""
    return function(**{name: inputs[name] for name in signature(function).parameters})
