"""Turn spells into alerts, which say whether they are new, and which somebody is to be told about now.

An alert is told when it begins, when it becomes worse and when it is over. With a state, the monitor remembers what it
told. Without one, everything before the newest two windows counts as told.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from entropy_sentinel.monitor.alerting.spells import Spell, tells
from entropy_sentinel.monitor.alerting.told import Acknowledgement, Key, ReportedAlert
from entropy_sentinel.monitor.result import slice_name
from entropy_sentinel.monitor.settings import CONTINUES, DROP, NEW, OVER, STALE, UNWATCHED, WORSE

_NUMBERS = ("n_estimated", "estimated_accuracy", "lower", "upper", "level", "change", "change_p", "change_q")
# Those of an alert without an estimate.
_FROM_LABELS = ("use_accuracy", "use_lower", "use_upper")


@dataclass(frozen=True)
class Memory:
    """What decides whether an alert is told now.

    Attributes:
        newest: The newest windows, the newest last; empty without windows.
        told: The lasting alerts that were told; null without a state.
        acknowledged: The alerts that somebody acknowledged.
        remind: Whether alerts that continue are told again.
    """

    newest: Sequence[datetime] = ()
    told: Mapping[Key, ReportedAlert] | None = None
    acknowledged: Sequence[Acknowledgement] = ()
    remind: bool = False


@dataclass
class Alerts:
    """The alerts of a run, JSON-serialisable, and what is to be remembered once they are told."""

    alerts: list[dict[str, Any]] = field(default_factory=list)
    told: dict[Key, ReportedAlert] = field(default_factory=dict)


def alerts_of(
    spells: Iterable[Spell], by: Sequence[str], memory: Memory, rows: Mapping[tuple[Any, ...], Mapping[str, Any]]
) -> Alerts:
    """Return the alerts of spells. `rows` are the newest rows with enough responses, by the slices' values.

    An alert has `kind`, `slice` (column to value), `status`, `to_report`, `acknowledged`, `since`, `until`, the row's
    numbers and `message`; with windows also `window`, the first pooled window and the number of pooled windows. An
    alert about traffic that is not watched has `code` and `subject` instead of a slice.
    """
    alerts = Alerts()
    newest = memory.newest[-1] if memory.newest else None
    for spell in spells:
        key = spell.key(by)
        before = (memory.told or {}).get(key)
        if before is not None and not before.is_of(spell.since, spell.until is None):
            before = None
        status = _status(spell, before, memory)
        since = spell.since if before is None else before.since
        if status is not None:
            alerts.alerts.append(_alert(spell, by, status, since, memory))
        if status is not None or before is not None:
            alerts.told[key] = ReportedAlert(since, newest, len(spell.worse), over=spell.until is not None)
    _end_others(alerts, by, memory, rows)
    return alerts


def _status(spell: Spell, before: ReportedAlert | None, memory: Memory) -> str | None:
    """Return the status of a spell; null if it is over and that is no news."""
    oldest_new = memory.newest[0] if memory.newest else None
    if memory.told is not None:
        known = before is not None
        n_worse = 0 if before is None else before.n_worse
    elif oldest_new is None:
        known, n_worse = False, 0
    else:  # without a state, everything before the newest windows counts as told
        known = spell.told is not None and spell.told < oldest_new
        n_worse = sum(when < oldest_new for when in spell.worse)
    if spell.until is None:
        if not known:
            return NEW
        return WORSE if len(spell.worse) > n_worse else CONTINUES
    if before is not None and before.over:
        return None
    if oldest_new is None or spell.until < oldest_new:
        return None if before is None else OVER
    return OVER if known else NEW


def _end_others(
    alerts: Alerts, by: Sequence[str], memory: Memory, rows: Mapping[tuple[Any, ...], Mapping[str, Any]]
) -> None:
    """Add alerts about told spells that are over; keep in mind those of slices about which nothing is known now."""
    until = memory.newest[-1] if memory.newest else None
    for key, told in (memory.told or {}).items():
        kind, values = key
        if key in alerts.told or told.over or kind == DROP:
            continue
        row = rows.get(values)
        if row is not None and tells(row, kind):
            subject = (str(values[0]), str(values[1])) if kind == UNWATCHED else None
            spell = Spell(kind, row, "no longer", told.since, told.newest, until=until, subject=subject)
            alerts.alerts.append(_alert(spell, by, OVER, told.since, memory))
        elif kind != STALE:
            alerts.told[key] = told


def _alert(spell: Spell, by: Sequence[str], status: str, since: datetime | None, memory: Memory) -> dict[str, Any]:
    row = spell.row
    window = {}
    if "window" in row:
        window = {
            "window": row["window"].isoformat(),
            "window_from": row["window_from"].isoformat(),
            "n_windows": row["n_windows"],
        }
    slice_ = {} if spell.subject else {column: row[column] for column in by}
    code, name = spell.subject or (None, slice_name(slice_.values()))
    moments = [moment for moment in (since, *spell.worse) if moment is not None]
    today = datetime.now(UTC).date()
    is_acknowledged = any(entry.is_of(spell.kind, name, moments, today) for entry in memory.acknowledged)
    return {
        "kind": spell.kind,
        "slice": slice_,
        **({} if code is None else {"code": code, "subject": name}),
        "status": status,
        "to_report": not is_acknowledged and (status != CONTINUES or memory.remind),
        "acknowledged": is_acknowledged,
        "since": None if since is None else since.isoformat(),
        "until": None if spell.until is None else spell.until.isoformat(),
        **window,
        **{number: row[number] for number in _NUMBERS},
        **{number: row[number] for number in _FROM_LABELS if row["estimated_accuracy"] is None and number in row},
        **spell.more,
        "flags": row["flags"],
        "message": spell.message,
    }
