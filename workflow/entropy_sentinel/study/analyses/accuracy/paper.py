"""The job that writes tables and figures in the form of the paper, and a document that shows them."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from entropy_sentinel.core.files import write_whole
from entropy_sentinel.report.exhibits import draw, make_table
from entropy_sentinel.report.figures import write_paper_figure
from entropy_sentinel.report.latex import format_document, format_table
from entropy_sentinel.report.pages import Exhibit
from entropy_sentinel.report.style import paper_style
from entropy_sentinel.schemas.estimate import ESTIMATES
from entropy_sentinel.schemas.file_sets import read_all
from entropy_sentinel.signals.observation_frame import OBSERVATIONS
from entropy_sentinel.study.analyses.accuracy.aggregation import without_small_rho
from entropy_sentinel.study.analyses.accuracy.figures import FIGURE_FUNCTIONS
from entropy_sentinel.study.analyses.accuracy.measuring.frames import AUROC, DOMAINS, SWEEP
from entropy_sentinel.study.analyses.accuracy.paper_tables import PaperSettings, form_table
from entropy_sentinel.study.analyses.accuracy.tables import TABLE_FUNCTIONS
from entropy_sentinel.study.analyses.headings import ExhibitSettings

DOCUMENT = "exhibits.tex"


class PaperFiles(TypedDict):
    """Files of the paper's exhibits; `estimates` are the headline group's, `observations` the figures' model's."""

    sweep: str
    auroc: str
    domains: str
    estimates: list[str]
    observations: str


class PaperExhibitSettings(ExhibitSettings):
    """Settings of the paper's exhibits; `models` and `benchmarks` are displayed names."""

    default: str
    auroc_models: list[str]
    auroc_benchmarks: list[str]
    figure_model: str
    figure_benchmark: str
    models: dict[str, str]
    benchmarks: dict[str, str]


def write_paper(
    files: PaperFiles,
    settings: PaperExhibitSettings,
    tables: Mapping[str, str],
    figures: Mapping[str, str],
    folder: str,
) -> None:
    """Write the tables and figures of these names and titles to `folder`, and the document that shows them all."""
    style = paper_style(settings["models"], settings["benchmarks"])
    inputs = {
        **settings,
        "style": style,
        "sweep": without_small_rho(SWEEP.read(files["sweep"])),
        "auroc": AUROC.read(files["auroc"]),
        "domains": DOMAINS.read(files["domains"]),
        "estimates": read_all(ESTIMATES, files["estimates"]),
        "observations": OBSERVATIONS.read(files["observations"]),
    }
    captions = PaperSettings(
        settings["groups"], settings["headline_group"], settings["default"], settings["auroc_benchmarks"], style
    )
    exhibits: list[Exhibit] = []
    for name, title in tables.items():
        exhibit = Exhibit("table", name, title)
        forms = form_table(name, make_table(name, TABLE_FUNCTIONS, inputs, settings["label"]), captions)
        write_whole(Path(folder) / f"{exhibit.file}.tex", format_table(forms, name))
        exhibits.append(exhibit)
    for name, title in figures.items():
        exhibit = Exhibit("figure", name, title)
        write_paper_figure(exhibit, draw(name, FIGURE_FUNCTIONS, inputs, style), style, folder)
        exhibits.append(exhibit)
    write_whole(Path(folder) / DOCUMENT, format_document(exhibits))
