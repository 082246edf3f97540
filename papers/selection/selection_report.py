"""The tables and figures of the catalogue, the page that shows them, and its lines for the terminal."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from entropy_sentinel.rendering.exhibit_files import save_figures, save_report, save_tables
from entropy_sentinel.rendering.plain_text import format_text_table, indent_lines
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.file_sets import read_by_owner
from papers.selection.selection_exhibits import FIGURES, STRATEGIES, TABLES
from papers.selection.selection_frames import CANDIDATES, SELECTIONS
from papers.selection.selection_tables import SelectionInputs, table_selections


class SelectionReportSettings(TypedDict):
    """Settings of the page and its exhibits, by their names in the catalogue."""

    label: str
    tables: Sequence[str]
    figures: Sequence[str]
    strategies: Sequence[str]
    answer: str
    tries: int


def write_report(
    candidates: Sequence[str],
    selections: Sequence[str],
    models: Sequence[str],
    settings: SelectionReportSettings,
    page: str,
    summary: str,
) -> None:
    """Write the page, with `tables/` and `figures/` beside it, and the summary."""
    expected = {"model": models}
    inputs = SelectionInputs(
        label=settings["label"],
        candidates=read_by_owner(CANDIDATES, candidates, expected),
        selections=read_by_owner(SELECTIONS, selections, expected),
        notes=_collect_notes(selections, models),
    )
    folder = Path(page).parent
    save_tables(TABLES, settings["tables"], inputs, f"{folder}/tables")
    save_figures(FIGURES, settings["figures"], inputs, f"{folder}/figures")
    save_report(
        __file__,
        page,
        summary,
        text=format_summary(inputs),
        tables=[f"{folder}/tables/table_{name}.html" for name in settings["tables"]],
        figures=[f"{folder}/figures/figure_{name}.html" for name in settings["figures"]],
        title="Which items to train on",
        label=settings["label"],
        strategies={name: STRATEGIES[name] for name in settings["strategies"]},
        answer=settings["answer"],
        tries=settings["tries"],
        notes=inputs.notes,
    )


def _collect_notes(selections: Sequence[str], models: Sequence[str]) -> list[str]:
    """The notes of `StrategySelection.notes` as sentences, from the provenance of files SELECTIONS."""
    by_model = {str(provenance["model"]): provenance["notes"] for provenance in map(read_provenance, selections)}
    notes = []
    for model in models:
        prefix = "" if len(models) == 1 else f"{model}, "
        notes += [f"{prefix}{note}." for note in by_model[model]]
    return notes


def format_summary(inputs: SelectionInputs) -> str:
    """The summary as plain text: what each strategy selects, and what it lacks."""
    table = table_selections(inputs)
    lines = format_text_table(table.frame.columns, table.cells())
    return "\n".join([indent_lines("Which items to train on", lines), *inputs.notes]) + "\n"
