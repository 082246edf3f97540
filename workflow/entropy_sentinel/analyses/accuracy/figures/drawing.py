"""The figures of the catalogue, from the frames of the study."""

from collections.abc import Mapping
from typing import Any

from entropy_sentinel.analyses.accuracy.figures import of_accuracies, of_distributions, of_features, of_validation
from entropy_sentinel.analyses.accuracy.frames import AUROC, DOMAINS, SWEEP
from entropy_sentinel.analyses.accuracy.showing.verdicts import read_validations
from entropy_sentinel.analyses.inputs import call, read_estimates
from entropy_sentinel.features.observation_frame import OBSERVATIONS
from entropy_sentinel.report.exhibits import Exhibit
from entropy_sentinel.report.figures import Drawing, style, write_figure

_MODULES = (of_validation, of_accuracies, of_distributions, of_features)


def draw_figure(name: str, inputs: Mapping[str, Any]) -> Drawing:
    """The figure of this name, from those of `inputs` that its function names."""
    with style():
        drawing: Drawing = call(f"figure_{name}", _MODULES, inputs)
        return drawing


def write_figures(
    files: Mapping[str, Any], settings: Mapping[str, Any], titles: Mapping[str, str], folder: str
) -> None:
    """Write the figures of these names and titles to `folder`.

    `files` has the paths `sweep`, `auroc`, `domains` and `observations` (of `settings["figure_model"]`), and lists
    `estimates`, those of all models for the headline group, and `validation`, those of all models. `settings` has
    `label`, `groups`, `headline_group`, `default`, `figure_model` and `figure_benchmark`.
    """
    inputs = {
        **settings,
        "sweep": SWEEP.read(files["sweep"]),
        "auroc": AUROC.read(files["auroc"]),
        "domains": DOMAINS.read(files["domains"]),
        "estimates": read_estimates(files["estimates"]),
        "validations": read_validations(files["validation"]),
        "observations": OBSERVATIONS.read(files["observations"]),
    }
    for name, title in titles.items():
        write_figure(Exhibit("figure", name, title), draw_figure(name, inputs), folder)
