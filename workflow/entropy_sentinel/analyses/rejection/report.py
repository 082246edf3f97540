"""The page of this analysis, and its closing lines for the terminal."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

import polars as pl

from entropy_sentinel.analyses.headings import training_group
from entropy_sentinel.analyses.inputs import read_several
from entropy_sentinel.analyses.rejection.catalogue import (
    coverage_measure,
    kept_accuracy_measure,
    kept_measure,
    threshold_measure,
)
from entropy_sentinel.analyses.rejection.frames import MEASURES
from entropy_sentinel.analyses.rejection.headings import RejectionShown, absent_notes, assessor_title, domain_notes
from entropy_sentinel.analyses.rejection.summary import summaries, summarise
from entropy_sentinel.frames.files import write_whole
from entropy_sentinel.frames.numbers import span
from entropy_sentinel.report.pages import read_fragment, render

# What is shown of an assessor for a wanted accuracy: names of measures.
_OF_ACCURACY = {
    "most": coverage_measure,
    "threshold": threshold_measure,
    "kept": kept_measure,
    "kept_accuracy": kept_accuracy_measure,
}
TEMPLATE = Path(__file__).with_name("report.html.j2")


class ReportFiles(TypedDict):
    """Files of the page: MEASURES of each model, and exhibits' .html files."""

    measures: Sequence[str]
    tables: Sequence[str]
    figures: Sequence[str]


def write_report(files: ReportFiles, settings: RejectionShown, models: Sequence[str], page: str, summary: str) -> None:
    """Write the page and the summary."""
    measures = read_several(MEASURES, files["measures"], {"model": models})
    content, text = render_report(measures, files["tables"], files["figures"], settings)
    write_whole(summary, text)
    write_whole(page, content)


def render_report(
    measures: pl.DataFrame, tables: Sequence[str | Path], figures: Sequence[str | Path], settings: RejectionShown
) -> tuple[str, str]:
    """The page as HTML and the summary as text, the same for the same arguments; see `write_report`."""
    group = training_group(settings["groups"], settings["headline_group"])
    names, accuracies = settings["assessors"][group.group], settings["accuracies"]
    own = measures.filter(pl.col("group") == group.group)
    page = render(
        TEMPLATE,
        title="Which responses can be kept",
        label=settings["label"],
        group=group,
        estimator=assessor_title(group.estimator),
        summaries=summaries(own, group, names),
        accuracies=[
            {"wanted": f"{accuracy:g}"} | {what: name(accuracy) for what, name in _OF_ACCURACY.items()}
            for accuracy in accuracies
        ],
        assessor_title=assessor_title,
        span=span,
        notes=[*absent_notes(measures, [group], settings["assessors"]), *domain_notes(own)],
        tables=[read_fragment(path) for path in tables],
        figures=[read_fragment(path) for path in figures],
    )
    return page, summarise(measures, group, names, accuracies)
