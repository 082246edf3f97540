"""Labelling a judge's responses in a browser."""

from pathlib import Path

import polars as pl

from entropy_sentinel.auditing.answers import COLUMNS, LABELS, Answers
from entropy_sentinel.auditing.sample import Sample
from entropy_sentinel.frames.files import write_whole
from entropy_sentinel.frames.response import RESPONSE
from entropy_sentinel.report.labelling import labelling_page


def write_page(sample: Sample, shown: pl.DataFrame, answers: Answers, path: Path, command: str) -> None:
    """Write the page for `shown`, the sample's material; it begins with `answers`. It holds no verdict of the judge.

    It tells that `command` takes over what it saves.
    """
    names = (*RESPONSE, "question", "reference", "response", "cut_off", "caution")
    rows = [{name: row[name] for name in names} for row in shown.iter_rows(named=True)]
    content = labelling_page(
        f"Audit: {sample.about['study']}",
        rows,
        RESPONSE,
        COLUMNS,
        [answers.get(tuple(row[name] for name in RESPONSE)) for row in rows],
        {label: label for label in LABELS},
        "answers.csv",
        command,
    )
    write_whole(path, content)
