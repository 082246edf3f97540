"""The monitor, from logs and an estimator to rows and alerts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.estimators.saved import SavedEstimator
from entropy_sentinel.frames.errors import ConfigError
from entropy_sentinel.monitor.estimating.alerts import AlertRules
from entropy_sentinel.monitor.estimating.asking import Asked, found
from entropy_sentinel.monitor.reading import times
from entropy_sentinel.monitor.reading.opening import Logs, loaded, opened, sources
from entropy_sentinel.monitor.reading.problems import Problems
from entropy_sentinel.monitor.result import Monitored
from entropy_sentinel.monitor.settings import DROP, POOLED, Reading
from entropy_sentinel.monitor.summing.collecting import Collector
from entropy_sentinel.verbs.files import Paths
from entropy_sentinel.verbs.frames import columns_by, is_table, labels_table
from entropy_sentinel.verbs.reading import read_labels

MAX_SLICES, MIN_RESPONSES = 1000, 30
Labels = Paths | pl.DataFrame


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
    labels_at_random: bool = False,
    state: str | Path | None = None,
    fail_below: float | None = None,
    alert_on: Sequence[str] = (),
    least_drop: float = 0.02,
    min_responses: int = MIN_RESPONSES,
    pool_windows: int = POOLED,
    max_slices: int = MAX_SLICES,
    responses: int = 0,
    top_k: int | None = None,
    logprobs_mode: str | None = None,
    trace_after: str | None = None,
    model: str | None = None,
    any_model: bool = False,
    any_logprobs: bool = False,
    strict: bool = False,
) -> Monitored:
    """Estimate the accuracy of every slice of logs, with intervals, flags, changes and alerts.

    Args:
        estimator: One that `fit` or `load` has given, or its file.
        logs: Files, folders, patterns, `-` for standard input, of logs, traces or features; a frame of features; or
            folders of states of parts of the logs.
        by: The columns whose values make slices, combined; without any, all responses are one.
        window: `hour`, `day` or `week` (UTC): there are also rows by window.
        time: The column of the time; its default is that of the log's format.
        reference: The days that changes are measured against, `2026-11-01..2026-11-07`.
        level: The level of the intervals, above 0 and below 1.
        labels: A frame, or files for `read_labels`: put to their responses, what they say, and the estimate that labels
            and predictions make together. Each needs its `weight`, how many responses it stands for, unless:
        labels_at_random: All responses were as likely to be labelled.
        state: A folder: what was read before for the same estimator and settings counts too, and is not read again.
        fail_below: An estimated accuracy below this is an alert.
        alert_on: What else is an alert: drop, support, cut-off, stale; with windows, in the newest two.
        least_drop: A drop is one of this much at least.
        min_responses: Where a slice has fewer in the newest windows, windows before are pooled with them.
        pool_windows: How many windows are pooled at most.
        max_slices: Slices beyond the largest so many are pooled as "(others)".
        responses: So many responses of each slice with an alert, those that look least likely to be correct, are read
            again from their logs, with their texts.
        top_k: As for `open_logs`.
        logprobs_mode: As for `open_logs`.
        trace_after: As for `open_logs`.
        model: As for `open_logs`.
        any_model: Take responses of another model than the estimator's; else they are counted and left out.
        any_logprobs: Take responses with other log-probabilities; else they are counted and left out.
        strict: End at the first problem of any kind.

    Returns:
        The rows by slice and by window, the alerts, and where they come from.

    Raises:
        InputError: For files that cannot be read, columns that are not there, a reference without responses.
        ProvenanceError: Where nothing is of the estimator's model and log-probabilities, or `state` is of
            something else.
        ConfigError: For options that cannot be.
        DamagedFileError: For a state that was changed.

    Examples:
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
        any_logprobs=any_logprobs,
    )
    period = None if reference is None else times.reference(reference, reading.grain)
    asked = Asked(
        *(reading.by, window, period, level, max_slices, min_responses, pool_windows, labels_at_random, responses)
    )
    rules = AlertRules(fail_below, tuple(alert_on), least_drop, min_responses)
    if DROP in rules.on and reference is None:
        raise ConfigError("alert_on: a drop is one since a reference; say which (--reference 2026-11-01..2026-11-07)")
    saved, checksum = loaded(estimator, state)
    with opened(state, saved, checksum, reading) as kept:
        collector = Collector(saved, reading, kept, state is not None, labels is not None or responses > 0, strict)
        collector.add(sources(logs))
        collector.check()
        return found(saved, checksum, collector, kept, reading, asked, rules, _labels(labels))


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
        return collector.problems()


def _labels(labels: Labels | None) -> pl.DataFrame | None:
    if labels is None:
        return None
    return labels_table(labels if is_table(labels) else read_labels(labels))
