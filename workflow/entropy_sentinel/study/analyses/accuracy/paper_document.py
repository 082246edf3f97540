"""The job that writes tables and figures in the layout of the paper, and a document that shows them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from entropy_sentinel.core.whole_files import write_whole
from entropy_sentinel.rendering.exhibit_files import draw, make_table
from entropy_sentinel.rendering.exhibit_style import Style, paper_style
from entropy_sentinel.rendering.figure_style import write_paper_figure
from entropy_sentinel.rendering.html_pages import Exhibit
from entropy_sentinel.rendering.latex import format_document, format_table
from entropy_sentinel.schemas.estimate_schema import ESTIMATES
from entropy_sentinel.schemas.file_sets import read_all
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS
from entropy_sentinel.study.analyses.accuracy.accuracy_exhibits import FIGURES, TABLES
from entropy_sentinel.study.analyses.accuracy.accuracy_figures import AccuracyFigureSettings
from entropy_sentinel.study.analyses.accuracy.accuracy_tables import AccuracyTableSettings
from entropy_sentinel.study.analyses.accuracy.exhibit_inputs import AccuracyFigureInputs, AccuracyTableInputs
from entropy_sentinel.study.analyses.accuracy.measuring.accuracy_frames import AUROC, DOMAINS, REPEATS, SWEEP
from entropy_sentinel.study.analyses.accuracy.paper_tables import PaperSettings, arrange_as_published
from entropy_sentinel.study.analyses.accuracy.sweep_aggregation import drop_small_rho

DOCUMENT = "exhibits.tex"


class PaperFiles(TypedDict):
    """Files of the paper's exhibits; `estimates` are the headline group's, `observations` the figures' model's."""

    sweep: str
    auroc: str
    domains: str
    estimates: list[str]
    observations: str


class PaperExhibitSettings(AccuracyTableSettings, AccuracyFigureSettings):
    """Settings of the paper's exhibits; `models` and `benchmarks` are displayed names."""

    models: dict[str, str]
    benchmarks: dict[str, str]


def write_paper(
    files: PaperFiles,
    settings: PaperExhibitSettings,
    tables: Sequence[str],
    figures: Sequence[str],
    folder: str,
) -> None:
    """Write the tables and figures of these names to `folder`, and the document that shows them all."""
    style = paper_style(settings["models"], settings["benchmarks"])
    sweep = drop_small_rho(SWEEP.read(files["sweep"]))
    auroc, domains = AUROC.read(files["auroc"]), DOMAINS.read(files["domains"])
    estimates = read_all(ESTIMATES, files["estimates"])
    table_inputs = AccuracyTableInputs(
        label=settings["label"],
        groups=settings["groups"],
        headline_group=settings["headline_group"],
        main_groups=settings["main_groups"],
        default=settings["default"],
        auroc_models=settings["auroc_models"],
        auroc_benchmarks=settings["auroc_benchmarks"],
        sweep=sweep,
        auroc=auroc,
        domains=domains,
        estimates=estimates,
        # The paper's tables show none of these.
        repeats=REPEATS.frame([]),
        validations=(),
        basis_note="",
    )
    figure_inputs = AccuracyFigureInputs(
        label=settings["label"],
        groups=settings["groups"],
        headline_group=settings["headline_group"],
        default=settings["default"],
        figure_model=settings["figure_model"],
        figure_benchmark=settings["figure_benchmark"],
        style=style,
        sweep=sweep,
        auroc=auroc,
        domains=domains,
        estimates=estimates,
        observations=OBSERVATIONS.read(files["observations"]),
        validations=(),
    )
    exhibits = _save_tables(tables, table_inputs, style, folder)
    for name in figures:
        exhibit = Exhibit("figure", name, FIGURES[name].title)
        write_paper_figure(exhibit, draw(FIGURES[name], figure_inputs, style), style, folder)
        exhibits.append(exhibit)
    write_whole(Path(folder) / DOCUMENT, format_document(exhibits))


def _save_tables(tables: Sequence[str], inputs: AccuracyTableInputs, style: Style, folder: str) -> list[Exhibit]:
    """Write the tables of these names, all of which the paper printed, as .tex files; list them for the document."""
    exhibits = []
    for name in tables:
        declaration = TABLES[name]
        assert declaration.published, f"table {name} is not a table of the paper"
        exhibit = Exhibit("table", name, declaration.title)
        # A table that is too long for one float of LaTeX has several parts.
        parts = arrange_as_published(
            declaration.published, make_table(declaration, inputs), PaperSettings(inputs, style)
        )
        write_whole(Path(folder) / f"{exhibit.file}.tex", format_table(parts, name))
        exhibits.append(exhibit)
    return exhibits
