"""The monitor, from logs and an estimator to rows and alerts."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from entropy_sentinel import __version__
from entropy_sentinel.estimators.saved import SavedEstimator
from entropy_sentinel.frames.errors import ConfigError, InputError
from entropy_sentinel.monitor import times
from entropy_sentinel.monitor.alerts import AlertRules, alerts, newest
from entropy_sentinel.monitor.collecting import Collector
from entropy_sentinel.monitor.estimates import Estimates
from entropy_sentinel.monitor.labelled import Labelled
from entropy_sentinel.monitor.merging import Merged, merge
from entropy_sentinel.monitor.opening import Logs, loaded, opened, sources
from entropy_sentinel.monitor.problems import Problems
from entropy_sentinel.monitor.result import Monitored
from entropy_sentinel.monitor.settings import DROP, Reading
from entropy_sentinel.monitor.state import State
from entropy_sentinel.verbs.files import Paths
from entropy_sentinel.verbs.frames import columns_by, is_table, labels_table
from entropy_sentinel.verbs.reading import read_labels

MAX_SLICES, MIN_RESPONSES = 1000, 30
Labels = Paths | pl.DataFrame
Part = TypeVar("Part")


def monitor(
    estimator: SavedEstimator | str | Path,
    logs: Logs,
    by: Sequence[str] = (),
    *,
    window: str | None = None,
    time: str | None = None,
    reference: str | None = None,
    level: float = 0.9,
    labels: Labels | None = None,
    state: str | Path | None = None,
    fail_below: float | None = None,
    alert_on: Sequence[str] = (),
    least_drop: float = 0.02,
    min_responses: int = MIN_RESPONSES,
    max_slices: int = MAX_SLICES,
    top_k: int | None = None,
    logprobs_mode: str | None = None,
    trace_after: str | None = None,
    model: str | None = None,
    any_model: bool = False,
    any_signal: bool = False,
    strict: bool = False,
) -> Monitored:
    """Estimate the accuracy of every slice of logs, with intervals, flags, changes and alerts.

    `estimator` is one that `fit` has given, or its file. `logs` are files, folders, patterns, `-` for standard input,
    of logs, traces or features; a frame of features; or folders of states of parts of the logs. `by` are the columns
    whose values make slices, combined; without any, all responses are one. With `window` (hour, day, week; UTC) there
    are also rows by window, from the column `time` (its default is that of the log's format). `reference`,
    `2026-11-01..2026-11-07`, is what changes are measured against. `labels`, a frame or files for `read_labels`, are
    put to their responses: what is true of these, and the estimate that labels and predictions make together.

    `state` is a folder: what was read before for the same estimator and settings counts too, and is not read again.
    `fail_below`, `alert_on` (drop, support, cut-off) and `least_drop` say what is an alert; with windows, in the
    newest two. Slices beyond the largest `max_slices` are pooled as "(others)". Responses of another model than the
    estimator's, or with other log-probabilities, are counted and left out unless `any_model` or `any_signal` is set.
    `top_k`, `logprobs_mode`, `trace_after`, `model` and `strict` are those of `open_logs`; `strict` ends at the first
    problem of any kind.

    Raises InputError for files that cannot be read or columns that are not there, ProvenanceError where nothing is of
    the estimator's model and signal or `state` is of something else, ConfigError for options that cannot be.

    >>> import entropy_sentinel as es
    >>> features = es.features(es.read_logs(es.example().traces))
    >>> estimator = es.fit(features, es.read_labels(es.example().labels), "atc-nll_sum")
    >>> found = es.monitor(estimator, features, by=["benchmark"])
    >>> found.slices.select("benchmark", "n_estimated", "rank").head(1).rows()
    [('two-digit-multiplication', 40, 1)]
    """
    reading = Reading.of(
        columns_by(by),
        window,
        time,
        reference,
        top_k=top_k,
        logprobs_mode=logprobs_mode,
        trace_after=trace_after,
        model=model,
        any_model=any_model,
        any_signal=any_signal,
    )
    period = None if reference is None else times.reference(reference, reading.grain)
    asked = Asked(reading.by, window, period, level, max_slices)
    rules = AlertRules(fail_below, tuple(alert_on), least_drop, min_responses)
    if DROP in rules.on and reference is None:
        raise ConfigError("alert_on: a drop is one since a reference; say which (--reference 2026-11-01..2026-11-07)")
    saved, checksum = loaded(estimator, state)
    with opened(state, saved, checksum, reading) as kept:
        collector = Collector(saved, reading, kept, state is not None, labels is not None, strict)
        collector.add(sources(logs))
        collector.check()
        return _found(saved, checksum, collector, kept, reading, asked, rules, _labels(labels))


def collect(
    estimator: str | Path,
    logs: Logs,
    state: str | Path,
    by: Sequence[str] = (),
    *,
    window: str | None = None,
    time: str | None = None,
    reference: str | None = None,
    strict: bool = False,
    **options: Any,
) -> Problems:
    """Read a part of the logs to the folder `state`, and ask nothing of it; what could not be used.

    `monitor` takes such folders for logs. The options are those of `monitor` in READING_OPTIONS, and its errors too.
    """
    reading = Reading.of(columns_by(by), window, time, reference, **options)
    saved, checksum = loaded(estimator, state)
    with opened(state, saved, checksum, reading) as kept:
        collector = Collector(saved, reading, kept, True, False, strict)
        collector.add(sources(logs))
    return Problems.total(one.problems for one in collector.read)


@dataclass(frozen=True)
class Asked:
    """What is asked of the sums, whatever they are of."""

    by: tuple[str, ...]
    window: str | None
    reference: times.Reference | None
    level: float
    max_slices: int

    def __post_init__(self) -> None:
        """ConfigError for what cannot be."""
        if not 0 < self.level < 1:
            raise ConfigError(f"level: must be above 0 and below 1, was {self.level}")
        if self.max_slices < 1:
            raise ConfigError(f"max_slices: must be 1 or more, was {self.max_slices}")


def _found(
    saved: SavedEstimator,
    checksum: str,
    collector: Collector,
    state: State,
    reading: Reading,
    asked: Asked,
    rules: AlertRules,
    labels: pl.DataFrame | None,
) -> Monitored:
    problems = Problems.total(one.problems for one in collector.read)
    merged = merge(lambda: _parts(state, State.sums), asked.by, asked.window, asked.reference, asked.max_slices)
    if merged is None:
        raise InputError(f"there is no response in the logs{''.join(f'; {line}' for line in problems.lines())}")
    taken = sum((Counter(one.taken) for one in state.files.values()), Counter[str]())
    estimates = Estimates(saved, asked.level, rules.min_responses, dict(taken.most_common(5)))
    labelled = None
    if labels is not None:
        labelled = Labelled(lambda: _parts(state, State.responses), labels, merged, asked.window)
        labelled.note(problems)
    slices, windows = estimates.of_slices(merged, labelled), estimates.of_windows(merged, asked.reference, labelled)
    about, last = slices, []
    if windows is not None:
        last = newest(windows, rules.min_responses)
        about = windows.filter(pl.col("window").is_in(last))
    columns = tuple(merged.slices.columns)
    return Monitored(
        by=columns,
        slices=slices,
        windows=windows,
        alerts=alerts(about, columns, rules),
        provenance=_provenance(saved, checksum, collector, state, reading, asked, estimates, merged, taken),
        problems=problems,
        newest=last,
    )


def _parts(state: State, what: Callable[[State, str], Iterator[Part]]) -> Iterator[Part]:
    """What is known of all files, part by part."""
    return (part for key in state.files for part in what(state, key))


def _labels(labels: Labels | None) -> pl.DataFrame | None:
    if labels is None:
        return None
    return labels_table(labels if is_table(labels) else read_labels(labels))


def _provenance(
    saved: SavedEstimator,
    checksum: str,
    collector: Collector,
    state: State,
    reading: Reading,
    asked: Asked,
    estimates: Estimates,
    merged: Merged,
    taken: Counter[str],
) -> dict[str, Any]:
    about, every = saved.about, Problems.total(one.problems for one in state.files.values())
    estimator = {name: about.get(name) for name in ("model", "group", "signal", "training_accuracy")}
    return {
        "version": __version__,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "estimator": {"name": saved.estimator.name, "sha256": checksum or None, **estimator},
        "general_flags": estimates.general,
        "overridden": dict(taken),
        "reading": reading.as_dict(),
        "window": asked.window,
        "reference": None if asked.reference is None else [one.isoformat() for one in asked.reference],
        "level": asked.level,
        "files": {"read_now": len(collector.read), "known": collector.n_known, "in_all": len(state.files)},
        "responses": {
            "read_now": sum(one.n_responses for one in collector.read),
            "in_all": int(merged.total.counts[:, 0].sum()),
        },
        "pooled_slices": merged.n_pooled,
        **every.as_dict(),
    }
