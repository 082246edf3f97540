"""An alert of a run: what it is about, since when, and whether somebody is to be told now."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from entropy_sentinel.monitor.alert_codes import AlertCode, AlertKind

Row = Mapping[str, Any]
# The values of a slice, in the order of its columns.
SliceValues = tuple[str | None, ...]


class JsonRecord(Mapping[str, Any]):
    """A typed record that can also be read by the keys of its JSON, as outputs of extensions do."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The record; JSON-serialisable."""

    def __getitem__(self, key: str) -> Any:
        return self.to_dict()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_dict())

    def __len__(self) -> int:
        return len(self.to_dict())


class AlertStatus(StrEnum):
    """What has happened to an alert since the last run that reported it."""

    NEW = "new"
    WORSE = "worse"
    CONTINUES = "continues"
    OVER = "over"


class Subject(NamedTuple):
    """What is not watched: the code of the cause, and a name, such as that of a model."""

    code: str
    name: str


class PooledWindow(NamedTuple):
    """The newest window of an alert's row, the first one that is pooled with it, and their number."""

    window: datetime
    window_from: datetime
    n_windows: int

    @classmethod
    def from_row(cls, row: Row) -> "PooledWindow | None":
        """The windows of a row, null if it is about the whole time."""
        return cls(row["window"], row["window_from"], row["n_windows"]) if "window" in row else None

    def to_dict(self) -> dict[str, Any]:
        """The windows; JSON-serialisable."""
        return {
            "window": self.window.isoformat(),
            "window_from": self.window_from.isoformat(),
            "n_windows": self.n_windows,
        }


class SliceNumbers(NamedTuple):
    """The numbers of an alert's row; all are null for traffic that is not watched."""

    n_estimated: int | None = None
    estimated_accuracy: float | None = None
    lower: float | None = None
    upper: float | None = None
    level: float | None = None
    change: float | None = None
    change_p: float | None = None
    change_q: float | None = None

    @classmethod
    def from_row(cls, row: Row) -> "SliceNumbers":
        """The numbers of a slice's row, whose columns have the same names."""
        return cls(*(row[name] for name in cls._fields))


class LabelNumbers(NamedTuple):
    """The accuracy, from labels or a judge, of a row without an estimate."""

    use_accuracy: float | None
    use_lower: float | None
    use_upper: float | None

    @classmethod
    def from_row(cls, row: Row) -> "LabelNumbers | None":
        """The accuracy of a row, null if an estimate gives it."""
        if row["estimated_accuracy"] is not None or "use_accuracy" not in row:
            return None
        return cls(*(row[name] for name in cls._fields))


class EventRelation(StrEnum):
    """When an alert began, by an event: in its window, in the window after it, or in one of several windows."""

    DURING = "during"
    AFTER = "after"
    AMONG = "among"


class AlertEvent(NamedTuple):
    """An event near the beginning of an alert, and the length of the window that the relation is about."""

    begin: datetime
    end: datetime
    text: str
    relation: EventRelation
    window: str

    def to_dict(self) -> dict[str, str]:
        """The event; JSON-serialisable."""
        times = {"begin": self.begin.isoformat(), "end": self.end.isoformat()}
        return {**times, "text": self.text, "relation": str(self.relation), "window": self.window}


@dataclass(kw_only=True)
class Alert(JsonRecord):
    """An alert about a slice, or about traffic that is not watched.

    `alert["message"]` reads it by the keys of its JSON (`to_dict`), such as `kind` and `status`.

    Attributes:
        kind: The kind, with its code, words and remedy.
        slice: The slice's columns and values; empty for traffic that is not watched.
        subject: What is not watched; null for a slice.
        status: What has happened since the last run that reported the alert.
        to_report: Whether somebody is to be told now.
        acknowledged: Whether the file of acknowledged alerts names it.
        since: The first window; null without windows.
        until: The window that ended it; null if it lasts.
        window: The windows of the numbers; null without windows.
        numbers: The estimate of the slice and its change.
        label_numbers: The accuracy from labels, if there is no estimate.
        details: Further numbers of this kind, such as `before` and `after` of a drop.
        flags: The words of the slice's flags.
        flag_codes: The codes of the slice's flags.
        message: What holds.
        events: Known events near its beginning.
    """

    kind: AlertCode
    slice: dict[str, str | None]
    subject: Subject | None
    status: AlertStatus
    to_report: bool
    acknowledged: bool
    since: datetime | None
    until: datetime | None
    window: PooledWindow | None
    numbers: SliceNumbers
    label_numbers: LabelNumbers | None
    details: Mapping[str, float | str]
    flags: list[str]
    flag_codes: list[str]
    message: str
    events: list[AlertEvent] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        """Whether the alert has ended."""
        return self.status == AlertStatus.OVER

    @property
    def n_windows(self) -> int:
        """The number of windows that the numbers cover."""
        return 1 if self.window is None else self.window.n_windows

    @property
    def has_responses(self) -> bool:
        """Whether responses may be shown: a stale slice has no new ones, and what is over needs no look."""
        return self.kind != AlertKind.STALE and not self.is_over

    def to_dict(self) -> dict[str, Any]:
        """The alert; JSON-serialisable."""
        subject = {} if self.subject is None else {"code": self.subject.code, "subject": self.subject.name}
        return {
            "kind": self.kind.slug,
            "kind_code": self.kind.number,
            "slice": dict(self.slice),
            **subject,
            "status": str(self.status),
            "to_report": self.to_report,
            "acknowledged": self.acknowledged,
            "since": _format_time(self.since),
            "until": _format_time(self.until),
            **({} if self.window is None else self.window.to_dict()),
            **self.numbers._asdict(),
            **({} if self.label_numbers is None else self.label_numbers._asdict()),
            **self.details,
            "flags": list(self.flags),
            "flag_codes": list(self.flag_codes),
            "message": self.message,
            "events": [event.to_dict() for event in self.events],
        }


def _format_time(when: datetime | None) -> str | None:
    return None if when is None else when.isoformat()
