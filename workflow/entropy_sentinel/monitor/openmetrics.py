"""Rows as OpenMetrics text, which Prometheus scrapes and Grafana shows: one gauge per number, labelled by slice.

With windows it has the newest one alone: a time series is made by those who scrape.
Format: https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md, version 1.0.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from entropy_sentinel.monitor.merging import NOTHING
from entropy_sentinel.monitor.result import Monitored

PREFIX = "entropy_sentinel_"
# Gauges by name: the column, and what it is.
GAUGES = {
    "estimated_accuracy": ("estimated_accuracy", "Estimated share of correct responses."),
    "accuracy_lower": ("lower", "Lower limit of the interval for the accuracy."),
    "accuracy_upper": ("upper", "Upper limit of the interval for the accuracy."),
    "responses": ("n_responses", "Responses."),
    "estimated_responses": ("n_estimated", "Responses that the estimate is over."),
    "excluded_responses": ("n_excluded", "Responses that could not be estimated."),
    "cut_off_share": ("cut_off_share", "Share of the estimated responses that ended before their end."),
    "expected_errors": ("expected_errors", "Expected number of incorrect responses."),
    "change": ("change", "Change of the estimated accuracy since the reference."),
    "change_q": ("change_q", "False discovery rate at which the change counts (Benjamini-Hochberg)."),
}


def openmetrics(found: Monitored) -> str:
    """The text, `# EOF` included."""
    rows = found.slices
    lines = []
    if found.windows is not None:
        rows = found.windows.filter(pl.col("window").is_in(found.newest[-1:]))
        for start in found.newest[-1:]:
            lines += _gauge("window_start_seconds", "Begin of the window that the other gauges are of.", "seconds")
            lines.append(f"{PREFIX}window_start_seconds {start.timestamp():.0f}")
    names = label_names(found.by)
    labels = [_labels({name: row[column] for name, column in names.items()}) for row in rows.iter_rows(named=True)]
    for name, (column, meaning) in GAUGES.items():
        lines += _gauge(name, meaning)
        values = zip(labels, rows[column].to_list(), strict=True)
        lines += [f"{PREFIX}{name}{{{label}}} {value!r}" for label, value in values if value is not None]
    lines += _gauge("flag", "1 where the slice has the flag.")
    for label, flags in zip(labels, rows["flags"].to_list(), strict=True):
        lines += [f"{PREFIX}flag{{{_joined(label, _labels({'flag': flag}))}}} 1" for flag in flags]
    lines += _alerts(found, names)
    return "\n".join([*lines, *_about(found), "# EOF", ""])


def label_names(columns: Sequence[str]) -> dict[str, str]:
    """Columns by the names of their labels: letters, digits and `_`, each once."""
    found: dict[str, str] = {}
    for column in columns:
        name = re.sub(r"[^a-zA-Z0-9_]", "_", column)
        # Names that begin with two underscores are Prometheus' own, those that begin with a digit none at all.
        name = re.sub(r"^(?=[0-9])", "_", name)
        name = re.sub(r"^__+", "_", name)
        number, free = 1, name
        while free in (*found, "flag", "kind"):
            number, free = number + 1, f"{name}_{number + 1}"
        found[free] = column
    return found


def _alerts(found: Monitored, names: Mapping[str, str]) -> Iterator[str]:
    yield from _gauge("alert", "1 for an alert of this kind in one of the newest windows.")
    there = dict.fromkeys(
        _joined(_labels({name: one["slice"][column] for name, column in names.items()}), _labels({"kind": one["kind"]}))
        for one in found.alerts
    )
    yield from (f"{PREFIX}alert{{{label}}} 1" for label in there)


def _about(found: Monitored) -> Iterator[str]:
    estimator = found.provenance["estimator"]
    said = {
        "estimator": estimator["name"],
        "model": estimator["model"],
        "sha256": estimator["sha256"],
        "flags": ", ".join(found.provenance["general_flags"]),
        "overridden": "; ".join(found.provenance["overridden"]),
    }
    yield f"# TYPE {PREFIX}monitor info"
    yield f"# HELP {PREFIX}monitor Where the numbers come from."
    yield f"{PREFIX}monitor_info{{{_labels({name: value or '' for name, value in said.items()})}}} 1"


def _gauge(name: str, meaning: str, unit: str | None = None) -> Iterator[str]:
    yield f"# TYPE {PREFIX}{name} gauge"
    if unit:
        yield f"# UNIT {PREFIX}{name} {unit}"
    yield f"# HELP {PREFIX}{name} {meaning}"


def _labels(values: Mapping[str, Any]) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in values.items())


def _joined(*labels: str) -> str:
    return ",".join(one for one in labels if one)


def _escaped(value: Any) -> str:
    text = NOTHING if value is None else str(value)
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
