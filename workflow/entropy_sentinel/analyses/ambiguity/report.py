"""The page of this analysis, and its closing lines for the terminal."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

import polars as pl

from entropy_sentinel.analyses.ambiguity.catalogue import ANSWERS, ESTIMATORS
from entropy_sentinel.analyses.ambiguity.frames import CONCORDANCES, P_STARS
from entropy_sentinel.analyses.ambiguity.headings import AUC_NOTE, COMMON_NOTE, AmbiguityShown, made_note
from entropy_sentinel.analyses.ambiguity.summary import answer, by_frequency, interval, summaries, summarise
from entropy_sentinel.frames.files import write_whole
from entropy_sentinel.report.pages import read_fragment, render

TEMPLATE = Path(__file__).with_name("report.html.j2")


class ReportFiles(TypedDict):
    """Files of the page: concordances, what p* is like, and exhibits' .html files."""

    concordances: str
    p_stars: str
    tables: Sequence[str]
    figures: Sequence[str]


def write_report(files: ReportFiles, settings: AmbiguityShown, page: str, summary: str) -> None:
    """Write the page and the summary."""
    concordances, source = CONCORDANCES.read(files["concordances"]), settings["source"]
    found, frequencies = list(summaries(concordances, source)), by_frequency(concordances, source)
    p_stars = P_STARS.read(files["p_stars"]).filter(source=source)
    assumed = p_stars.filter(pl.col("counts").is_null(), pl.col("n_answers") > 1)["benchmark"].unique().sort()
    content = render(
        TEMPLATE,
        title="Entropy and ambiguity",
        label=settings["label"],
        answer=answer(found) if found else None,
        frequencies=frequencies,
        summaries=found,
        kinds=ANSWERS,
        estimators=ESTIMATORS,
        interval=interval,
        notes=[AUC_NOTE, COMMON_NOTE, made_note(settings)],
        assumed=assumed.to_list(),
        tables=[read_fragment(path) for path in files["tables"]],
        figures=[read_fragment(path) for path in files["figures"]],
    )
    write_whole(summary, summarise(found, frequencies))
    write_whole(page, content)
