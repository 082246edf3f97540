"""Write a monitor's rows as CSV, Parquet, JSON or Prometheus text, and its alerts as JSON."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
from prometheus_client import generate_latest
from prometheus_client.core import CollectorRegistry, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.whole_files import whole_file, write_whole
from entropy_sentinel.formatting.spreadsheet import write_csv
from entropy_sentinel.monitor.alert import JsonRecord, Subject
from entropy_sentinel.monitor.alert_codes import Flag
from entropy_sentinel.monitor.monitor_result import MOST_NAMED, Monitored, format_verdicts
from entropy_sentinel.monitor.slice_columns import CATALOGUE
from entropy_sentinel.monitor.summing.sum_merging import NOTHING
from entropy_sentinel.schemas.contract import PROVENANCE_KEY

PREFIX = "entropy_sentinel_"
# The label of all samples with the name of the monitor.
MONITOR = "monitor"
# The labels with the code of a flag, and of the kind of an alert.
FLAG_CODE, KIND_CODE = "flag_code", "kind_code"

# The labels of a sample by name, and its value.
Sample = tuple[Mapping[str, Any], float]
_STAGE = "monitor"
# The name and the verdict of an estimator in `monitor_info` if there is none.
NONE = "no estimator"


def format_metrics(result: Monitored) -> str:
    """The Prometheus text of a result."""
    registry = CollectorRegistry()
    registry.register(_Families(result))
    return generate_latest(registry).decode()


class _Families(Collector):
    """The result of a monitor, in the interface of the Prometheus client."""

    def __init__(self, result: Monitored) -> None:
        self._result, self._names = result, make_label_names(result.by)

    def collect(self) -> Iterator[Metric]:
        """Yield the families that have a sample."""
        # Several monitors may share a folder.
        name = {MONITOR: self._result.provenance["monitor"]}
        for family in self._all():
            family.samples = [sample._replace(labels={**name, **sample.labels}) for sample in family.samples]
            if family.samples:
                yield family

    def _all(self) -> Iterator[Metric]:
        """Yield all metrics of a result, in the order of the file."""
        yield from self._when()
        yield from self._slices()
        if self._result.recent is not None:
            meaning = "Start of the newest window in which the slice had an estimated response."
            samples = self._times(self._result.now, "window_to")
            yield _make_gauge("newest_response_window_start_seconds", meaning, samples, "seconds")
        if "last_labelled" in self._result.slices.columns:
            meaning = "Start of the newest window with a label of the slice."
            samples = self._times(self._result.slices, "last_labelled")
            yield _make_gauge("last_labelled_timestamp_seconds", meaning, samples, "seconds")
        yield from self._numbers()
        yield _make_gauge("number", "A quantile of a column with numbers.", self._quantiles())
        yield _make_gauge("flag", "1 if the slice has the flag.", self._flags())
        meaning = "1 for an alert of this kind that lasts and is not acknowledged."
        yield _make_gauge("alert", meaning, [(labels, 1) for labels, _ in self._alerts()])
        since = [(labels, int(start.timestamp())) for labels, start in self._alerts() if start is not None]
        lasting = [alert for alert in self._result.alerts if alert.subject is not None and alert.until is None]
        unwatched = [
            (label_subject(alert.subject), float(alert.details["n_unwatched"]))
            for alert in lasting
            if alert.subject is not None and "n_unwatched" in alert.details
        ]
        yield _make_gauge("unwatched_responses", "Responses since the alert began that are not watched.", unwatched)
        meaning = "Start of the window in which this alert began."
        yield _make_gauge("alert_since_timestamp_seconds", meaning, since, "seconds")
        yield _make_gauge("event_timestamp_seconds", "When a known event began.", self._events(), "seconds")
        yield self._about()

    def _when(self) -> Iterator[Metric]:
        """Yield the time of the run, the window of the gauges, and the last usable window of each slice."""
        result, run_at = self._result, datetime.fromisoformat(self._result.provenance["made"])
        yield _make_gauge(
            "last_run_timestamp_seconds", "When the monitor ran.", [({}, int(run_at.timestamp()))], "seconds"
        )
        newest: list[Sample] = [({}, int(begin.timestamp())) for begin in result.newest[-1:]]
        yield _make_gauge(
            "window_start_seconds", "Start of the window that the other gauges describe.", newest, "seconds"
        )
        if result.last_usable is not None:
            meaning = (
                "Start of the last window in which the slice had enough responses, together with the pooled "
                "windows before it."
            )
            samples = self._times(result.last_usable, "last_usable")
            yield _make_gauge("last_usable_window_start_seconds", meaning, samples, "seconds")

    def _times(self, rows: pl.DataFrame, column: str) -> Iterator[Sample]:
        """Yield the times of a column, as seconds since 1970."""
        rows = rows.drop_nulls(column)
        for labels, time in zip(self._labels_of(rows), rows[column].to_list(), strict=True):
            yield labels, int(time.timestamp())

    def _slices(self) -> Iterator[Metric]:
        """Yield the number of all slices, and the number of slices with enough responses now."""
        result = self._result
        enough = (result.now["n_estimated"] >= max(result.provenance["min_responses"], 1)).sum()
        yield _make_gauge("slices", "Slices over the whole time.", [({}, len(result.slices))])
        yield _make_gauge("usable_slices", "Slices with enough responses in the newest windows.", [({}, enough)])

    def _numbers(self) -> Iterator[Metric]:
        """Yield the columns of the slices that have a metric in the catalogue."""
        rows = self._result.now
        every_label = self._labels_of(rows)
        for column in CATALOGUE.values():
            if column.metric and column.name in rows.columns:
                samples = zip(every_label, rows[column.name].to_list(), strict=True)
                present = [(labels, value) for labels, value in samples if value is not None]
                yield _make_gauge(column.metric, column.meaning, present)

    def _quantiles(self) -> Iterator[Sample]:
        """Yield the quantiles of the columns with numbers of each slice."""
        rows = self._result.now
        for labels, row in zip(self._labels_of(rows), rows.iter_rows(named=True), strict=True):
            for name in self._result.provenance["numbers"]:
                for share in ("0.5", "0.95"):
                    value = row[f"{name}_p{float(share) * 100:.0f}"]
                    if value is not None:
                        yield {**labels, "number": name, "quantile": share}, value

    def _flags(self) -> Iterator[Sample]:
        """Yield the flags of the rows, and the flag of stale slices, which may have no row."""
        stale = self._result.slices.filter(pl.col("flag_codes").list.contains(Flag.STALE))
        stale = stale.with_columns(
            flags=pl.lit([Flag.STALE.words], pl.List(pl.String)),
            flag_codes=pl.lit([Flag.STALE.number], pl.List(pl.String)),
        )
        columns = [*self._result.by, "flags", "flag_codes"]
        rows = pl.concat([self._result.now.select(columns), stale.select(columns)])
        pairs = rows.select("flags", "flag_codes").iter_rows()
        for labels, (flags, codes) in zip(self._labels_of(rows), pairs, strict=True):
            for flag, code in zip(flags, codes, strict=True):
                yield {**labels, "flag": flag, FLAG_CODE: code}, 1

    def _alerts(self) -> Iterator[tuple[dict[str, str], datetime | None]]:
        """Yield the labels of the alerts that last, with the beginning of each; null if it is not known."""
        for alert in self._result.alerts:
            if not alert.is_over and alert.until is None and not alert.acknowledged:
                labels = self._labels(alert.slice) if alert.subject is None else label_subject(alert.subject)
                yield {**labels, "kind": alert.kind.slug, KIND_CODE: alert.kind.number}, alert.since

    def _events(self) -> list[Sample]:
        """The beginning of each event of the options, by its text and day."""
        samples: dict[tuple[str, str], Sample] = {}
        for event in self._result.provenance.get("events", ()):
            begin, text = event["begin"], event["text"]
            samples[text, begin] = ({"event": text, "begin": begin}, int(datetime.fromisoformat(begin).timestamp()))
        return list(samples.values())

    def _about(self) -> Metric:
        """The metric whose labels name the estimators; its value is always 1."""
        about = self._result.provenance
        samples: list[Sample] = []
        for estimator in about["estimators"]:
            labels = {
                "model": estimator["model"] or "",
                "sha256": estimator["sha256"] or "",
                "estimator": estimator["name"],
                "verdict": format_verdicts(estimator),
                "flags": ", ".join(about["general_flags"]),
                "overridden": "; ".join(about["overridden"]),
            }
            samples.append((labels, 1))
        if not samples:
            labels = {"model": ", ".join([*about["models"]][:MOST_NAMED]), "sha256": "", "overridden": "", "flags": ""}
            samples.append(({**labels, "estimator": NONE, "verdict": NONE}, 1))
        return _make_gauge("monitor_info", "Always 1; the labels describe where the numbers come from.", samples)

    def _labels_of(self, rows: pl.DataFrame) -> list[dict[str, str]]:
        """The labels of each row's slice."""
        return [self._labels(row) for row in rows.iter_rows(named=True)]

    def _labels(self, values: Mapping[str, Any]) -> dict[str, str]:
        """A slice's values by label name, from its values by column."""
        labels = {}
        for name, column in self._names.items():
            value = values[column]
            labels[name] = NOTHING if value is None else str(value)
        return labels


