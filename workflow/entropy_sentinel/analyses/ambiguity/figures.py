"""The figures of the catalogue, from the uncertainties and estimators of all models."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from entropy_sentinel.analyses.ambiguity import figures_of_items, figures_of_p_star, figures_of_theory
from entropy_sentinel.analyses.ambiguity.catalogue import KL
from entropy_sentinel.analyses.ambiguity.frames import ESTIMATES, P_STARS, UNCERTAINTIES
from entropy_sentinel.analyses.ambiguity.headings import AmbiguityShown
from entropy_sentinel.analyses.ambiguity.measures import joined
from entropy_sentinel.analyses.inputs import call, read_several
from entropy_sentinel.report.exhibits import Exhibit
from entropy_sentinel.report.figures import style, write_figure


class FigureFiles(TypedDict):
    """Files of the figures: uncertainties and estimators of each model, and what p* is like."""

    uncertainties: Sequence[str]
    estimates: Sequence[str]
    p_stars: str


class DrawnFigure(TypedDict):
    """A figure to make: its name in the catalogue, its title, and its model if it is of one."""

    figure: str
    title: str
    model: str | None


def write_figures(
    files: FigureFiles, settings: AmbiguityShown, exhibits: Mapping[str, DrawnFigure], folder: str
) -> None:
    """Write the figures, by the names of their files, to `folder`."""
    expected = {"model": settings["models"]}
    uncertainties = read_several(UNCERTAINTIES, files["uncertainties"], expected)
    items = joined(uncertainties, read_several(ESTIMATES, files["estimates"], expected))
    inputs = {
        "items": items.filter(form=KL, source=settings["source"]),
        "p_stars": P_STARS.read(files["p_stars"]),
        "settings": settings,
        "label": settings["label"],
    }
    for name, what in exhibits.items():
        with style():
            modules = [figures_of_theory, figures_of_p_star, figures_of_items]
            drawing = call(f"figure_{what['figure']}", modules, {**inputs, "model": what["model"]})
        write_figure(Exhibit("figure", name, what["title"]), drawing, folder)
