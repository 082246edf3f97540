"""The tables and figures of the catalogue, the page that shows them, and its lines for the terminal."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

import polars as pl

from entropy_sentinel.analyses.exhibits import draw, make_table, read_several
from entropy_sentinel.analyses.selection import figures, tables
from entropy_sentinel.analyses.selection.catalogue import FIGURES, STRATEGIES, TABLES
from entropy_sentinel.analyses.selection.frames import CANDIDATES, SELECTIONS
from entropy_sentinel.frames.contract import read_provenance
from entropy_sentinel.frames.files import write_whole
from entropy_sentinel.report.figures import write_figure
from entropy_sentinel.report.pages import Exhibit, read_fragment, render
from entropy_sentinel.report.tables import write_table

TEMPLATE = Path(__file__).with_name("report.html.j2")


class ReportFiles(TypedDict):
    """Files of the page, one of each for each model."""

    candidates: Sequence[str]
    selections: Sequence[str]


class ReportSettings(TypedDict):
    """Settings of the page and its exhibits, by their names in the catalogue."""

    label: str
    tables: Sequence[str]
    figures: Sequence[str]
    strategies: Sequence[str]
    answer: str
    tries: int


def write_report(files: ReportFiles, models: Sequence[str], settings: ReportSettings, page: str, summary: str) -> None:
    """Write the page, with `tables/` and `figures/` beside it, and the summary."""
    inputs = _inputs(files, models, settings)
    parts = write_exhibits(inputs, settings, Path(page).parent)
    text = summarise(inputs)
    content = render(
        TEMPLATE,
        title="Which items to train on",
        label=settings["label"],
        strategies={name: STRATEGIES[name] for name in settings["strategies"]},
        answer=settings["answer"],
        tries=settings["tries"],
        notes=inputs["notes"],
        **parts,
    )
    for path, written in ((summary, text), (page, content)):
        write_whole(path, written)


def _inputs(files: ReportFiles, models: Sequence[str], settings: ReportSettings) -> dict[str, Any]:
    expected = {"model": models}
    notes = {str(about["model"]): about["notes"] for about in map(read_provenance, files["selections"])}
    single = len(models) == 1
    return {
        "candidates": read_several(CANDIDATES, files["candidates"], expected),
        "selections": read_several(SELECTIONS, files["selections"], expected),
        "notes": [f"{note}." if single else f"{model}, {note}." for model in models for note in notes[model]],
        "label": settings["label"],
    }


def write_exhibits(inputs: Mapping[str, Any], settings: ReportSettings, folder: Path) -> dict[str, list[str]]:
    """Write tables and figures below `folder`; return their HTML fragments as `tables` and `figures`."""
    parts: dict[str, list[str]] = {"tables": [], "figures": []}
    for name in settings["tables"]:
        exhibit = Exhibit("table", name, TABLES[name])
        write_table(exhibit, make_table(name, vars(tables), inputs, settings["label"]), folder / "tables")
        parts["tables"].append(read_fragment(folder / "tables" / f"{exhibit.file}.html"))
    for name in settings["figures"]:
        exhibit = Exhibit("figure", name, FIGURES[name])
        write_figure(exhibit, draw(name, vars(figures), inputs), folder / "figures")
        parts["figures"].append(read_fragment(folder / "figures" / f"{exhibit.file}.html"))
    return parts


def summarise(inputs: Mapping[str, Any]) -> str:
    """Return the summary as plain text: what each strategy selects, and what it lacks."""
    table = tables.table_selections(inputs["candidates"], inputs["selections"], notes=[])
    shown = pl.DataFrame(table.cells(), schema=table.frame.columns, orient="row")
    widths = [max(map(len, [name, *shown[name]])) for name in shown.columns]
    rows = [shown.columns, *shown.rows()]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(["Which items to train on", *(f"  {line}" for line in lines), *inputs["notes"]]) + "\n"
