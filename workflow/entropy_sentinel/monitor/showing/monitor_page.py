"""Write a monitor's result as a self-contained HTML page; all text is escaped."""

import math
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.core.whole_files import write_whole
from entropy_sentinel.estimators.familiarity import NO_WORDS
from entropy_sentinel.formatting.text_format import format_count, format_list
from entropy_sentinel.monitor.alert import Alert
from entropy_sentinel.monitor.alert_codes import Flag
from entropy_sentinel.monitor.labelling.label_proposal import propose_slices
from entropy_sentinel.monitor.monitor_options import FROM_ESTIMATE, Reference, format_period
from entropy_sentinel.monitor.monitor_result import (
    LABEL_COLUMN,
    MOST_NAMED,
    MOST_SLICES,
    LoggedResponse,
    Monitored,
    describe_alert,
    describe_label_basis,
    describe_missing_windows,
    describe_silence,
    describe_window_events,
    format_verdicts,
    make_table,
    name_slice,
    name_slices,
    select_absent,
)
from entropy_sentinel.monitor.showing.label_basis import (
    describe_models,
    describe_unlabelled_draws,
    list_unlabelled_slices,
)
from entropy_sentinel.monitor.showing.monitor_terminal import (
    collect_reasons,
    describe_chosen_accuracies,
    describe_partial_labels,
    describe_same_models,
    describe_witness_quality,
    list_untested,
)
from entropy_sentinel.monitor.showing.page_pictures import compare_labels, draw_over_time, newest_window, rank_slices
from entropy_sentinel.monitor.showing.witness_lines import describe_witnesses
from entropy_sentinel.monitor.slice_columns import STATISTICS
from entropy_sentinel.rendering.html_pages import render
from entropy_sentinel.rendering.token_colours import FULL, split_tokens, truncate_text
from entropy_sentinel.statistics.slice_intervals import NOTES

_TEMPLATE = Path(__file__).with_name("monitor.html.j2")
# Largest number of rows in a table, so that browsers can open the page even with a million slices.
MOST_ROWS = 10 * MOST_SLICES
# Largest numbers of alerts, and of lines about traffic that is left out before the numbers.
MOST_ALERTS, MOST_LINES = 100, 5


def write_page(result: Monitored, path: str | Path) -> None:
    """Write the page in one step."""
    write_whole(path, render_page(result))


def render_page(result: Monitored) -> str:
    """The page's HTML."""
    about = result.provenance
    models = format_list([*about["models"]], MOST_NAMED)
    if result.has_estimates:
        models = ", ".join(str(estimator["model"]) for estimator in about["estimators"])
    alerts, left_out = _group_alerts(result), _list_left_out(result)
    notes = [*describe_chosen_accuracies(result), *describe_witness_quality(result), *describe_witnesses(result)]
    notes += result.problems.lines()
    verdicts = [f"Estimates of {each['model']}: {format_verdicts(each)}." for each in about["estimators"]]
    warnings = [*describe_silence(result), *describe_same_models(result)]
    if result.has_estimates:
        notes = [*describe_partial_labels(result), *describe_unlabelled_draws(result), *notes]
    else:
        verdicts += [
            f"{line[0].upper()}{line[1:]}." for line in (describe_label_basis(result), *describe_models(result))
        ]
        warnings += [
            *list_unlabelled_slices(result),
            *describe_partial_labels(result),
            *describe_unlabelled_draws(result),
        ]
    return render(
        _TEMPLATE,
        title="Estimated accuracy by slice" if result.has_estimates else "Accuracy by slice, from labels",
        label=f"{models}, {about['made'][:16].replace('T', ' ')} UTC",
        has_estimates=result.has_estimates,
        verdicts=verdicts,
        general={flag: reason.split("; ") for flag, reason in about["general_flags"].items()},
        alerts=alerts[:MOST_ALERTS],
        n_more_alerts=max(len(alerts) - MOST_ALERTS, 0),
        no_alerts=_describe_no_alerts(result),
        warnings=warnings,
        left_out=left_out[:MOST_LINES],
        n_more_left_out=max(len(left_out) - MOST_LINES, 0),
        coloured=any(entry.responses for entry in result.behind),
        full=FULL,
        cut=truncate_text,
        parts=split_tokens,
        sections=_make_sections(result),
        labelled=compare_labels(result),
        interval=" ".join(NOTES[basis] for basis in result.slices["basis"].drop_nulls().unique(maintain_order=True)),
        statistics=[entry for entry in STATISTICS.values() if entry.heading],
        proposals=propose_slices(result),
        by=", ".join(result.by) or "slice",
        period=about["window"] or "log",
        flags=collect_reasons(result),
        facts=_list_facts(result),
        problems=[line for line in notes if line not in left_out[:MOST_LINES]],
    )


