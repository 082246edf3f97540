"""The figures of the catalogue, from the frames of the study."""

from collections.abc import Mapping
from typing import Any

from entropy_sentinel.analyses import figures
from entropy_sentinel.analyses.accuracy.figures import of_accuracies, of_distributions, of_features, of_validation
from entropy_sentinel.analyses.accuracy.frames import AUROC, DOMAINS, SWEEP, StudyFiles
from entropy_sentinel.analyses.accuracy.showing.verdicts import read_validations
from entropy_sentinel.analyses.headings import Shown
from entropy_sentinel.analyses.inputs import read_all
from entropy_sentinel.frames.estimate import ESTIMATES
from entropy_sentinel.report.figures import Drawing
from entropy_sentinel.signals.observation_frame import OBSERVATIONS

_MODULES = (of_validation, of_accuracies, of_distributions, of_features)


class FigureFiles(StudyFiles):
    """Files of the figures; `estimates` are those of the headline group, `observations` those of the figure's model."""

    auroc: str
    observations: str


class FigureSettings(Shown):
    """Settings of the figures."""

    default: str
    figure_model: str
    figure_benchmark: str


def draw_figure(name: str, inputs: Mapping[str, Any]) -> Drawing:
    """The figure of this name, from those of `inputs` that its function names."""
    return figures.draw(name, _MODULES, inputs)


def write_figures(files: FigureFiles, settings: FigureSettings, titles: Mapping[str, str], folder: str) -> None:
    """Write the figures of these names and titles to `folder`."""
    inputs = {
        **settings,
        "sweep": SWEEP.read(files["sweep"]),
        "auroc": AUROC.read(files["auroc"]),
        "domains": DOMAINS.read(files["domains"]),
        "estimates": read_all(ESTIMATES, files["estimates"]),
        "validations": read_validations(files["validation"]),
        "observations": OBSERVATIONS.read(files["observations"]),
    }
    figures.write_figures(titles, _MODULES, inputs, folder)
