"""What is asked of the sums of all files, and what is found: rows, alerts, provenance."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

import polars as pl

from entropy_sentinel import __version__
from entropy_sentinel.estimators.saved import SavedEstimator
from entropy_sentinel.frames.errors import ConfigError, InputError
from entropy_sentinel.monitor.estimating.alerts import AlertRules, alerts, stale_alerts
from entropy_sentinel.monitor.estimating.estimates import Estimates
from entropy_sentinel.monitor.estimating.recent import recent
from entropy_sentinel.monitor.labelling.labelled import Labelled
from entropy_sentinel.monitor.reading import times
from entropy_sentinel.monitor.reading.problems import Problems
from entropy_sentinel.monitor.result import Monitored
from entropy_sentinel.monitor.settings import Reading
from entropy_sentinel.monitor.showing.behind import behind
from entropy_sentinel.monitor.summing.collecting import Collector
from entropy_sentinel.monitor.summing.merging import Merged, merge
from entropy_sentinel.monitor.summing.state import State

Part = TypeVar("Part")


@dataclass(frozen=True)
class Asked:
    """What is asked of the sums, whatever they are of."""

    by: tuple[str, ...]
    window: str | None
    reference: times.Reference | None
    level: float
    max_slices: int
    min_responses: int
    pool_windows: int
    labels_at_random: bool
    responses: int

    def __post_init__(self) -> None:
        """ConfigError for what cannot be."""
        if not 0 < self.level < 1:
            raise ConfigError(f"level: must be above 0 and below 1, was {self.level}")
        if self.max_slices < 1:
            raise ConfigError(f"max_slices: must be 1 or more, was {self.max_slices}")
        if self.pool_windows < 1:
            raise ConfigError(f"pool_windows: must be 1 or more, was {self.pool_windows}")
        if self.responses < 0:
            raise ConfigError(f"responses: must be 0 or more, was {self.responses}")


def found(
    saved: SavedEstimator,
    checksum: str,
    collector: Collector,
    state: State,
    reading: Reading,
    asked: Asked,
    rules: AlertRules,
    labels: pl.DataFrame | None,
) -> Monitored:
    """What is asked of the sums of all files. Raises InputError for no response, and for none in the reference."""
    problems = collector.problems()
    merged = merge(lambda: _parts(state, State.sums), asked.by, asked.window, asked.reference, asked.max_slices)
    if merged is None:
        raise InputError(f"there is no response in the logs{''.join(f'; {line}' for line in problems.lines())}")
    if asked.reference is not None and not merged.before.counts[:, 1].any():
        raise InputError(_no_reference(state, asked.reference))
    taken = sum((Counter(one.taken) for one in state.files.values()), Counter[str]())
    estimates = Estimates(saved, asked.level, rules.min_responses, dict(taken.most_common(5)))
    labelled = None
    if labels is not None:
        responses = partial(_parts, state, State.responses)
        labelled = Labelled(responses, labels, merged, asked.window, asked.labels_at_random)
        labelled.note(problems)
    rows = _rows(estimates, merged, asked, rules, labelled)
    return Monitored(
        **rows,
        behind=behind(rows["alerts"], asked.window, state, reading, asked.responses) if asked.responses else [],
        provenance=_provenance(saved, checksum, collector, state, reading, asked, estimates, merged, taken),
        problems=problems,
    )


def _rows(
    estimates: Estimates, merged: Merged, asked: Asked, rules: AlertRules, labelled: Labelled | None
) -> dict[str, Any]:
    """What of a `Monitored` has rows, and the alerts about them."""
    columns, reference = tuple(merged.slices.columns), asked.reference
    if asked.window is None:
        slices = estimates.of_slices(merged, labelled)
        return {"by": columns, "slices": slices, "windows": None, "alerts": alerts(slices, columns, rules, None)}
    last = recent(merged, asked.window, max(rules.min_responses, 1), asked.pool_windows, reference)
    slices, rows = estimates.of_slices(merged, labelled, last), estimates.of_recent(merged, last, reference, labelled)
    usable = merged.slices.with_columns(last_usable=pl.Series(last.last_usable, dtype=times.DTYPE))
    return {
        "by": columns,
        "slices": slices,
        "windows": estimates.of_windows(merged, reference, labelled),
        "alerts": alerts(rows, columns, rules, asked.window) + stale_alerts(slices, columns, rules),
        "newest": last.newest,
        "recent": rows,
        "last_usable": slices.select(columns).join(usable, on=columns, how="left", nulls_equal=True),
    }


def _no_reference(state: State, reference: times.Reference) -> str:
    """What to say of a reference without a response, and what there is."""
    grains = _grains(state)
    there = f"from {grains.min():%Y-%m-%d} to {grains.max():%Y-%m-%d}" if len(grains) else "without a time"
    return (
        f"reference: {times.shown(reference)} (UTC) has no response with an estimate, so nothing can be compared with "
        f"it; the logs have responses {there}"
    )


def _since(reference: times.Reference | None, state: State) -> list[str] | None:
    """The reference as it is written down; one without a begin begins with the logs."""
    if reference is None:
        return None
    start = _grains(state).min() if reference.start == times.EARLIEST else reference.start
    return [start.isoformat(), reference.end.isoformat()]


def _grains(state: State) -> pl.Series:
    """When the smallest windows begin in which there are responses."""
    return pl.concat([part.keys.select("grain").unique() for part in _parts(state, State.sums)])["grain"].drop_nulls()


def _parts(state: State, what: Callable[[State, str], Iterator[Part]]) -> Iterator[Part]:
    """What is known of all files, part by part."""
    return (part for key in state.files for part in what(state, key))


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
    estimator = {name: about.get(name) for name in ("model", "group", "logprobs", "training_accuracy")}
    return {
        "version": __version__,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "estimator": {"name": saved.estimator.name, "sha256": checksum or None, **estimator},
        "general_flags": estimates.general,
        "overridden": dict(taken),
        "reading": reading.as_dict(),
        "window": asked.window,
        "reference": _since(asked.reference, state),
        "level": asked.level,
        "min_responses": asked.min_responses,
        "pool_windows": asked.pool_windows,
        "files": {"read_now": len(collector.read), "known": collector.n_known, "in_all": len(state.files)},
        "responses": {
            "read_now": sum(one.n_responses for one in collector.read),
            "in_all": int(merged.total.counts[:, 0].sum()),
        },
        "pooled_slices": merged.n_pooled,
        **every.as_dict(),
    }
