"""The page of this analysis, and its closing lines for the terminal."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from entropy_sentinel.analyses.entropy_area.catalogue import measure_title
from entropy_sentinel.analyses.entropy_area.frames import CORRELATIONS
from entropy_sentinel.analyses.entropy_area.headings import AreaShown, answer_note
from entropy_sentinel.analyses.entropy_area.summary import interval, summaries, summarise
from entropy_sentinel.frames.files import write_whole
from entropy_sentinel.report.pages import read_fragment, render

TEMPLATE = Path(__file__).with_name("report.html.j2")


class ReportFiles(TypedDict):
    """Files of the page: correlations, and exhibits' .html files."""

    correlations: str
    tables: Sequence[str]
    figures: Sequence[str]


def write_report(files: ReportFiles, settings: AreaShown, page: str, summary: str) -> None:
    """Write the page and the summary."""
    found = list(summaries(CORRELATIONS.read(files["correlations"])))
    content = render(
        TEMPLATE,
        title="Entropy area score",
        label=settings["label"],
        summaries=found,
        measures=[(name, measure_title(name)) for name in found[0].found] if found else [],
        interval=interval,
        answers=answer_note(settings["answers"]),
        tables=[read_fragment(path) for path in files["tables"]],
        figures=[read_fragment(path) for path in files["figures"]],
    )
    write_whole(summary, summarise(found))
    write_whole(page, content)
