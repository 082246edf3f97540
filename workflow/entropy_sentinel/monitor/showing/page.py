"""A monitor's findings as one HTML page that needs no other file; all text is escaped."""

from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.frames.files import write_whole
from entropy_sentinel.frames.numbers import counted
from entropy_sentinel.monitor.catalogue import STATISTICS
from entropy_sentinel.monitor.reading.settings import Reference, shown
from entropy_sentinel.monitor.result import Monitored
from entropy_sentinel.monitor.showing.columns import slice_name, table_of
from entropy_sentinel.monitor.showing.over_time import over_time
from entropy_sentinel.monitor.showing.pictures import labelled, ranked
from entropy_sentinel.monitor.showing.sentences import (
    SHOWN,
    labels_and_estimates,
    labels_of_a_part,
    reasons,
    silence,
    untested,
)
from entropy_sentinel.report.pages import render
from entropy_sentinel.report.tokens import FULL, cut, parts
from entropy_sentinel.statistics.intervals import NOTES

_TEMPLATE = Path(__file__).with_name("monitor.html.j2")
# Rows of a table that a page has: with a million slices it must stay one that a browser opens.
MOST_ROWS = 10 * SHOWN


def write_page(found: Monitored, path: str | Path) -> None:
    """Write the page in one step."""
    write_whole(path, page(found))


def page(found: Monitored) -> str:
    """The page's HTML."""
    about = found.provenance
    return render(
        _TEMPLATE,
        title="Estimated accuracy by slice",
        label=f"{about['estimator']['model']}, {about['made'][:16].replace('T', ' ')} UTC",
        alerts=_alerts(found),
        coloured=any(one.responses for one in found.behind),
        full=FULL,
        cut=cut,
        parts=parts,
        general=[
            *silence(found),
            *untested(found),
            *(f"{flag}: {reason}" for flag, reason in about["general_flags"].items()),
        ],
        summary=_summary(found),
        ranked=ranked(found),
        over_time=over_time(found),
        labelled=labelled(found),
        tables=list(_tables(found)),
        interval=" ".join(NOTES[basis] for basis in found.slices["basis"].unique(maintain_order=True)),
        statistics=[one for one in STATISTICS.values() if one.heading],
        flags=reasons(found),
        facts=_facts(found),
        problems=[*labels_of_a_part(found), *labels_and_estimates(found), *found.problems.lines()],
    )


def _alerts(found: Monitored) -> list[dict[str, Any]]:
    """A slice and window with all that is said of it, and the responses behind it; the newest window first."""
    said: dict[str, dict[str, Any]] = {}
    for one in sorted(found.alerts, key=lambda one: one.get("window") or "", reverse=True):
        name = slice_name(one["slice"].values())
        when = f", {found.provenance['window']} from {one['window'][:16].replace('T', ' ')}" if "window" in one else ""
        behind = next((shown for shown in found.behind if shown.is_of(one)), None)
        entry = {
            "slice": name,
            "when": when,
            "messages": [],
            "responses": behind.responses if behind else (),
            "note": behind.note if behind else "",
        }
        said.setdefault(repr((one["slice"], when)), entry)["messages"].append(one["message"])
    return list(said.values())


def _summary(found: Monitored) -> str:
    about, worst = found.provenance, found.slices.filter(pl.col("estimated_accuracy").is_not_null()).head(1)
    said = f"{counted(about['responses']['in_all'], 'response')} in {counted(len(found.slices), 'slice')}."
    if len(worst):
        row = worst.row(0, named=True)
        said += (
            f" Most errors are expected in {slice_name(row[one] for one in found.by)}: some "
            f"{row['expected_errors']:,.0f} of {row['n_estimated']:,} (estimated accuracy "
            f"{row['estimated_accuracy']:.3f}, {row['level']:.0%} interval {row['lower']:.3f} to {row['upper']:.3f})."
        )
    return said


def _tables(found: Monitored) -> list[dict[str, Any]]:
    if found.recent is None:
        return [_table(found, "Slices", found.slices)]
    tables = [_table(found, "The whole time", found.slices)]
    for window in reversed(found.newest):
        rows = found.recent.filter(pl.col("window") == window)
        tables.append(_table(found, f"{found.provenance['window'].title()} from {window:%Y-%m-%d %H:%M} UTC", rows))
    return tables


def _table(found: Monitored, heading: str, rows: pl.DataFrame) -> dict[str, Any]:
    head, shown = table_of(found, rows, MOST_ROWS)
    return {
        "heading": heading,
        "columns": [", ".join(found.by) or "slice", *head],
        "rows": shown,
        "more": f"{len(rows) - len(shown):,}" if len(rows) > len(shown) else "",
    }


def _facts(found: Monitored) -> dict[str, str]:
    """What the page rests on."""
    about = found.provenance
    estimator, files = about["estimator"], about["files"]
    return {
        "estimator": f"{estimator['name']}, fitted on {estimator['group']}",
        "its file": f"SHA-256 {estimator['sha256']}" if estimator["sha256"] else "none",
        "log-probabilities": ", ".join(f"{name} {value}" for name, value in estimator["logprobs"].items()),
        "files": f"{files['in_all']:,}, {files['read_now']:,} of them read now",
        "reference": shown(Reference(*map(datetime.fromisoformat, about["reference"])))
        if about["reference"]
        else "none",
        "version": about["version"],
    }
