"""The tables of the catalogue, from the frames of the study, for any number of models.

AEE, AUROC and accuracies are shares in [0, 1], rho is a correlation in [-1, 1].
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from entropy_sentinel.analyses import tables
from entropy_sentinel.analyses.accuracy.frames import AUROC, DOMAINS, REPEATS, SWEEP, StudyFiles
from entropy_sentinel.analyses.accuracy.measuring.aggregation import without_small_rho
from entropy_sentinel.analyses.accuracy.published.comparison import compare
from entropy_sentinel.analyses.accuracy.published.notes import rests_on
from entropy_sentinel.analyses.accuracy.showing.verdicts import read_validations
from entropy_sentinel.analyses.accuracy.tables import (
    by_model,
    of_domains,
    of_groups,
    of_medians,
    of_methods,
    of_validation,
)
from entropy_sentinel.analyses.headings import Shown
from entropy_sentinel.analyses.inputs import read_all
from entropy_sentinel.frames.contract import read_provenance
from entropy_sentinel.frames.estimate import ESTIMATES
from entropy_sentinel.report.pages import Exhibit
from entropy_sentinel.report.tables import Table, write_table

_MODULES = (of_validation, of_domains, of_methods, by_model, of_medians, of_groups)


class TableFiles(StudyFiles):
    """Files of the tables; `estimates` are those of all named groups, `repeats` those of all models or none.

    The provenance of `generations` and `labels` says what a comparison with the paper rests on.
    """

    auroc: str
    repeats: Sequence[str]
    generations: Sequence[str]
    labels: Sequence[str]


class TableSettings(Shown):
    """Settings of the tables."""

    default: str
    auroc_models: list[str]
    auroc_benchmarks: list[str]


def make_table(name: str, inputs: Mapping[str, Any], label: str) -> Table:
    """The table of this name from those of `inputs` that its function names, with the study's label as last note.

    Beside it are the published values, where it has any.
    """
    inputs = {**inputs, "sweep": without_small_rho(inputs["sweep"])}
    return replace(tables.make_table(name, _MODULES, inputs, label), published=compare(name, inputs))


def write_tables(files: TableFiles, settings: TableSettings, titles: Mapping[str, str], folder: str) -> None:
    """Write the tables of these names and titles to `folder`."""
    inputs = {
        **settings,
        "sweep": SWEEP.read(files["sweep"]),
        "auroc": AUROC.read(files["auroc"]),
        "domains": DOMAINS.read(files["domains"]),
        "estimates": read_all(ESTIMATES, files["estimates"]),
        "repeats": read_all(REPEATS, files["repeats"]),
        "validations": read_validations(files["validation"]),
        "rests_on": rests_on(*(list(map(read_provenance, paths)) for paths in (files["generations"], files["labels"]))),
    }
    for name, title in titles.items():
        write_table(Exhibit("table", name, title), make_table(name, inputs, settings["label"]), folder)
