"""Write a monitor's result as a self-contained HTML page; all text is escaped."""

from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.estimators.familiarity import NO_WORDS
from entropy_sentinel.frames.files import write_whole
from entropy_sentinel.frames.printable import counted, listed
from entropy_sentinel.monitor.catalogue import STATISTICS
from entropy_sentinel.monitor.labelling.proposal import proposals
from entropy_sentinel.monitor.result import (
    NAMED,
    SHOWN,
    Monitored,
    alert_status,
    names_of,
    silence,
    slice_name,
    table_of,
    verdicts_of,
    without_row,
)
from entropy_sentinel.monitor.settings import UNFAMILIAR, Reference, period_text
from entropy_sentinel.monitor.showing.pictures import labelled, over_time, ranked
from entropy_sentinel.monitor.showing.terminal import (
    absent,
    judge,
    labels_and_estimates,
    labels_of_a_part,
    reasons,
    same_models,
    untested,
)
from entropy_sentinel.report.pages import render
from entropy_sentinel.report.tokens import FULL, cut, parts
from entropy_sentinel.statistics.intervals import NOTES

_TEMPLATE = Path(__file__).with_name("monitor.html.j2")
# Largest number of rows in a table, so that browsers can open the page even with a million slices.
MOST_ROWS = 10 * SHOWN


def write_page(result: Monitored, path: str | Path) -> None:
    """Write the page in one step."""
    write_whole(path, page(result))


def page(result: Monitored) -> str:
    """Return the page's HTML."""
    about = result.provenance
    models = ", ".join(str(estimator["model"]) for estimator in about["estimators"])
    return render(
        _TEMPLATE,
        title="Estimated accuracy by slice",
        label=f"{models}, {about['made'][:16].replace('T', ' ')} UTC",
        verdicts=[f"Estimates of {each['model']}: {verdicts_of(each)}." for each in about["estimators"]],
        alerts=_alerts(result),
        coloured=any(entry.responses for entry in result.behind),
        full=FULL,
        cut=cut,
        parts=parts,
        general=[
            *silence(result),
            *absent(result),
            *untested(result),
            *same_models(result),
            *(f"{flag}: {reason}" for flag, reason in about["general_flags"].items()),
        ],
        summary=_summary(result),
        ranked=ranked(result),
        over_time=over_time(result),
        labelled=labelled(result),
        tables=list(_tables(result)),
        interval=" ".join(NOTES[basis] for basis in result.slices["basis"].unique(maintain_order=True)),
        statistics=[entry for entry in STATISTICS.values() if entry.heading],
        proposals=proposals(result),
        by=", ".join(result.by) or "slice",
        period=about["window"] or "log",
        flags=reasons(result),
        facts=_facts(result),
        problems=[*labels_of_a_part(result), *labels_and_estimates(result), *judge(result), *result.problems.lines()],
    )


def _alerts(result: Monitored) -> list[dict[str, Any]]:
    """Return the alerts by slice and window, with the responses behind them, the newest window first."""
    entries: dict[str, dict[str, Any]] = {}
    for alert in sorted(result.alerts, key=lambda alert: alert.get("window") or "", reverse=True):
        when = ""
        if "window" in alert:
            when = f", {result.provenance['window']} from {alert['window'][:16].replace('T', ' ')}"
        behind = next((shown for shown in result.behind if shown.is_of(alert)), None)
        new = {
            "slice": f"Not watched: {alert['subject']}" if "subject" in alert else slice_name(alert["slice"].values()),
            "when": when,
            "messages": [],
            "responses": behind.responses if behind else (),
            "note": behind.note if behind else "",
        }
        entry = entries.setdefault(repr((alert.get("subject"), alert["slice"], when)), new)
        entry["messages"].append(f"{alert['message']}{alert_status(alert)}")
    return list(entries.values())


def _summary(result: Monitored) -> str:
    n_responses, unlike = result.provenance["responses"]["in_all"], pl.col("flags").list.contains(UNFAMILIAR)
    worst = result.slices.filter(pl.col("estimated_accuracy").is_not_null(), ~unlike).head(1)
    unknown = names_of(result, result.slices.filter(unlike))
    summary = f"{counted(n_responses, 'response')} in {counted(len(result.slices), 'slice')}."
    if len(worst):
        row = worst.row(0, named=True)
        name = slice_name(row[column] for column in result.by)
        summary += (
            f" The most errors are expected in {name}: about "
            f"{row['expected_errors']:,.0f} of {row['n_estimated']:,} responses (estimated accuracy "
            f"{row['estimated_accuracy']:.3f}, {row['level']:.0%} interval {row['lower']:.3f} to "
            f"{row['upper']:.3f})."
        )
    if unknown:
        summary += (
            f" {counted(len(unknown), 'slice')} unlike all labelled domains, so the accuracy there is not known: "
            f"{listed(unknown, NAMED)}. Label some of these responses first."
        )
    return summary


def _tables(result: Monitored) -> list[dict[str, Any]]:
    if result.recent is None:
        return [_table(result, "Slices", result.slices)]
    tables = [_table(result, "The whole time", result.slices)]
    for window in reversed(result.newest):
        rows = result.recent.filter(pl.col("window") == window)
        heading = f"{result.provenance['window'].title()} from {window:%Y-%m-%d %H:%M} {result.provenance['timezone']}"
        tables.append(_table(result, heading, rows, _without_row(result, window, rows)))
    return tables


def _without_row(result: Monitored, window: datetime, rows: pl.DataFrame) -> str:
    """Return a note that names the slices that a window's table lacks, and why."""
    pools = set(names_of(result, result.now.filter(pl.col("window_from") <= window)))
    pooled, silent = [], []
    for name in names_of(result, without_row(result, rows)):
        if name in pools:
            pooled.append(name)
        else:
            silent.append(name)
    notes = []
    if pooled:
        newest = f"the newest {result.provenance['window']}"
        notes.append(f"Too few responses in {newest}, so counted there: {listed(pooled, MOST_ROWS, '; ')}.")
    if silent:
        notes.append(f"No responses: {listed(silent, MOST_ROWS, '; ')}.")
    return " ".join(notes)


def _table(result: Monitored, heading: str, rows: pl.DataFrame, note: str = "") -> dict[str, Any]:
    headings, lines = table_of(result, rows, MOST_ROWS)
    return {
        "heading": heading,
        "columns": [", ".join(result.by) or "slice", *headings],
        "rows": lines,
        "note": note,
        "more": f"{len(rows) - len(lines):,}" if len(rows) > len(lines) else "",
    }


def _facts(result: Monitored) -> dict[str, str]:
    """Return the facts about the estimators and the files."""
    about = result.provenance
    files = about["files"]
    facts: dict[str, str] = {}
    for estimator in about["estimators"]:
        of = f" of {estimator['model']}" if len(about["estimators"]) > 1 else ""
        facts[f"estimator{of}"] = f"{estimator['name']}, fitted on {estimator['group']}"
        facts[f"estimator file{of}"] = f"SHA-256 {estimator['sha256']}" if estimator["sha256"] else "none"
        logprobs = [f"{name} {value}" for name, value in estimator["logprobs"].items()]
        facts[f"log-probabilities{of}"] = ", ".join(logprobs)
    reference = "none"
    if about["reference"]:
        reference = period_text(Reference(*map(datetime.fromisoformat, about["reference"])))
    return facts | {
        "files": f"{files['in_all']:,}, {files['read_now']:,} of them read now",
        "reference": reference,
        "unfamiliar slices": "are flagged" if about["recognises_unfamiliar"] else NO_WORDS,
        "version": about["version"],
    }
