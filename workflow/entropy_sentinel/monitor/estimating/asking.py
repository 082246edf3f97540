"""What is asked of the sums of all files, and what is found: rows, alerts, provenance."""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

import polars as pl

from entropy_sentinel import __version__
from entropy_sentinel.estimators.saved import SavedEstimator
from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.monitor.estimating.alerts import alerts, stale_alerts
from entropy_sentinel.monitor.estimating.estimates import Estimates
from entropy_sentinel.monitor.estimating.recent import recent
from entropy_sentinel.monitor.labelling.labelled import Labelled
from entropy_sentinel.monitor.reading.problems import Problems
from entropy_sentinel.monitor.reading.settings import EARLIEST, Reference, shown
from entropy_sentinel.monitor.reading.times import DTYPE
from entropy_sentinel.monitor.result import Monitored
from entropy_sentinel.monitor.settings import MonitorOptions
from entropy_sentinel.monitor.showing.behind import behind
from entropy_sentinel.monitor.summing.collecting import Collector
from entropy_sentinel.monitor.summing.merging import Merged, merge
from entropy_sentinel.monitor.summing.state import State

Part = TypeVar("Part")


def found(
    saved: SavedEstimator,
    checksum: str,
    collector: Collector,
    state: State,
    asked: MonitorOptions,
    labels: pl.DataFrame | None,
) -> Monitored:
    """What is asked of the sums of all files. Raises InputError for no response, and for none in the reference."""
    problems = collector.problems()
    merged = merge(lambda: _parts(state, State.sums), asked.by, asked.window, asked.period, asked.max_slices)
    if merged is None:
        raise InputError(f"there is no response in the logs{''.join(f'; {line}' for line in problems.lines())}")
    if asked.period is not None and not merged.before.n_estimated.any():
        raise InputError(_no_reference(state, asked.period))
    taken = sum((Counter(one.taken) for one in state.files.values()), Counter[str]())
    estimates = Estimates(saved, asked.level, asked.min_responses, dict(taken.most_common(5)))
    labelled = None
    if labels is not None:
        responses = partial(_parts, state, State.responses)
        labelled = Labelled(responses, labels, merged, asked.window, asked.labels_at_random)
        labelled.note(problems)
    rows = _rows(estimates, merged, asked, labelled)
    return Monitored(
        **rows,
        behind=behind(rows["alerts"], asked.window, state, asked, asked.responses) if asked.responses else [],
        provenance=_provenance(saved, checksum, collector, state, asked, estimates, merged, taken),
        problems=problems,
    )


def _rows(estimates: Estimates, merged: Merged, asked: MonitorOptions, labelled: Labelled | None) -> dict[str, Any]:
    """What of a `Monitored` has rows, and the alerts about them."""
    columns, reference, windows = tuple(merged.slices.columns), asked.period, merged.windows
    if asked.window is None or windows is None:
        slices = estimates.of_slices(merged, labelled)
        return {"by": columns, "slices": slices, "windows": None, "alerts": alerts(slices, columns, asked)}
    n_slices = len(merged.slices)
    last = recent(windows, n_slices, asked.window, asked.min_responses, asked.pool_windows, reference)
    slices, rows = estimates.of_slices(merged, labelled, last), estimates.of_recent(merged, last, reference, labelled)
    usable = merged.slices.with_columns(last_usable=pl.Series(last.last_usable, dtype=DTYPE))
    return {
        "by": columns,
        "slices": slices,
        "windows": estimates.of_windows(merged, reference, labelled),
        "alerts": alerts(rows, columns, asked) + stale_alerts(slices, columns, asked),
        "newest": last.newest,
        "recent": rows,
        "last_usable": slices.select(columns).join(usable, on=columns, how="left", nulls_equal=True),
    }


def _no_reference(state: State, reference: Reference) -> str:
    """What to say of a reference without a response, and what there is."""
    grains = _grains(state)
    there = f"from {min(grains):%Y-%m-%d} to {max(grains):%Y-%m-%d}" if grains else "without a time"
    return (
        f"reference: {shown(reference)} (UTC) has no response with an estimate, so nothing can be compared with "
        f"it; the logs have responses {there}"
    )


def _since(reference: Reference | None, state: State) -> list[str] | None:
    """The reference as it is written down; one without a begin begins with the logs."""
    if reference is None:
        return None
    start = min(_grains(state)) if reference.start == EARLIEST else reference.start
    return [start.isoformat(), reference.end.isoformat()]


def _grains(state: State) -> list[datetime]:
    """When the smallest windows begin in which there are responses."""
    found = pl.concat([part.keys.select("grain").unique() for part in _parts(state, State.sums)])
    return found["grain"].drop_nulls().to_list()


def _parts(state: State, what: Callable[[State, str], Iterator[Part]]) -> Iterator[Part]:
    """What is known of all files, part by part."""
    return (part for key in state.files for part in what(state, key))


def _provenance(
    saved: SavedEstimator,
    checksum: str,
    collector: Collector,
    state: State,
    asked: MonitorOptions,
    estimates: Estimates,
    merged: Merged,
    taken: Counter[str],
) -> dict[str, Any]:
    about, every = saved.about, Problems.total(one.problems for one in state.files.values())
    estimator = {name: about.get(name) for name in ("model", "group", "logprobs", "training_accuracy")}
    return {
        "version": __version__,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "estimator": {"name": saved.estimator.name, "sha256": checksum or None, **estimator},
        "general_flags": estimates.general_flags,
        "overridden": dict(taken),
        "reading": asked.as_dict(),
        "window": asked.window,
        "reference": _since(asked.period, state),
        "level": asked.level,
        "min_responses": asked.min_responses,
        "pool_windows": asked.pool_windows,
        "files": {"read_now": len(collector.read), "known": collector.n_known, "in_all": len(state.files)},
        "responses": {
            "read_now": sum(one.n_responses for one in collector.read),
            "in_all": int(merged.total.n_responses.sum()),
        },
        "pooled_slices": merged.n_pooled,
        **every.as_dict(),
    }
