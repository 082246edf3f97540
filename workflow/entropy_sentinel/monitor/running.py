"""The monitor, from logs and an estimator to rows and alerts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.estimators.saved import SavedEstimator
from entropy_sentinel.frames.options import taking
from entropy_sentinel.monitor.estimating.asking import found
from entropy_sentinel.monitor.reading.opening import Logs, loaded, opened, sources
from entropy_sentinel.monitor.reading.problems import Problems
from entropy_sentinel.monitor.reading.settings import Reading
from entropy_sentinel.monitor.result import Monitored
from entropy_sentinel.monitor.settings import MonitorOptions
from entropy_sentinel.monitor.summing.collecting import Collector
from entropy_sentinel.verbs.frames import is_table, labels_table
from entropy_sentinel.verbs.labels import read_labels


@taking(MonitorOptions)
def monitor(
    estimator: SavedEstimator | str | Path,
    logs: Logs,
    by: Sequence[str] = (),
    *,
    state: str | Path | None = None,
    **options: Any,
) -> Monitored:
    """Estimate the accuracy of every slice of logs, with intervals, flags, changes and alerts.

    Args:
        estimator: One that `fit` or `load` has given, or its file.
        logs: Files, folders, patterns, `-` for standard input, of logs, traces or features; a frame of features; or
            folders of states of parts of the logs.
        by: The columns whose values make slices, combined; without any, all responses are one.
        state: A folder: what was read before for the same estimator and settings counts too, and is not read again.
        **options: The fields of `MonitorOptions`, by name: windows, reference, what is an alert, labels, how logs are
            read. Labels may be a frame, too.

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
        >>> found.slices.select("n_estimated", "rank").rows()
        [(30, 1), (30, 2), (30, 3), (30, 4), (30, 5)]
    """
    asked = MonitorOptions.of({"by": by, **options})
    saved, checksum = loaded(estimator, state)
    with opened(state, saved, checksum, asked) as kept:
        single = asked.labels is not None or asked.responses > 0
        collector = Collector(saved, asked, kept, state is not None, single)
        collector.add(sources(logs))
        collector.check()
        return found(saved, checksum, collector, kept, asked, _labels(asked.labels))


def collect(estimator: str | Path, logs: Logs, state: str | Path, by: Sequence[str] = (), **options: Any) -> Problems:
    """Read a part of the logs to the folder `state`, and ask nothing of it; what could not be used.

    `monitor` takes such folders for logs. The options are those of `Reading`, and its errors those of `monitor`.
    """
    reading = Reading.of({"by": by, **options})
    saved, checksum = loaded(estimator, state)
    with opened(state, saved, checksum, reading) as kept:
        collector = Collector(saved, reading, kept, True, False)
        collector.add(sources(logs))
        return collector.problems()


def _labels(labels: Any) -> pl.DataFrame | None:
    if labels is None:
        return None
    return labels_table(labels if is_table(labels) else read_labels(labels))
