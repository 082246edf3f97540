"""The alerts that earlier runs reported, as a state keeps them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from entropy_sentinel.monitor.alert_codes import AlertKind
from entropy_sentinel.monitor.episodes import AlertKey


@dataclass(frozen=True)
class ReportedAlert:
    """An alert that an earlier run reported.

    Attributes:
        since: Its first window; null without windows.
        newest: The newest window when it was last reported; null without windows.
        n_worse: The number of times that it had become worse.
        end_reported: Whether its end was reported too.
    """

    since: datetime | None
    newest: datetime | None
    n_worse: int
    end_reported: bool = False

    def continues(self, since: datetime | None, lasts: bool) -> bool:
        """Whether this alert is about an episode that began at `since`, and `lasts` or is over.

        It is if it was last reported after the episode began; an alert whose end was reported does not last again.
        """
        if lasts and self.end_reported:
            return False
        return since is None or self.newest is None or since <= self.newest


@dataclass
class AlertHistory:
    """The reported alerts by their keys. A state keeps them as rows of texts: kind, values, and the rest as JSON."""

    reported: dict[AlertKey, ReportedAlert] = field(default_factory=dict)

    @classmethod
    def from_rows(cls, rows: object) -> "AlertHistory":
        """What `to_rows` wrote; raises ValueError for any other rows."""
        if not isinstance(rows, list):
            raise ValueError(f"not a list of alerts: {rows!r}"[:200])
        return cls(dict(map(_parse_row, rows)))

    def to_rows(self) -> list[tuple[str, str, str]]:
        """Three texts for each alert: the kind, the values as JSON, and the fields of the alert as a JSON list."""
        rows = []
        for (kind, values), alert in self.reported.items():
            rest = [_format_time(alert.since), _format_time(alert.newest), alert.n_worse, alert.end_reported]
            rows.append((kind, json.dumps(values), json.dumps(rest)))
        return rows

    def select_unwatched(self) -> "AlertHistory":
        """The alerts about traffic that is not watched."""
        return AlertHistory(dict(self._select(is_unwatched=True)))

    def select_slices(self) -> "AlertHistory":
        """The alerts about slices."""
        return AlertHistory(dict(self._select(is_unwatched=False)))

    def _select(self, is_unwatched: bool) -> Iterator[tuple[AlertKey, ReportedAlert]]:
        """Yield the alerts about traffic that is not watched, or those about slices."""
        for key, alert in self.reported.items():
            if (key.kind == AlertKind.UNWATCHED.slug) is is_unwatched:
                yield key, alert

    def add(self, alerts: Mapping[AlertKey, ReportedAlert]) -> None:
        """Add alerts; those with the key of an earlier one replace it."""
        self.reported.update(alerts)


def _parse_row(row: object) -> tuple[AlertKey, ReportedAlert]:
    """An alert from its three texts; raises ValueError for anything else."""
    try:
        if not isinstance(row, list):
            raise ValueError
        kind, values, rest = row
        key = AlertKey(_require_text(kind), tuple(map(_parse_value, _parse_list(values))))
        return key, _parse_alert(*_parse_list(rest))
    except (ValueError, TypeError, RecursionError):
        raise ValueError(f"not an alert that was reported: {row!r}"[:200]) from None


def _parse_alert(since: object, newest: object, n_worse: object, end_reported: object = False) -> ReportedAlert:
    """The alert from the values of its row; earlier versions did not write `end_reported`."""
    if type(n_worse) is not int or n_worse < 0 or type(end_reported) is not bool:
        raise ValueError
    return ReportedAlert(_parse_time(since), _parse_time(newest), n_worse, end_reported)


def _parse_list(text: object) -> list[Any]:
    """The list in a JSON text; raises ValueError for anything else."""
    parts = json.loads(_require_text(text))
    if not isinstance(parts, list):
        raise ValueError
    return parts


def _parse_value(value: object) -> str | None:
    return None if value is None else _require_text(value)


def _require_text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _format_time(when: datetime | None) -> str | None:
    return None if when is None else when.isoformat()


def _parse_time(text: object) -> datetime | None:
    """The time in a text, or null; raises ValueError for one without a zone."""
    if text is None:
        return None
    when = datetime.fromisoformat(_require_text(text))
    if when.tzinfo is None:
        raise ValueError
    return when
