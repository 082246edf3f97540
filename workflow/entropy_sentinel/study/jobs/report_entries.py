"""The exhibits of an analysis in Snakemake's report (`snakemake --report`), from what the analysis declares.

Tables, figures, pages and summaries are recognised by their files, which are the outputs of the analysis's rules; their
titles are those of its class. So an analysis of an extension needs nothing more to be in the report.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from entropy_sentinel.core.analysis import Analysis
from entropy_sentinel.rendering.html_pages import Exhibit

# Of files that differ only in their suffix, the first of these is shown; of a table also its file with all digits.
_SUFFIXES = {
    "figure": (".png", ".svg", ".html", ".pdf"),
    "table": (".html", ".md"),
    "page": (".html", ".png", ".svg", ".pdf", ".csv", ".txt", ".md"),
}
_UNROUNDED_SUFFIX = ".csv"
_SUBCATEGORIES = {"figure": "Figures", "table": "Tables", "page": "Pages"}
_WILDCARD = re.compile(r"\{(\w+)[^}]*\}")


class ReportEntry(NamedTuple):
    """A file of the report: its place among the outputs of its rule, where the report lists it, and its caption.

    The report lists it under `category` and `subcategory`, and `labels` are its columns there.
    """

    place: int
    category: str
    subcategory: str
    labels: dict[str, str]
    caption: str  # reStructuredText with Jinja, as Snakemake renders it


def list_report_entries(
    name: str, analysis: Analysis, outputs: Sequence[str], label: str, template: str
) -> list[ReportEntry]:
    """The report's entries for the `outputs` of one rule of the analysis `name`, which may have wildcards.

    `label` is the study's name in the report; `template` is the Jinja text of the captions, which reads `exhibit`.
    """
    category = name.replace("_", " ").capitalize()
    entries = []
    for place, output in enumerate(outputs):
        kind = _find_kind(output)
        if not _is_displayed(output, kind, outputs):
            continue
        title = _make_title(Path(output), kind, analysis)
        # Snakemake fills `{model}` with the wildcard's value.
        wildcards = {wildcard: f"{{{wildcard}}}" for wildcard in _WILDCARD.findall(output)}
        exhibit = {"place": place, "kind": kind, "title": title, "label": label, "tells": analysis.TELLS}
        labels = {"Exhibit": title, **wildcards}
        if kind == "table":
            # The report shows a label with two values as a switch, which is at `yes` first.
            labels["Rounded"] = "no" if output.endswith(_UNROUNDED_SUFFIX) else "yes"
        entries.append(ReportEntry(place, category, _SUBCATEGORIES[kind], labels, _write_caption(exhibit, template)))
    return entries


def _write_caption(exhibit: Mapping[str, object], template: str) -> str:
    """The template with a line of Jinja before it that sets its variable `exhibit`."""
    return f"{{% set exhibit = {json.dumps(exhibit)} %}}\n{template}"


def _find_kind(output: str) -> str:
    """The kind of an exhibit by its folder; what is in neither folder of exhibits is a page."""
    return {"tables": "table", "figures": "figure"}.get(Path(output).parent.name, "page")


def _is_displayed(output: str, kind: str, outputs: Sequence[str]) -> bool:
    """Whether the report shows a file of one of the `outputs`; of formats of an exhibit, only the preferred one.

    A table is shown twice: rounded, and with all digits as CSV.
    """
    path = Path(output)
    # Published values are part of the table that they are compared with.
    if path.stem.endswith("_published"):
        return False
    if kind == "table" and path.suffix == _UNROUNDED_SUFFIX:
        return True
    if path.suffix not in _SUFFIXES[kind]:
        return False
    better = _SUFFIXES[kind][: _SUFFIXES[kind].index(path.suffix)]
    return not any(str(path.with_suffix(suffix)) in outputs for suffix in better)


def _make_title(path: Path, kind: str, analysis: Analysis) -> str:
    """The heading of an exhibit, `Table 2: Errors by model`; or what a page tells."""
    if kind == "page":
        is_main_page = path.suffix == ".html" and analysis.PAGE and str(path).endswith(analysis.PAGE)
        if is_main_page:
            return analysis.TELLS[:1].upper() + analysis.TELLS[1:] if analysis.TELLS else "Report"
        return path.stem.replace("_", " ").capitalize()
    titles: Mapping[str, str] = analysis.TABLES if kind == "table" else analysis.FIGURES
    name = path.stem.removeprefix(f"{kind}_")
    # A figure of one model has the model's name at the end.
    candidates = [title for title in titles if name == title or name.startswith(f"{title}_")]
    longest = max(candidates, key=len, default=None)
    if longest is None:
        return name.replace("_", " ").capitalize()
    suffix = name.removeprefix(longest).strip("_")
    return Exhibit(kind, longest, ", ".join(filter(None, [titles[longest], suffix]))).heading
