"""A monitor's findings for a person at a terminal."""

from typing import Any

import polars as pl
from rich.table import Table

from entropy_sentinel.monitor.result import Monitored
from entropy_sentinel.report.numbers import number
from entropy_sentinel.report.terminal import Part, table
from entropy_sentinel.statistics.intervals import PRIOR

# Rows of a table that are shown; files have all. And domains that are named.
SHOWN, NAMED = 20, 4


def parts(found: Monitored) -> list[Part]:
    """What is shown: whose numbers these are, the slices, the newest window, what the flags mean, the alerts."""
    about, files = found.provenance["estimator"], found.provenance["files"]
    responses = found.provenance["responses"]
    domains = (about["group"] or "?").split("+")
    named = ", ".join(domains) if len(domains) <= NAMED else f"{len(domains)} domains"
    shown: list[Part] = [
        f"{about['name']} of {about['model']}, fitted on {named}",
        f"{responses['in_all']:,} responses in {files['in_all']:,} files; read now: {files['read_now']:,}",
    ]
    shown += _rows(found, found.slices, "all responses" if found.windows is None else "the whole time")
    if found.windows is not None and found.newest:
        newest = found.windows.filter(pl.col("window") == found.newest[-1])
        shown += _rows(found, newest, f"{found.provenance['window']} from {found.newest[-1]:%Y-%m-%d %H:%M} UTC")
    shown += [f"{flag}: {reason}" for flag, reason in found.provenance["general_flags"].items()]
    shown += _bases(found)
    shown += _reasons(found)
    shown += [f"ALERT {_slice(one['slice'].values())}{_when(one)}: {one['message']}" for one in found.alerts]
    return shown


def _rows(found: Monitored, rows: pl.DataFrame, of: str) -> list[Part]:
    changes = found.provenance["reference"] is not None
    level = f"{rows['level'][0]:.0%} interval" if len(rows) else "interval"
    headings = [f"{', '.join(found.by)} ({of})", "responses", "estimated", level, "errors expected"]
    labels = "n_labelled" in rows.columns
    headings += ["change", "q"] if changes else []
    headings += ["labels", "true", "with labels", "interval"] if labels else []
    general = found.provenance["general_flags"]
    lines = []
    for row in rows.head(SHOWN).iter_rows(named=True):
        cells = [_slice(row[name] for name in found.by), f"{row['n_estimated']:,}", number(row["estimated_accuracy"])]
        cells += [_interval(row, "lower", "upper", ".3f"), _errors(row)]
        cells += [number(row["change"], "+.3f"), number(row["change_q"], ".2g")] if changes else []
        cells += _labelled(row) if labels else []
        lines.append([*cells, ", ".join(flag for flag in row["flags"] if flag not in general)])
    more = len(rows) - len(lines)
    made = _with_flags(table([*headings, "flags"], lines))
    return [made, *([f"... and {more:,} more slices: --output has them all"] if more else [])]


def _bases(found: Monitored) -> list[str]:
    if PRIOR not in found.slices["basis"].to_list():
        return []
    return [f"{PRIOR}: too few labelled domains for a guarantee at this level; intervals rest on published errors too"]


def _with_flags(made: Table) -> Table:
    made.columns[-1].justify = "left"
    return made


def _labelled(row: dict[str, Any]) -> list[str]:
    numbers = [number(row["true_accuracy"]), number(row["improved_accuracy"])]
    return [f"{row['n_labelled']:,}", *numbers, _interval(row, "improved_lower", "improved_upper", ".3f")]


def _interval(row: dict[str, Any], lower: str, upper: str, form: str) -> str:
    return "-" if row[lower] is None else f"{row[lower]:{form}}-{row[upper]:{form}}"


def _errors(row: dict[str, Any]) -> str:
    if row["expected_errors"] is None:
        return "-"
    return f"{row['expected_errors']:,.0f} ({_interval(row, 'expected_errors_lower', 'expected_errors_upper', ',.0f')})"


def _reasons(found: Monitored) -> list[str]:
    """The reason of each flag of the slices that are shown, of the first slice that has it."""
    said: dict[str, str] = {}
    for row in found.slices.head(SHOWN).iter_rows(named=True):
        for flag, reason in zip(row["flags"], row["reasons"], strict=True):
            if flag not in found.provenance["general_flags"]:
                said.setdefault(flag, f"{flag}: {_slice(row[name] for name in found.by)}: {reason}")
    return list(said.values())


def _slice(values: Any) -> str:
    return ", ".join("-" if value is None else str(value) for value in values)


def _when(alert: dict[str, Any]) -> str:
    return f" (from {alert['window'][:16].replace('T', ' ')})" if "window" in alert else ""
