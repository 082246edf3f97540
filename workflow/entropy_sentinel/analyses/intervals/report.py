"""The page of this analysis, and its closing lines for the terminal."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from entropy_sentinel.analyses.intervals.catalogue import level_title, method_title
from entropy_sentinel.analyses.intervals.frames import DIFFERENCES, SCORES
from entropy_sentinel.analyses.intervals.headings import IntervalsShown
from entropy_sentinel.analyses.intervals.summary import headline, summaries, summarise
from entropy_sentinel.frames.files import write_whole
from entropy_sentinel.report.pages import read_fragment, render

TEMPLATE = Path(__file__).with_name("report.html.j2")


class ReportFiles(TypedDict):
    """Files of the page: scores, differences, and exhibits' .html files."""

    scores: str
    differences: str
    tables: Sequence[str]
    figures: Sequence[str]


def write_report(files: ReportFiles, settings: IntervalsShown, page: str, summary: str) -> None:
    """Write the page and the summary."""
    found = summaries(SCORES.read(files["scores"]), DIFFERENCES.read(files["differences"]))
    content = render(
        TEMPLATE,
        title="Intervals that a model states",
        label=settings["label"],
        headline=headline(found),
        summaries=found,
        level_title=level_title,
        method_title=method_title,
        tables=[read_fragment(path) for path in files["tables"]],
        figures=[read_fragment(path) for path in files["figures"]],
    )
    write_whole(summary, summarise(found))
    write_whole(page, content)