def label_subject(subject: Subject) -> dict[str, str]:
    """The labels of an alert about traffic that is not watched."""
    return {"code": subject.code, "subject": subject.name}


def make_label_names(columns: Sequence[str]) -> dict[str, str]:
    """The columns by unique label name, which consists of letters, digits and `_`."""
    names: dict[str, str] = {}
    for column in columns:
        name = re.sub(r"[^a-zA-Z0-9_]", "_", column)
        # Prometheus reserves names that begin with two underscores, and forbids those that begin with a digit.
        name = re.sub(r"^(?=[0-9])", "_", name)
        name = re.sub(r"^__+", "_", name)
        number, free = 1, name
        while free in (*names, "flag", "kind", "number", "quantile", MONITOR, FLAG_CODE, KIND_CODE):
            number, free = number + 1, f"{name}_{number + 1}"
        names[free] = column
    return names


def _make_gauge(name: str, meaning: str, samples: Iterable[Sample], unit: str = "") -> Metric:
    """A gauge with its samples."""
    gauge = GaugeMetricFamily(f"{PREFIX}{name}", meaning, unit=unit)
    for labels, value in samples:
        gauge.add_sample(gauge.name, dict(labels), value)
    return gauge


def write_rows(result: Monitored, path: str | Path) -> None:
    """Write `result.frame` as .csv, as .parquet with provenance, or as .json with everything."""
    target = Path(path)
    check_rows_path(target)
    with whole_file(target) as partial:
        _WRITERS[target.suffix](result, partial)


