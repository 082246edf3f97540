"""Rows as OpenMetrics text, which Prometheus scrapes and Grafana shows: one gauge per number, labelled by slice.

With windows it has the newest one alone, of each slice with those before it where it is thin: a time series is made by
those who scrape. A family of which there is no sample is not there.
Format: https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md, version 1.0.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import polars as pl

from entropy_sentinel.monitor.estimating.flags import STALE
from entropy_sentinel.monitor.result import Monitored
from entropy_sentinel.monitor.summing.merging import NOTHING

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
    rows, names = found.now, label_names(found.by)
    labels = _labels_of(rows, names)
    lines = [*_when(found, names), *_slices(found)]
    pooled = {"pooled_windows": ("n_windows", "Windows that the slice's numbers are of.")} if found.newest else {}
    for name, (column, meaning) in (GAUGES | pooled).items():
        values = zip(labels, rows[column].to_list(), strict=True)
        lines += _family(name, meaning, [(label, value) for label, value in values if value is not None])
    lines += _flags(found, names)
    lines += _alerts(found, names)
    return "\n".join([*lines, *_about(found), "# EOF", ""])


def _when(found: Monitored, names: Mapping[str, str]) -> Iterator[str]:
    """When the monitor ran, of which window the numbers are, when there was enough of each slice."""
    made = datetime.fromisoformat(found.provenance["made"]).timestamp()
    yield from _family("last_run_timestamp_seconds", "When the monitor ran.", [("", int(made))], "seconds")
    newest = [("", int(one.timestamp())) for one in found.newest[-1:]]
    yield from _family("window_start_seconds", "Begin of the window that the other gauges are of.", newest, "seconds")
    if found.last_usable is not None:
        usable = found.last_usable.drop_nulls("last_usable")
        begins = [int(one.timestamp()) for one in usable["last_usable"].to_list()]
        samples = list(zip(_labels_of(usable, names), begins, strict=True))
        meaning = "Begin of the last window in which the slice had enough responses, those before it pooled."
        yield from _family("last_usable_window_start_seconds", meaning, samples, "seconds")


def _slices(found: Monitored) -> Iterator[str]:
    """How many slices there are, and of how many something can be said now."""
    enough = (found.now["n_estimated"] >= max(found.provenance["min_responses"], 1)).sum()
    yield from _family("slices", "Slices over the whole time.", [("", len(found.slices))])
    yield from _family("usable_slices", "Slices with enough responses in the newest windows.", [("", enough)])


def _flags(found: Monitored, names: Mapping[str, str]) -> Iterator[str]:
    """The flags of the rows, and of slices of which there may be no row any more."""
    rows = pl.concat([one.select(*found.by, "flags") for one in (found.now, _stale(found))])
    samples = [
        (_joined(label, _labels({"flag": flag})), 1)
        for label, flags in zip(_labels_of(rows, names), rows["flags"].to_list(), strict=True)
        for flag in flags
    ]
    yield from _family("flag", "1 where the slice has the flag.", samples)


def _stale(found: Monitored) -> pl.DataFrame:
    stale = found.slices.filter(pl.col("flags").list.contains(STALE))
    return stale.with_columns(flags=pl.lit([STALE], pl.List(pl.String)))


def _labels_of(rows: pl.DataFrame, names: Mapping[str, str]) -> list[str]:
    return [_labels({name: row[column] for name, column in names.items()}) for row in rows.iter_rows(named=True)]


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
    there = dict.fromkeys(
        _joined(_labels({name: one["slice"][column] for name, column in names.items()}), _labels({"kind": one["kind"]}))
        for one in found.alerts
    )
    meaning = "1 for an alert of this kind in one of the newest windows."
    yield from _family("alert", meaning, [(label, 1) for label in there])


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


def _family(name: str, meaning: str, samples: Sequence[tuple[str, Any]], unit: str | None = None) -> Iterator[str]:
    """A gauge with its samples, each the labels and the value; nothing where there is none."""
    if not samples:
        return
    yield f"# TYPE {PREFIX}{name} gauge"
    if unit:
        yield f"# UNIT {PREFIX}{name} {unit}"
    yield f"# HELP {PREFIX}{name} {meaning}"
    yield from (f"{PREFIX}{name}{f'{{{labels}}}' if labels else ''} {value!r}" for labels, value in samples)


def _labels(values: Mapping[str, Any]) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in values.items())


def _joined(*labels: str) -> str:
    return ",".join(one for one in labels if one)


def _escaped(value: Any) -> str:
    text = NOTHING if value is None else str(value)
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
