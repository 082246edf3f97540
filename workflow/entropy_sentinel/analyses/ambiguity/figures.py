"""The figures of the catalogue, from the uncertainties and estimators of all models."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from entropy_sentinel.analyses.ambiguity import figures_of_items, figures_of_p_star, figures_of_theory
from entropy_sentinel.analyses.ambiguity.catalogue import KL
from entropy_sentinel.analyses.ambiguity.frames import ESTIMATES, P_STARS, UNCERTAINTIES
from entropy_sentinel.analyses.ambiguity.headings import AmbiguityShown
from entropy_sentinel.analyses.ambiguity.measures import joined
from entropy_sentinel.analyses.figures import DrawnFigure, write_figures_of_models
from entropy_sentinel.analyses.inputs import read_several


class FigureFiles(TypedDict):
    """Files of the figures: uncertainties and estimators of each model, and what p* is like."""

    uncertainties: Sequence[str]
    estimates: Sequence[str]
    p_stars: str


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
    modules = [figures_of_theory, figures_of_p_star, figures_of_items]
    write_figures_of_models(exhibits, modules, inputs, folder)
