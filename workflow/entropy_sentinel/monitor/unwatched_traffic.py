"""Add the alerts about traffic that nobody watches to a result, from the states of all its estimators."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl

from entropy_sentinel.features.exclusion_reasons import find_remedy
from entropy_sentinel.monitor.alert_history import AlertHistory
from entropy_sentinel.monitor.alerting.acknowledgements import read_acknowledgements
from entropy_sentinel.monitor.alerting.alert_reporting import ReportingRules, make_alerts, read_history
from entropy_sentinel.monitor.alerting.unwatched_episodes import (
    Progress,
    Traffic,
    confirm_episode,
    describe_absence,
    find_missing_windows,
    find_unwatched,
    find_usual_windows,
    is_late,
    list_later_windows,
    update_progress,
)
from entropy_sentinel.monitor.episodes import EMPTY_ROW, Episode
from entropy_sentinel.monitor.monitor_options import MonitorOptions
from entropy_sentinel.monitor.monitor_result import Monitored, name_slice
from entropy_sentinel.monitor.reading.exclusions import SCHEMA, merge_exclusions
from entropy_sentinel.monitor.reading.feature_stream import SLICE_PREFIX
from entropy_sentinel.monitor.reading.time_zones import DTYPE
from entropy_sentinel.monitor.reading.window_times import convert_from_clock, convert_to_clock, find_window_starts
from entropy_sentinel.monitor.summing.monitor_state import State
from entropy_sentinel.monitor.summing.sum_merging import SliceTable, select_newest_windows

_NO_WINDOWS = pl.DataFrame(schema={"window": DTYPE, "n": pl.Int64})


@dataclass(frozen=True)
class WatchedState:
    """A state, its path (null without a lasting state), and its sums (null without responses)."""

    state: State
    path: Path | None
    merged: SliceTable | None

    @property
    def progress(self) -> Progress | None:
        """What earlier runs recorded about the newest responses; null for the first run."""
        content = self.state.progress
        try:
            return None if content is None else Progress.from_list(content)
        except (ValueError, TypeError):
            raise self.state.make_damage_error("the record of the newest responses has another form") from None

    def traffic(self, settings: MonitorOptions, models: Sequence[str], user_named_models: bool) -> Traffic:
        """All responses by window, and those that are not watched.

        With `user_named_models`, `where` leaves out other models on purpose.
        """
        window = settings.window or "day"
        merged, windows = self.merged, _NO_WINDOWS
        if merged is not None:
            columns = [name for name in merged.traffic.columns if settings.by or not name.startswith("missing.")]
            windows = merged.traffic.select(pl.col(columns).exclude("window").cast(pl.Int64), "window")
        rows = merge_exclusions(self.state.all_exclusions(), models)
        if rows is None:
            rows = pl.DataFrame(schema=SCHEMA)
        elif user_named_models:
            rows = rows.filter(pl.col("hash").is_null())
        keys = [f"{SLICE_PREFIX}{name}" for name in settings.by if f"{SLICE_PREFIX}{name}" in rows.columns]
        names = [name_slice(values) for values in rows.select(keys).iter_rows()] if keys else [""] * len(rows)
        rows = rows.with_columns(
            window=find_window_starts(pl.col("grain"), window), slice=pl.Series(names, dtype=pl.String)
        )
        sizes = self._slice_sizes(settings)
        rows = rows.join(sizes, on=["slice", "window"], how="left", nulls_equal=True, maintain_order="left")
        return Traffic(windows, rows.select("window", "slice", "code", "subject", "n", "n_slice", "hash"), window)

    def _slice_sizes(self, settings: MonitorOptions) -> pl.DataFrame:
        """The number of responses `n_slice` of each slice in each window."""
        schema: dict[str, Any] = {"slice": pl.String, "window": DTYPE, "n_slice": pl.Int64}
        if self.merged is None:
            return pl.DataFrame(schema=schema)
        names = [name_slice(values) if settings.by else "" for values in self.merged.slices.iter_rows()]
        windows = self.merged.windows or self.merged.base_windows
        if windows is None:
            whole = {"slice": names, "window": [None] * len(names), "n_slice": self.merged.total.n_responses}
            return pl.DataFrame(whole, schema=schema)
        numbers = windows.rows["slice"].to_list()
        sizes = windows.rows.select("window", slice=pl.Series([names[number] for number in numbers], dtype=pl.String))
        return sizes.with_columns(n_slice=pl.Series(windows.sums.n_responses)).select([*schema])


def add_unwatched(
    result: Monitored,
    states: Sequence[WatchedState],
    models: Sequence[str],
    settings: MonitorOptions,
    user_named_models: bool = False,
) -> None:
    """Add alerts, and what the next run is to remember, to a result; `models` are those with an estimator."""
    traffic = Traffic.join([state.traffic(settings, models, user_named_models) for state in states])
    times = [each for each in traffic.totals if each is not None]
    if times:
        counts = pl.DataFrame({"window": times, "n": [traffic.totals[each] for each in times]})
        newest = select_newest_windows(counts, traffic.window, settings)
        # Later windows come from a wrong clock.
        is_later = pl.col("window") > newest[-1]
        traffic = replace(
            traffic,
            windows=traffic.windows.filter(~is_later.fill_null(False)),
            exclusions=traffic.exclusions.filter(~is_later.fill_null(False)),
        )
    times = [each for each in traffic.totals if each is not None]
    old_models = _find_ended_models(states, models, times)
    episodes = [
        confirmed
        for episode in find_unwatched(traffic, old_models, find_remedy)
        if (confirmed := confirm_episode(episode, times, settings.confirm)) is not None
    ]
    counts_by_window = {each: traffic.totals[each] for each in times}
    late = _find_late_windows(result, states, counts_by_window, settings)
    if late and len(late) >= settings.confirm:
        episodes.append(
            describe_absence(late, sum(counts_by_window.get(each, 0) for each in late), max(times), traffic.window)
        )
    result.missing.extend(_convert_windows(late, settings.zone))
    result.provenance["missing_windows"] = [each.isoformat() for each in result.missing]
    if settings.alerts_on_unwatched:
        real = [_convert_times(episode, settings.zone) for episode in episodes]
        _add_alerts(result, states, real, sorted({*times, *late}), settings)


def _find_ended_models(
    states: Sequence[WatchedState], models: Sequence[str], times: Sequence[datetime]
) -> Sequence[str]:
    """The models, of several, that had responses but none in the newest window: others may be their new names.

    A single model may always have a new name. `times` are the windows with responses.
    """
    ended = []
    for state, model in zip(states, models, strict=False):
        windows = [] if state.merged is None else state.merged.traffic["window"].drop_nulls().to_list()
        if times and windows and max(windows) < times[-1]:
            ended.append(model)
    return ended if len(models) > 1 else models


def _find_late_windows(
    result: Monitored, states: Sequence[WatchedState], counts: Mapping[datetime, int], settings: MonitorOptions
) -> list[datetime]:
    """The windows that lack responses and should have them by now; record the progress of this run in `result`.

    `counts` are the numbers of responses by window, on the clock of the windows' zone.
    """
    if settings.window is None:
        return []
    option_time = None if settings.now is None else datetime.fromisoformat(settings.now)
    if option_time is not None and option_time.tzinfo is None:
        option_time = option_time.replace(tzinfo=ZoneInfo(settings.zone or "UTC"))
    now = (option_time or datetime.now(UTC)).astimezone(UTC)
    clock_now: datetime = convert_to_clock(pl.Series([now], dtype=DTYPE), settings.zone).item()
    present = find_usual_windows({each: n for each, n in counts.items() if each <= clock_now})
    if not present:
        return []
    newest = max(present)
    later_windows = list_later_windows(present, settings.window, clock_now)
    missing = find_missing_windows(present, later_windows, settings.window)
    lasting = [state for state in states if state.path is not None]
    if not lasting:  # an old log that is read once lacks nothing, unless the user says when it should be complete
        return missing if option_time is not None else []
    # All states of a run have the same record.
    before = next((found for state in lasting if (found := state.progress) is not None), None)
    progress = update_progress(len(later_windows), newest, settings.window, now, before).to_list()
    result.progress.update({state.path: progress for state in lasting if state.path is not None})
    return missing if is_late(len(later_windows), newest, settings.window, now, before) else []


def _add_alerts(
    result: Monitored,
    states: Sequence[WatchedState],
    episodes: Sequence[Episode],
    windows: Sequence[datetime],
    settings: MonitorOptions,
) -> None:
    """Put alerts of unwatched traffic before the others of `result`, and into the history of each state.

    `windows` are all windows up to now, of which the newest two are new.
    """
    histories = {state.path: read_history(state.state) for state in states if state.path is not None}
    history = AlertHistory()
    for earlier in histories.values():
        history.add(earlier.select_unwatched().reported)
    newest = _convert_windows(windows[-2:], settings.zone)
    acknowledgements = read_acknowledgements(settings.acknowledged)
    rules = ReportingRules(newest, history if histories else None, acknowledgements, settings.remind)
    # Each reported alert has a row, so that it is over if its traffic was not found again.
    run = make_alerts(episodes, (), rules, {key.values: EMPTY_ROW for key in history.reported})
    result.alerts[:0] = run.alerts
    for path, earlier in histories.items():
        result.histories.setdefault(path, earlier.select_slices()).add(run.history.reported)


def _convert_times(episode: Episode, zone: str | None) -> Episode:
    """An episode, whose times are those of a zone's clock, with real times."""
    moments = [episode.since, episode.detected, episode.until]
    real = iter(_convert_windows([each for each in moments if each is not None], zone))
    since, detected, until = (None if each is None else next(real) for each in moments)
    worse = tuple(_convert_windows(episode.worse_windows, zone))
    return replace(episode, since=since, detected=detected, until=until, worse_windows=worse)


def _convert_windows(windows: Sequence[datetime], zone: str | None) -> list[datetime]:
    """The real times of windows on the clock of a zone."""
    return convert_from_clock(pl.Series([*windows], dtype=DTYPE), zone).to_list()
