"""The figures of the catalogue, from the observations and scores of all models."""

from collections.abc import Mapping, Sequence
from typing import Any

from entropy_sentinel.analyses.headings import training_group
from entropy_sentinel.analyses.inputs import call, read_several
from entropy_sentinel.analyses.rejection import figures_of_curves
from entropy_sentinel.analyses.rejection.rows import read_scores, scored, slices
from entropy_sentinel.features.observation_frame import OBSERVATIONS
from entropy_sentinel.report.exhibits import Exhibit
from entropy_sentinel.report.figures import style, write_figure


def write_figures(
    files: Mapping[str, Sequence[str]],
    settings: Mapping[str, Any],
    exhibits: Mapping[str, Mapping[str, Any]],
    models: Sequence[str],
    folder: str,
) -> None:
    """Write figures to `folder`: by name the `figure` of the catalogue, its `title`, and the `model`, if it is of one.

    `files` has lists `observations`, `scores` and `questions`: those of `models` for the headline group. `settings` has
    `label`, `groups`, `headline_group`, `assessors` by training group (`a+b`) and `accuracies`.
    """
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
    for name, what in exhibits.items():
        with style():
            drawing = call(f"figure_{what['figure']}", [figures_of_curves], inputs | {"model": what["model"]})
        write_figure(Exhibit("figure", name, what["title"]), drawing, folder)
