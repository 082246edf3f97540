"""The figures of the catalogue, from the observations and scores of all models."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from entropy_sentinel.analyses.figures import DrawnFigure, write_figures_of_models
from entropy_sentinel.analyses.headings import training_group
from entropy_sentinel.analyses.inputs import read_several
from entropy_sentinel.analyses.rejection import figures_of_curves
from entropy_sentinel.analyses.rejection.headings import RejectionShown
from entropy_sentinel.analyses.rejection.rows import read_scores, scored, slices
from entropy_sentinel.signals.observation_frame import OBSERVATIONS


class FigureFiles(TypedDict):
    """Files of the figures, those of all models for the headline group."""

    observations: Sequence[str]
    scores: Sequence[str]
    questions: Sequence[str]


def write_figures(
    files: FigureFiles,
    settings: RejectionShown,
    exhibits: Mapping[str, DrawnFigure],
    models: Sequence[str],
    folder: str,
) -> None:
    """Write the figures, by the names of their files, to `folder`."""
    observations = read_several(OBSERVATIONS, files["observations"], {"model": models})
    scores = read_scores(files["scores"], files["questions"])
    group = training_group(settings["groups"], settings["headline_group"])
    names = scored(scores, group.group, settings["assessors"][group.group])
    inputs = {
        "by_model": {
            model: list(slices(observations.filter(model=model), scores.filter(model=model), group.group, names))
            for model in models
        },
        "group": group,
        "names": names,
        "accuracies": settings["accuracies"],
        "label": settings["label"],
    }
    write_figures_of_models(exhibits, [figures_of_curves], inputs, folder)
