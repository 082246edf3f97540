"""Tables, figures and pages of an analysis: their inputs and the files they are written to."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict

from entropy_sentinel.core.whole_files import write_whole
from entropy_sentinel.rendering.exhibit_declarations import Declarations, ExhibitDeclaration
from entropy_sentinel.rendering.exhibit_style import Style
from entropy_sentinel.rendering.html_pages import Exhibit, read_fragment, render
from entropy_sentinel.rendering.table_exhibit import Table, write_table

if TYPE_CHECKING:
    from entropy_sentinel.rendering.figure_style import Drawing


@dataclass(frozen=True, kw_only=True)
class ExhibitInputs:
    """What the tables or the figures of an analysis are made from; each analysis adds its frames and settings.

    `label` is the study's, which every exhibit shows.
    """

    label: str


@dataclass(frozen=True, kw_only=True)
class FigureInputs(ExhibitInputs):
    """The same for figures. `model` and `benchmark` are those of a figure that shows only one; else empty."""

    model: str = ""
    benchmark: str = ""


class DrawnFigure(TypedDict):
    """A figure to make: its declared name, its title, and its model and benchmark if it shows only one."""

    figure: str
    title: str
    model: str | None
    benchmark: NotRequired[str | None]


def make_table(declaration: ExhibitDeclaration, inputs: ExhibitInputs) -> Table:
    """A table, with the study's label as last note."""
    table: Table = declaration.load()(inputs)
    return replace(table, notes=(*table.notes, f"Study: {inputs.label}."))


def save_tables(declarations: Declarations, names: Iterable[str], inputs: ExhibitInputs, folder: str) -> None:
    """Write the tables of these names to `folder`."""
    for name in names:
        declaration = declarations[name]
        write_table(Exhibit("table", name, declaration.title), make_table(declaration, inputs), folder)


def draw(declaration: ExhibitDeclaration, inputs: FigureInputs, exhibit_style: Style | None = None) -> "Drawing":
    """A figure; `exhibit_style` is the style of its function, if that is not the report's."""
    from entropy_sentinel.rendering.figure_style import (
        apply_style,  # imports matplotlib, which tables and pages do not need
    )

    with apply_style(exhibit_style):
        drawing: Drawing = declaration.load()(inputs)
        return drawing


def save_figures(
    declarations: Declarations, figures: Iterable[str] | Mapping[str, DrawnFigure], inputs: FigureInputs, folder: str
) -> None:
    """Write figures to `folder`: the declared ones of these names, or DrawnFigures, by the names of their files."""
    from entropy_sentinel.rendering.figure_style import write_figure

    for name in figures:
        if isinstance(figures, Mapping):
            drawn = figures[name]
        else:
            drawn = DrawnFigure(figure=name, title=declarations[name].title, model=None)
        chosen = replace(inputs, model=drawn["model"] or "", benchmark=drawn.get("benchmark") or "")
        drawing = draw(declarations[drawn["figure"]], chosen)
        write_figure(Exhibit("figure", name, drawn["title"]), drawing, folder)


def save_report(
    module: str,
    page: str,
    summary: str,
    *,
    text: str,
    title: str,
    label: str,
    tables: Sequence[str] = (),
    figures: Sequence[str] = (),
    **content: object,
) -> None:
    """Write the page of an analysis to the file `page`, and the summary `text` to the file `summary`.

    The page's template is report.html.j2 beside the Python file `module`. `tables` and `figures` are .html files of
    exhibits; `content` is what else the template shows.
    """
    fragments = {"tables": list(map(read_fragment, tables)), "figures": list(map(read_fragment, figures))}
    template = Path(module).with_name("report.html.j2")
    write_whole(page, render(template, title=title, label=label, **content, **fragments))
    write_whole(summary, text)
