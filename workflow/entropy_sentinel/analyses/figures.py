"""Figures by name: the function `figure_<name>` draws one from those inputs that its parameters name."""

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, TypedDict

from entropy_sentinel.analyses.inputs import call
from entropy_sentinel.report.figures import Drawing, style, write_figure
from entropy_sentinel.report.pages import Exhibit


class DrawnFigure(TypedDict):
    """A figure to make: its name in the catalogue, its title, and its model if it is of one."""

    figure: str
    title: str
    model: str | None


def draw(name: str, modules: Sequence[ModuleType], inputs: Mapping[str, Any]) -> Drawing:
    """The figure whose function is in one of `modules`."""
    with style():
        drawing: Drawing = call(f"figure_{name}", modules, inputs)
        return drawing


def write_figures(
    titles: Mapping[str, str], modules: Sequence[ModuleType], inputs: Mapping[str, Any], folder: str
) -> None:
    """Write the figures of these names and titles to `folder`."""
    figures = {name: DrawnFigure(figure=name, title=title, model=None) for name, title in titles.items()}
    write_figures_of_models(figures, modules, inputs, folder)


def write_figures_of_models(
    figures: Mapping[str, DrawnFigure], modules: Sequence[ModuleType], inputs: Mapping[str, Any], folder: str
) -> None:
    """Write figures, by the names of their files, to `folder`: `model` is one more input."""
    for name, what in figures.items():
        drawing = draw(what["figure"], modules, {**inputs, "model": what["model"]})
        write_figure(Exhibit("figure", name, what["title"]), drawing, folder)