def _describe_no_alerts(result: Monitored) -> str:
    """What to say if there are no alerts: which ones are watched for, or how to set some."""
    kinds = list(result.provenance["alert_on"])
    limit = result.provenance["fail_below"]
    if limit is not None:
        kinds.insert(0, f"an accuracy below {limit:g}")
    if not kinds:
        return "No alerts are set. Set some with --fail-below and --alert-on."
    return f"None. Watched for: {', '.join(kinds)}."


def _list_left_out(result: Monitored) -> list[str]:
    """A line for each kind of traffic that the numbers do not cover."""
    return result.problems.lines(with_notes=False)


@dataclass(frozen=True)
class _AlertEntry:
    """The alerts about a slice and window, with the responses behind them."""

    slice: str
    when: str
    messages: list[str]
    responses: tuple[LoggedResponse, ...]
    note: str


def _group_alerts(result: Monitored) -> list[_AlertEntry]:
    """The alerts by slice and window, with the responses behind them, the newest window first."""
    entries: dict[str, _AlertEntry] = {}
    for alert in sorted(result.alerts, key=_newest_time, reverse=True):
        when = ""
        if alert.window is not None:
            when = f", {result.provenance['window']} from {alert.window.window:%Y-%m-%d %H:%M}"
        name = name_slice(alert.slice.values())
        if alert.subject is not None:
            name = f"Not watched: {alert.subject.name}"
        behind = next((entry for entry in result.behind if entry.is_of(alert)), None)
        responses, note = (behind.responses, behind.note) if behind else ((), "")
        key = repr((alert.subject, alert.slice, when))
        entry = entries.setdefault(key, _AlertEntry(name, when=when, messages=[], responses=responses, note=note))
        entry.messages.append(describe_alert(alert))
    return list(entries.values())


def _newest_time(alert: Alert) -> float:
    """The start of an alert's window in seconds since 1970, to sort by; alerts without windows come last."""
    return -math.inf if alert.window is None else alert.window.window.timestamp()


def _make_sections(result: Monitored) -> list[dict[str, Any]]:
    """Headings with pictures and tables, as dicts for the template (`_make_section`).

    The newest window comes first, because alerts are about it, then the whole time and the window before. Without an
    estimator, the whole time comes first, because a window seldom has labels.
    """
    if result.recent is None:
        section = _make_section(result, "Where errors are expected", result.slices, [*list_untested(result)])
        return [{**section, "summary": _summarise_rows(result, result.slices), "ranked": rank_slices(result)}]
    sections = []
    for window in reversed(result.newest):
        rows = result.recent.filter(pl.col("window") == window)
        notes = [note] if (note := _describe_absent(result, window, rows)) else []
        heading = f"{result.provenance['window'].title()} from {window:%Y-%m-%d %H:%M} {result.provenance['timezone']}"
        heading += describe_window_events(result, window)
        if window == result.newest[-1]:
            notes += list_untested(result)
            section = _make_section(result, f"{heading}{describe_missing_windows(result)}", rows, notes)
            picture = {"ranked": rank_slices(result, newest=True), "over_time": draw_over_time(result)}
            above = {
                "above": "Where errors are expected",
                "summary": _summarise_rows(result, rows, newest_window(result)),
            }
            sections.append({**section, **above, **picture})
            whole = _make_section(result, "The whole time", result.slices, [])
            sections.append({**whole, "summary": _summarise_rows(result, result.slices), "ranked": rank_slices(result)})
        elif len(rows):
            sections.append(_make_section(result, heading, rows, notes))
        else:
            sections[0]["notes"] += [f"{heading}: {note}" for note in notes]
    if not result.has_estimates:
        newest, whole, *earlier_sections = sections
        newest["above"], whole["above"] = whole["above"], newest["above"]
        newest["over_time"], whole["over_time"] = whole["over_time"], newest["over_time"]
        return [whole, newest, *earlier_sections]
    return sections


