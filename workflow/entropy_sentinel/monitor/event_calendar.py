"""Known events, such as a new prompt: read them, and find the alerts that began with one.

An event is a moment, or a day on the clock of the monitor's time zone. It explains nothing by itself: outputs only say
that an alert began in the window of the event, or in the window after it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import polars as pl

from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.core.printable import make_one_line
from entropy_sentinel.monitor.alert import Alert, AlertEvent, EventRelation
from entropy_sentinel.monitor.alert_codes import AlertKind
from entropy_sentinel.monitor.monitor_options import MonitorOptions, is_event_file
from entropy_sentinel.monitor.reading.time_zones import DTYPE
from entropy_sentinel.monitor.reading.window_times import convert_from_clock, shift_window

# Largest numbers of events, and of characters of a text.
MOST_EVENTS, LONGEST_TEXT = 1000, 200
_MUST = "must be DATE=TEXT, such as 2026-10-15=prompt v2, or a file with such lines"
_LINE = re.compile(
    r"(\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?)?)\s*(?:[=:]\s*|\s)(.+)", re.DOTALL
)


class Event(NamedTuple):
    """An event from `begin` up to, but excluding, `end`; a moment has equal ends."""

    begin: datetime
    end: datetime
    text: str

    def overlaps(self, begin: datetime, end: datetime) -> bool:
        """Whether the event, or a part of it, is in a period."""
        return self.begin < end and (self.end > begin or self.begin >= begin)

    def to_dict(self) -> dict[str, str]:
        """The event; JSON-serialisable."""
        return {"begin": self.begin.isoformat(), "end": self.end.isoformat(), "text": self.text}


def read_events(settings: MonitorOptions) -> list[Event]:
    """The events of the options and their files, sorted by time; raise an error for any other line."""
    events: list[Event] = []
    for entry in settings.events:
        if is_event_file(entry):
            events += _read_file(Path(entry), settings.zone)
        else:
            events.append(_parse_event(entry, settings.zone, f"events: {_MUST}"))
    if len(events) > MOST_EVENTS:
        raise ConfigError(f"events: at most {MOST_EVENTS:,}, got {len(events):,}; name those that could matter")
    return sorted(set(events))


def _read_file(path: Path, zone: str | None) -> list[Event]:
    """The events in a file with a line for each; lines that begin with # are comments."""
    try:
        lines = path.read_text("utf-8-sig").split("\n")
    except (OSError, ValueError) as error:
        raise InputError(f"events: {path}: cannot be read: {error}. An event {_MUST}") from None
    entries = [(number, line.strip()) for number, line in enumerate(lines, start=1)]
    return [
        _parse_event(line, zone, f"events: {path}, line {number}: must be DATE=TEXT, such as 2026-10-15=prompt v2")
        for number, line in entries
        if line and not line.startswith("#")
    ]


def _parse_event(line: str, zone: str | None, problem: str) -> Event:
    """The event of a text; raises ConfigError, which begins with `problem`, for any other text."""
    found = _LINE.fullmatch(line.strip())
    try:
        if found is None:
            raise ValueError
        begin, end = _parse_period(found[1], zone)
        text = _strip_quotes(found[2])
    except (ValueError, OverflowError):
        raise ConfigError(f"{problem}, got '{make_one_line(line)[:LONGEST_TEXT]}'") from None
    return Event(begin, end, text)


def _strip_quotes(text: str) -> str:
    """The text of an event as one line without quotes, shortened; raises ValueError for an empty one."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1].strip()
    if not text:
        raise ValueError
    text = make_one_line(text)
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 3]}..."


def _parse_period(text: str, zone: str | None) -> tuple[datetime, datetime]:
    """The first moment of a day on the clock of a zone, and of the next day; or a moment twice."""
    if len(text) == len("2026-10-15"):
        day = date.fromisoformat(text)
        midnight = datetime(day.year, day.month, day.day)
        return _find_moment(midnight, zone), _find_moment(midnight + timedelta(days=1), zone)
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = _find_moment(moment, zone)
    return moment, moment


def _find_moment(clock_time: datetime, zone: str | None) -> datetime:
    """The moment at which the clock of a zone shows a time."""
    moment: datetime = convert_from_clock(pl.Series([clock_time]).dt.replace_time_zone("UTC").cast(DTYPE), zone).item()
    return moment


def mark_alerts(alerts: Iterable[Alert], events: Sequence[Event], settings: MonitorOptions) -> None:
    """Add to each alert its `events`: those in the window in which it began, and in the window before."""
    for alert in alerts:
        # A drop is dated by the smallest windows.
        smallest = alert.kind == AlertKind.DROP or settings.window is None
        window = str((settings.grain or "day") if smallest else settings.window)
        alert.events = [
            AlertEvent(*event, relation, window)
            for event in events
            if (relation := _find_relation(event, alert, window)) is not None
        ]


def _find_relation(event: Event, alert: Alert, window: str) -> EventRelation | None:
    """Where an event is: in the window in which an alert begins, in that before, or in one of its pooled windows.

    `window` is the length of the windows. Null if it is elsewhere.
    """
    if alert.since is None or alert.is_over:
        return None
    begin = alert.since
    # A stale slice had enough responses for the last time in its first window.
    end = shift_window(begin, 2 if alert.kind == AlertKind.STALE else 1, window)
    if event.overlaps(begin, end):
        return EventRelation.DURING
    if event.overlaps(shift_window(begin, -1, window), begin):
        return EventRelation.AFTER
    pooled = alert.window
    if alert.kind == AlertKind.DROP or pooled is None or pooled.n_windows == 1 or pooled.window_from != begin:
        return None
    last = shift_window(pooled.window, 1, window)
    return EventRelation.AMONG if event.overlaps(begin, last) else None


def describe_events(alert: Alert) -> str:
    """When an alert began, by its events, such as "began on the day of prompt v2"; empty without events."""
    parts: dict[str, list[str]] = {}
    for event in alert.events:
        parts.setdefault(_describe_relation(event, alert), []).append(event.text)
    if not parts:
        return ""
    described = [f"{words} {', '.join(texts)}" for words, texts in parts.items()]
    return f"began {' and '.join(described)}"


def _describe_relation(event: AlertEvent, alert: Alert) -> str:
    """When an alert began by an event, before the event's text: "on the day of", "in the week after"."""
    window = event.window
    if event.relation == EventRelation.AMONG:
        return f"in one of the {alert.n_windows} {window}s with"
    if window == "hour" and event.begin != event.end:
        window = "day"  # the event has no hour
    begin = f"{'on' if window == 'day' else 'in'} the {window}"
    return f"{begin} {'after' if event.relation == EventRelation.AFTER else 'of'}"


def name_events(events: Iterable[Mapping[str, str]], begin: datetime, end: datetime) -> list[str]:
    """The texts of the events, as `Event.to_dict` returns them, that are in a period."""
    texts = []
    for event in events:
        first, last = datetime.fromisoformat(event["begin"]), datetime.fromisoformat(event["end"])
        if Event(first, last, event["text"]).overlaps(begin, end):
            texts.append(event["text"])
    return texts
