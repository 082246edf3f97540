"""Turn episodes into alerts and decide which of them this run reports.

An alert is reported when it begins, when it becomes worse and when it is over. With a state, the monitor remembers what
it reported. Without one, everything before the newest two windows counts as reported.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from entropy_sentinel.core.code_base import ExtensionCode
from entropy_sentinel.monitor.alert import (
    Alert,
    AlertStatus,
    LabelNumbers,
    PooledWindow,
    Row,
    SliceNumbers,
    SliceValues,
    Subject,
)
from entropy_sentinel.monitor.alert_codes import AlertCode, AlertKind
from entropy_sentinel.monitor.alert_history import AlertHistory, ReportedAlert
from entropy_sentinel.monitor.alerting.acknowledgements import Acknowledgement
from entropy_sentinel.monitor.alerting.slice_episodes import can_evaluate
from entropy_sentinel.monitor.episodes import Episode
from entropy_sentinel.monitor.monitor_result import name_slice
from entropy_sentinel.monitor.summing.monitor_state import State


@dataclass(frozen=True)
class ReportingRules:
    """What decides whether an alert is reported now.

    Attributes:
        newest: The newest windows, the newest last; empty without windows.
        history: The lasting alerts that were reported; null without a state.
        acknowledgements: The alerts that somebody acknowledged.
        remind: Whether alerts that continue are reported again.
    """

    newest: Sequence[datetime] = ()
    history: AlertHistory | None = None
    acknowledgements: Sequence[Acknowledgement] = ()
    remind: bool = False


@dataclass
class RunAlerts:
    """The alerts of a run, and what is to be remembered once they are reported."""

    alerts: list[Alert] = field(default_factory=list)
    history: AlertHistory = field(default_factory=AlertHistory)


def read_history(state: State) -> AlertHistory:
    """The alerts that earlier runs reported; raises DamagedFileError if the state has something else."""
    try:
        return AlertHistory.from_rows(state.reported_alerts)
    except (ValueError, TypeError) as error:
        raise state.make_damage_error(str(error)) from None


def make_alerts(
    episodes: Iterable[Episode], by: Sequence[str], rules: ReportingRules, rows: Mapping[SliceValues, Row]
) -> RunAlerts:
    """The alerts of episodes, and of reported ones that are over; and the history for the next run.

    `by` are the slice columns, and `rows` the newest rows with enough responses, by the slices' values.
    """
    run = RunAlerts()
    newest = rules.newest[-1] if rules.newest else None
    reported = {} if rules.history is None else rules.history.reported
    for episode in episodes:
        earlier = reported.get(episode.key)
        if earlier is not None and not earlier.continues(episode.since, episode.until is None):
            earlier = None
        status = _decide_status(episode, earlier, rules)
        since = episode.since if earlier is None else earlier.since
        if status is not None:
            run.alerts.append(_make_alert(episode, status, since, rules))
        if status is not None or earlier is not None:
            is_over = episode.until is not None
            run.history.reported[episode.key] = ReportedAlert(
                since, newest, len(episode.worse_windows), end_reported=is_over
            )
    _close_reported_alerts(run, by, rules, rows)
    return run


def _decide_status(episode: Episode, earlier: ReportedAlert | None, rules: ReportingRules) -> AlertStatus | None:
    """The status of an episode; None if its end, or an end before the newest windows, needs no report.

    `earlier` is the alert that an earlier run reported about it, if there is one.
    """
    oldest_new = rules.newest[0] if rules.newest else None
    if rules.history is not None:
        is_known = earlier is not None
        n_worse = 0 if earlier is None else earlier.n_worse
    elif oldest_new is None:
        is_known, n_worse = False, 0
    else:  # without a state, everything before the newest windows counts as reported
        is_known = episode.detected is not None and episode.detected < oldest_new
        n_worse = sum(when < oldest_new for when in episode.worse_windows)
    if episode.until is None:
        if not is_known:
            return AlertStatus.NEW
        return AlertStatus.WORSE if len(episode.worse_windows) > n_worse else AlertStatus.CONTINUES
    if earlier is not None and earlier.end_reported:
        return None
    if oldest_new is None or episode.until < oldest_new:
        return None if earlier is None else AlertStatus.OVER
    return AlertStatus.OVER if is_known else AlertStatus.NEW


def _close_reported_alerts(
    run: RunAlerts, by: Sequence[str], rules: ReportingRules, rows: Mapping[SliceValues, Row]
) -> None:
    """Add alerts about reported episodes that this run does not find, so that they are over, to `run`.

    `rows` are the newest rows by the slices' values. Without a row that can tell, the alert stays in the history. Drops
    are not closed: their episodes say when they end.
    """
    until = rules.newest[-1] if rules.newest else None
    for key, reported in ({} if rules.history is None else rules.history.reported).items():
        kind = _find_kind(key.kind)
        if key in run.history.reported or reported.end_reported or kind == AlertKind.DROP:
            continue
        row = rows.get(key.values)
        if row is not None and can_evaluate(row, kind):
            subject, slice_ = None, dict(zip(by, key.values, strict=False))
            if kind == AlertKind.UNWATCHED:
                subject, slice_ = Subject(*map(str, key.values)), {}
            begin, detected = reported.since, reported.newest
            episode = Episode(kind, slice_, row, "no longer", begin, detected, until=until, subject=subject)
            run.alerts.append(_make_alert(episode, AlertStatus.OVER, reported.since, rules))
        elif kind != AlertKind.STALE:
            run.history.reported[key] = reported


def _find_kind(slug: str) -> AlertCode:
    """The kind with this slug, which may be that of an extension that is no longer installed."""
    return AlertKind.find_slug(slug) or ExtensionCode(slug, slug, "")


def _make_alert(episode: Episode, status: AlertStatus, since: datetime | None, rules: ReportingRules) -> Alert:
    """The alert of an episode; an acknowledged one is not reported, nor is one that continues without `remind`."""
    name = name_slice(episode.slice.values()) if episode.subject is None else episode.subject.name
    times = [moment for moment in (since, *episode.worse_windows) if moment is not None]
    today = datetime.now(UTC).date()
    is_acknowledged = any(entry.covers(episode.kind.slug, name, times, today) for entry in rules.acknowledgements)
    levels = {} if episode.levels is None else episode.levels._asdict()
    return Alert(
        kind=episode.kind,
        slice=dict(episode.slice),
        subject=episode.subject,
        status=status,
        to_report=not is_acknowledged and (status != AlertStatus.CONTINUES or rules.remind),
        acknowledged=is_acknowledged,
        since=since,
        until=episode.until,
        window=PooledWindow.from_row(episode.row),
        numbers=SliceNumbers.from_row(episode.row),
        label_numbers=LabelNumbers.from_row(episode.row),
        details={**levels, **episode.details},
        flags=episode.row["flags"],
        flag_codes=episode.row["flag_codes"],
        message=episode.message,
    )