def _summarise_rows(result: Monitored, rows: pl.DataFrame, window: str = "") -> str:
    """Sentences about the rows of the whole time, or of a `window` in words: sizes, the worst slice, unknown ones."""
    n_responses, unlike = int(rows["n_responses"].sum()), pl.col("flag_codes").list.contains(Flag.UNFAMILIAR)
    accuracy, lower, upper = result.accuracy_columns
    worst = rows.filter(pl.col(accuracy).is_not_null(), ~unlike).head(1)
    # With labels, the accuracy of a slice unlike all labelled domains is known.
    is_estimate = pl.col("rests_on") == FROM_ESTIMATE if LABEL_COLUMN in rows.columns else pl.lit(True)
    unknown = name_slices(result, rows.filter(unlike, is_estimate))
    summary = f"{format_count(n_responses, 'response')} in {format_count(len(rows), 'slice')}."
    if window:
        summary = f"{window[0].upper()}{window[1:]}{describe_missing_windows(result)}: {summary}"
        old = name_slices(result, rows.filter(pl.col("window_to") < pl.col("window")))
        if old:
            summary += (
                f" Without estimated responses in it, so that their numbers are older: {format_list(old, MOST_NAMED)}."
            )
    if len(worst):
        row = worst.row(0, named=True)
        name = name_slice(row[column] for column in result.by)
        summary += (
            f" The most errors are expected in {name}: about "
            f"{row['expected_errors']:,.0f} of {row['n_estimated']:,} responses "
            f"({'estimated accuracy' if result.has_estimates else 'accuracy'} {row[accuracy]:.3f}, "
            f"{row['level']:.0%} interval {row[lower]:.3f} to {row[upper]:.3f})."
        )
    if unknown:
        summary += (
            f" {format_count(len(unknown), 'slice')} unlike all labelled domains, so the accuracy there is not known: "
            f"{format_list(unknown, MOST_NAMED)}. Label some of these responses first."
        )
    return summary


def _describe_absent(result: Monitored, window: datetime, rows: pl.DataFrame) -> str:
    """A note that names the slices that a window's table lacks, and why; empty if it has all."""
    # Slices whose row of the newest window pools this window.
    pools = set(name_slices(result, result.now.filter(pl.col("window_from") <= window)))
    pooled, silent = [], []
    for name in name_slices(result, select_absent(result, rows)):
        if name in pools:
            pooled.append(name)
        else:
            silent.append(name)
    notes = []
    if pooled:
        newest = f"the newest {result.provenance['window']}"
        notes.append(f"Too few responses in {newest}, so counted there: {format_list(pooled, MOST_ROWS, '; ')}.")
    if silent:
        notes.append(f"No responses: {format_list(silent, MOST_ROWS, '; ')}.")
    return " ".join(notes)


def _make_section(result: Monitored, heading: str, rows: pl.DataFrame, notes: list[str]) -> dict[str, Any]:
    """A heading with a table, for the template.

    `numbers` is how many columns, that of the slice included, have no flags; `_make_sections` fills in the last four.
    """
    headings, lines = make_table(result, rows, MOST_ROWS)
    return {
        "heading": heading,
        "columns": [", ".join(result.by) or "slice", *headings],
        "numbers": len(headings) if headings[-1] == "flags" else len(headings) + 1,
        "rows": lines,
        "notes": notes,
        "more": f"{len(rows) - len(lines):,}" if len(rows) > len(lines) else "",
        "above": "",
        "summary": "",
        "ranked": None,
        "over_time": None,
    }


def _list_facts(result: Monitored) -> dict[str, str | list[str]]:
    """The facts about the estimators and the files; several names are a list."""
    about = result.provenance
    files = about["files"]
    facts: dict[str, str | list[str]] = {}
    for estimator in about["estimators"]:
        suffix = f" of {estimator['model']}" if len(about["estimators"]) > 1 else ""
        facts[f"estimator{suffix}"] = str(estimator["name"])
        facts[f"fitted on{suffix}"] = estimator["domains"] or "?"
        facts[f"estimator file{suffix}"] = f"SHA-256 {estimator['sha256']}" if estimator["sha256"] else "none"
        logprobs = [f"{name} {value}" for name, value in estimator["logprobs"].items()]
        facts[f"log-probabilities{suffix}"] = ", ".join(logprobs)
    facts_of_estimates = {}
    if result.has_estimates:
        reference = "none"
        if about["reference"]:
            reference = format_period(Reference(*map(datetime.fromisoformat, about["reference"])))
        unfamiliar = "are flagged" if about["recognises_unfamiliar"] else NO_WORDS
        facts_of_estimates = {"reference": reference, "unfamiliar slices": unfamiliar}
    else:
        facts["estimator"] = "none"
    return facts | {
        "files": f"{files['in_all']:,}, {files['read_now']:,} of them read now",
        **facts_of_estimates,
        "version": about["version"],
    }