def check_rows_path(path: Path) -> None:
    """Raise InputError if the suffix of a file for rows is unknown."""
    if path.suffix not in _WRITERS:
        raise InputError(f"output: must end with {', '.join(_WRITERS)}, got '{path}'")


def write_alerts(result: Monitored, path: str | Path) -> None:
    """Write the alerts with the provenance, even if there are no alerts."""
    write_whole(path, json.dumps({"alerts": convert_records(result.alerts), "provenance": result.provenance}, indent=1))


def convert_records(records: Iterable[JsonRecord]) -> list[dict[str, Any]]:
    """Records, such as alerts; JSON-serialisable."""
    return [record.to_dict() for record in records]


def write_metrics(result: Monitored, path: str | Path) -> None:
    """Write Prometheus text in one step, so that the textfile collector never reads half a file."""
    write_whole(path, format_metrics(result))


def format_times(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with windows as text, such as 2026-11-01T00:00Z, or with the offset of another zone."""
    times = [name for name in ("window", "window_from", "window_to", "last_labelled") if name in rows.columns]
    return rows.with_columns(pl.col(times).dt.strftime("%Y-%m-%dT%H:%M%:z").str.replace(r"\+00:00$", "Z"))


def _write_csv(result: Monitored, path: Path) -> None:
    """Write the rows; lists of texts are joined, because CSV has no lists."""
    lists = pl.col(pl.List(pl.String)).list.join("; ")
    write_csv(format_times(result.frame).with_columns(lists), path)


def _write_parquet(result: Monitored, path: Path) -> None:
    """Write the rows, with the provenance as JSON in the file's metadata."""
    provenance = json.dumps({**result.provenance, "stage": _STAGE}, sort_keys=True)
    result.frame.write_parquet(path, compression="zstd", metadata={PROVENANCE_KEY: provenance})


def make_json(result: Monitored) -> dict[str, Any]:
    """The rows by slice and (with windows) by window, the alerts and the provenance; JSON-serialisable."""
    rows: dict[str, Any] = {"slices": format_times(result.slices).to_dicts()}
    if result.windows is not None and result.recent is not None:
        rows |= {"windows": format_times(result.windows).to_dicts(), "recent": format_times(result.recent).to_dicts()}
        rows["drops"] = convert_records(result.drops)
    return {**rows, "alerts": convert_records(result.alerts), "provenance": result.provenance}


def _write_json(result: Monitored, path: Path) -> None:
    path.write_text(json.dumps(make_json(result), indent=1))


_WRITERS: dict[str, Callable[[Monitored, Path], None]] = {
    ".csv": _write_csv,
    ".parquet": _write_parquet,
    ".json": _write_json,
}
