"""Labelling in a browser: one page with everything in it, to be opened from the disk."""

import hashlib
from pathlib import Path

import polars as pl

from entropy_sentinel.commands.auditing.answers import COLUMNS, Answers
from entropy_sentinel.commands.auditing.sample import KEY, Sample
from entropy_sentinel.frames.files import whole_file
from entropy_sentinel.report.pages import render

TEMPLATE = Path(__file__).with_name("audit.html.j2")
_SHOWN = (*KEY, "question", "reference", "response", "cut_off", "caution")


def write_page(sample: Sample, shown: pl.DataFrame, answers: Answers, path: Path) -> None:
    """Write the page for `shown`, the sample's material; it begins with `answers`. It holds no verdict of the judge."""
    rows = [{name: row[name] for name in _SHOWN} for row in shown.iter_rows(named=True)]
    given = [answers.get(tuple(row[name] for name in KEY)) for row in rows]
    identity = hashlib.sha256(repr(shown.select(*KEY, "response_hash").rows()).encode()).hexdigest()[:16]
    content = render(
        TEMPLATE,
        title=f"Audit: {sample.about['study']}",
        label=None,
        data={"rows": rows, "answers": given, "columns": COLUMNS, "store": f"entropy-sentinel-audit-{identity}"},
    )
    with whole_file(path) as partial:
        partial.write_text(content, encoding="utf-8")
