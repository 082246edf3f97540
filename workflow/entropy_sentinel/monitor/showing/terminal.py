"""A monitor's findings for a person at a terminal, or in a notebook."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import polars as pl
from rich.table import Table

from entropy_sentinel.frames.printable import one_line
from entropy_sentinel.monitor.labelling.labelled import ESTIMATED, LABELS
from entropy_sentinel.monitor.result import Monitored
from entropy_sentinel.report.notebook import html
from entropy_sentinel.report.numbers import number
from entropy_sentinel.report.terminal import Part, table
from entropy_sentinel.statistics.intervals import NOTES, PRIOR

# Rows of a table that are shown; files have all. And domains that are named.
SHOWN, NAMED = 20, 4
# The column that rows have where labels were given.
LABELLED = "n_labelled"


def parts(found: Monitored) -> list[Part]:
    """What is shown: whose numbers these are, the slices, the newest window, what the flags mean, the alerts."""
    shown: list[Part] = [*_whose(found)]
    for of, rows in _shown_rows(found):
        shown += _rows(found, rows, of)
    shown += _pooled(found) if found.newest else []
    shown += [f"{flag}: {reason}" for flag, reason in found.provenance["general_flags"].items()]
    shown += _bases(found)
    shown += [*labels_of_a_part(found), *labels_and_estimates(found)]
    shown += [f"{flag}: {reason}" for flag, reason in reasons(found).items()]
    shown += [*untested(found), *_alerts(found), *silence(found)]
    return [one_line(part) if isinstance(part, str) else part for part in shown]


def as_text(found: Monitored) -> str:
    """In a few lines: whose numbers these are, how much was read, the alerts."""
    whose, read = _whose(found)
    lines = [whose, f"{read}; {len(found.slices):,} slices", *(_alerts(found) or ["no alerts"]), *silence(found)]
    return "\n  ".join(map(one_line, lines))


def as_html(found: Monitored) -> str:
    """The same with the slices, and those of the newest window."""
    whose, read = _whose(found)
    tables = [(f"{', '.join(found.by)} ({of})", rows) for of, rows in _shown_rows(found)]
    made = [
        ([name, *headings(found, rows)], [cells(found, row) for row in rows.head(SHOWN).iter_rows(named=True)])
        for name, rows in tables
    ]
    said = [*found.provenance["general_flags"].values(), *(_alerts(found) or ["no alerts"]), *silence(found)]
    return html(whose, [read, *said], *made)


def _whose(found: Monitored) -> tuple[str, str]:
    about, files = found.provenance["estimator"], found.provenance["files"]
    domains = (about["group"] or "?").split("+")
    named = ", ".join(domains) if len(domains) <= NAMED else f"{len(domains)} domains"
    responses = found.provenance["responses"]
    return (
        f"{about['name']} of {about['model']}, fitted on {named}",
        f"{responses['in_all']:,} responses in {files['in_all']:,} files; read now: {files['read_now']:,}",
    )


def _shown_rows(found: Monitored) -> list[tuple[str, pl.DataFrame]]:
    """What is shown of slices: all the time, and the newest window."""
    shown = [("all responses" if found.windows is None else "the whole time", found.slices)]
    if found.newest:
        shown.append((f"{found.provenance['window']} from {found.newest[-1]:%Y-%m-%d %H:%M} UTC", found.now))
    return shown


def silence(found: Monitored) -> list[str]:
    """What to say where nothing can be said of what is newest."""
    if not found.silent:
        return []
    about = found.provenance
    where = f" in the last {about['pool_windows']} {about['window']}s" if found.newest else ""
    if where and about["reference"] and found.newest[-1] >= datetime.fromisoformat(about["reference"][1]):
        where += " that are not of the reference"
    return [f"nothing can be said: no slice has {about['min_responses']} estimated responses{where}"]


def untested(found: Monitored) -> list[str]:
    """What to say of changes that have no q, so that they are no alert however large they are."""
    least = max(found.provenance["min_responses"], 1)
    rows = found.now.filter(
        pl.col("change").is_not_null() & pl.col("change_q").is_null() & (pl.col("n_estimated") >= least)
    )
    if rows.is_empty():
        return []
    names = [slice_name(row) for row in rows.select(found.by).iter_rows()]
    more = f"; and {len(names) - SHOWN:,} more slices" if len(names) > SHOWN else ""
    return [
        f"changes that are not tested, and are no alert, for there are fewer than {least} responses in the reference "
        f"or after it: {'; '.join(names[:SHOWN])}{more}"
    ]


def _alerts(found: Monitored) -> list[str]:
    return [f"ALERT {slice_name(one['slice'].values())}{_when(one)}: {one['message']}" for one in found.alerts]


def headings(found: Monitored, rows: pl.DataFrame) -> list[str]:
    """What stands above the numbers of slices."""
    level = f"{rows['level'][0]:.0%} interval" if len(rows) else "interval"
    changes = ["change", "q"] if found.provenance["reference"] is not None else []
    labels = ["labels say (n)", "with labels", "interval", "read"] if LABELLED in rows.columns else []
    return ["responses", "estimated", level, "errors expected", *changes, *labels, "flags"]


def cells(found: Monitored, row: dict[str, Any]) -> list[str]:
    """A slice's name, its numbers, and its flags but for those that all slices have."""
    together = f" in {row['n_windows']} {found.provenance['window']}s" if row.get("n_windows", 1) > 1 else ""
    shown = [slice_name(row[name] for name in found.by), f"{row['n_estimated']:,}{together}"]
    shown += [number(row["estimated_accuracy"])]
    shown += [_interval(row, "lower", "upper", ".3f"), _errors(row)]
    if found.provenance["reference"] is not None:
        shown += [number(row["change"], "+.3f"), number(row["change_q"], ".2g")]
    shown += _labelled(row) if LABELLED in row else []
    general = found.provenance["general_flags"]
    return [*shown, ", ".join(flag for flag in row["flags"] if flag not in general)]


