"""Remember the alerts that somebody was told about, and read those that somebody acknowledged."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.monitor.settings import ALERTS, BELOW
from entropy_sentinel.monitor.summing.state import State

# The kind and the slice of an alert.
Key = tuple[str, tuple[Any, ...]]


@dataclass(frozen=True)
class ReportedAlert:
    """An alert that somebody was told about.

    Attributes:
        since: Its first window; null without windows.
        newest: The newest window when it was last told; null without windows.
        n_worse: The number of times that it had become worse.
        over: Whether its end was told too.
    """

    since: datetime | None
    newest: datetime | None
    n_worse: int
    over: bool = False

    def is_of(self, since: datetime | None, lasts: bool) -> bool:
        """Return whether this is the alert about a spell that began then and lasts, or is over."""
        if lasts and self.over:
            return False
        return since is None or self.newest is None or since <= self.newest


def as_rows(told: Mapping[Key, ReportedAlert]) -> list[tuple[str, str, str]]:
    """Return rows of texts for a state: the kind, the slice's values, and the rest."""
    rows = []
    for (kind, values), alert in told.items():
        rest = [_text(alert.since), _text(alert.newest), alert.n_worse, alert.over]
        rows.append((kind, json.dumps(values), json.dumps(rest)))
    return rows


def of_rows(rows: Any) -> dict[Key, ReportedAlert]:
    """Return what `as_rows` wrote; raise ValueError for any other rows."""
    alerts: dict[Key, ReportedAlert] = {}
    if not isinstance(rows, list):
        raise ValueError(f"not a list of alerts: {rows!r}"[:200])
    for row in rows:
        try:
            kind, values, rest = row
            alerts[_text_of(kind), tuple(map(_value, _parts(values)))] = _reported(*_parts(rest))
        except (ValueError, TypeError, RecursionError):
            raise ValueError(f"not an alert that was reported: {row!r}"[:200]) from None
    return alerts


def reported_alerts(state: State) -> dict[Key, ReportedAlert]:
    """Return the alerts that earlier runs reported; raise DamagedFileError if the state has something else."""
    try:
        return of_rows(state.reported_alerts)
    except (ValueError, TypeError) as error:
        raise state.damaged(str(error)) from None


def _reported(since: Any, newest: Any, n_worse: Any, over: Any = False) -> ReportedAlert:
    if type(n_worse) is not int or n_worse < 0 or type(over) is not bool:
        raise ValueError
    return ReportedAlert(_time(since), _time(newest), n_worse, over)


def _parts(text: Any) -> list[Any]:
    parts = json.loads(_text_of(text))
    if not isinstance(parts, list):
        raise ValueError
    return parts


def _value(value: Any) -> str | None:
    return None if value is None else _text_of(value)


def _text_of(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _text(when: datetime | None) -> str | None:
    return None if when is None else when.isoformat()


def _time(text: Any) -> datetime | None:
    if text is None:
        return None
    when = datetime.fromisoformat(text)
    if when.tzinfo is None:
        raise ValueError
    return when


@dataclass(frozen=True)
class Acknowledgement:
    """A line of the file of acknowledged alerts: alerts of this kind and slice that began until `day`."""

    kind: str
    slice: str
    day: date

    def is_of(self, kind: str, name: str, when: Sequence[datetime], today: date) -> bool:
        """Return whether an alert is acknowledged; `when` are its beginning and the times when it became worse."""
        latest = max((moment.date() for moment in when), default=today)
        return (kind, name) == (self.kind, self.slice) and latest <= self.day


def acknowledged(path: Path | None) -> list[Acknowledgement]:
    """Read the acknowledged alerts: lines such as `drop homework 2026-11-09`; raise InputError for any other line."""
    if path is None:
        return []
    try:
        # Editors on Windows begin a file with a byte order mark.
        lines = path.read_text("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"acknowledged: {path}: cannot be read: {error}") from None
    entries = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if text and not text.startswith("#"):
            entries.append(_line(text, f"{path}, line {number}"))
    return entries


def _line(text: str, place: str) -> Acknowledgement:
    kind, _, rest = text.partition(" ")
    # The name as outputs show it: one that is empty, or has a space at its beginning or end, is in quotes there.
    name, _, day = rest.strip().rpartition(" ")
    kinds = (BELOW, *ALERTS)
    try:
        if kind in kinds and name.strip():
            return Acknowledgement(kind, name.strip(), date.fromisoformat(day))
    except ValueError:
        pass
    raise InputError(
        f"acknowledged: {place}: must be KIND SLICE DATE, such as 'drop homework 2026-11-09' (kinds: "
        f"{', '.join(kinds)}), was '{text}'"
    )