def _rows(found: Monitored, rows: pl.DataFrame, of: str) -> list[Part]:
    lines = [cells(found, row) for row in rows.head(SHOWN).iter_rows(named=True)]
    more = len(rows) - len(lines)
    made = _with_flags(table([f"{', '.join(found.by)} ({of})", *headings(found, rows)], lines))
    return [made, *([f"... and {more:,} more slices: --output has them all"] if more else [])]


def _bases(found: Monitored) -> list[str]:
    if PRIOR not in found.slices["basis"].to_list():
        return []
    return [NOTES[PRIOR]]


def labels_of_a_part(found: Monitored) -> list[str]:
    """What to say where labels do not stand for their slice."""
    if LABELLED not in found.slices.columns:
        return []
    unused = found.slices.filter(pl.col(LABELLED) > 0, pl.col("improved_accuracy").is_null())
    names = [slice_name(row) for row in unused.select(found.by).iter_rows()]
    if not names:
        return []
    return [f"labels: drawn from a part of the slice, they do not improve its estimate: {'; '.join(names[:SHOWN])}"]


def labels_and_estimates(found: Monitored) -> list[str]:
    """Which of the two numbers to read, and what to know of the slices whose number with labels it is."""
    if LABELLED not in found.now.columns or not (found.now["read"] == LABELS).any():
        return []
    rows = found.now.filter(pl.col("read_because").is_not_null()).head(SHOWN)
    return [
        f"read '{LABELS}' where it is there: it is right if the labels were drawn as their weights say, whatever the "
        f"estimator does; '{ESTIMATED}' assumes that the slice is to the labelled domains as they are to each other. "
        "The two rest on different assumptions, and their intervals are not combined",
        *(f"{slice_name(row[name] for name in found.by)}: {row['read_because']}" for row in rows.iter_rows(named=True)),
    ]


def _pooled(found: Monitored) -> list[str]:
    """What to say of slices whose newest window is thin."""
    if not (found.now["n_windows"] > 1).any():
        return []
    about = found.provenance
    return [
        f"with fewer than {about['min_responses']} responses in the newest {about['window']}, a slice's "
        f"{about['window']}s before it count too, at most {about['pool_windows']}"
    ]


def _with_flags(made: Table) -> Table:
    made.columns[-1].justify = "left"
    return made


def _labelled(row: dict[str, Any]) -> list[str]:
    say = f"{number(row['labelled_accuracy'])} ({row['n_labelled']:,})" if row["n_labelled"] else "-"
    with_labels = [number(row["improved_accuracy"]), _interval(row, "improved_lower", "improved_upper", ".3f")]
    return [say, *with_labels, row["read"]]


def _interval(row: dict[str, Any], lower: str, upper: str, form: str) -> str:
    return "-" if row[lower] is None else f"{row[lower]:{form}}-{row[upper]:{form}}"


def _errors(row: dict[str, Any]) -> str:
    if row["expected_errors"] is None:
        return "-"
    return f"{row['expected_errors']:,.0f} ({_interval(row, 'expected_errors_lower', 'expected_errors_upper', ',.0f')})"


def reasons(found: Monitored) -> dict[str, str]:
    """The reason of each flag of the slices that are shown, of the first slice that has it."""
    said: dict[str, str] = {}
    for row in found.slices.head(SHOWN).iter_rows(named=True):
        for flag, reason in zip(row["flags"], row["reasons"], strict=True):
            if flag not in found.provenance["general_flags"]:
                said.setdefault(flag, f"{slice_name(row[name] for name in found.by)}: {reason}")
    return said


def slice_name(values: Iterable[Any]) -> str:
    """How a slice is called: its values, - for one that a response has not, and "-" for one that is so."""
    shown = ("-" if value is None else one_line(str(value)) if value != "-" else '"-"' for value in values)
    return ", ".join(shown)


def _when(alert: dict[str, Any]) -> str:
    return f" (from {alert['window'][:16].replace('T', ' ')})" if "window" in alert else ""
