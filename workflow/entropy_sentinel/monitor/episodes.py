"""An episode: a run of windows in which the condition of an alert held for a slice."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from entropy_sentinel.monitor.alert import JsonRecord, Row, SliceValues, Subject
from entropy_sentinel.monitor.alert_codes import AlertCode

# The numbers of an episode that is not about a slice.
EMPTY_ROW: Row = {
    **dict.fromkeys(("n_estimated", "estimated_accuracy", "lower", "upper", "level", "change", "change_p", "change_q")),
    "flags": [],
    "flag_codes": [],
}


class AlertKey(NamedTuple):
    """What identifies an alert in a state: the slug of its kind, and the values of its slice or its subject."""

    kind: str
    values: SliceValues


class DropLevels(NamedTuple):
    """The accuracies of a drop: `before` it, back to the reference, and `after` the last change of level."""

    before: float
    after: float


@dataclass(frozen=True)
class Episode(JsonRecord):
    """A run of windows in which the condition of an alert held for a slice; times are starts of windows.

    `to_dict` is for drops, which JSON files list even without an alert.

    Attributes:
        kind: The kind of the alert.
        slice: The slice's columns and values; empty for traffic that is not watched.
        row: The row whose numbers the alert has.
        message: What holds, without the slice and the time.
        since: The first window; null without windows.
        detected: The window that made it an alert; null without windows.
        worse_windows: The windows that made it worse.
        until: The window that ended it; null if it lasts.
        subject: What is not watched; null for a slice.
        levels: The accuracies of a drop; null for other kinds.
        details: Further numbers of this kind.
    """

    kind: AlertCode
    slice: Mapping[str, str | None]
    row: Row
    message: str
    since: datetime | None = None
    detected: datetime | None = None
    worse_windows: tuple[datetime, ...] = ()
    until: datetime | None = None
    subject: Subject | None = None
    levels: DropLevels | None = None
    details: Mapping[str, float | str] = field(default_factory=dict)

    @property
    def key(self) -> AlertKey:
        """What identifies the alert about this episode."""
        return AlertKey(self.kind.slug, self.subject or tuple(self.slice.values()))

    def to_dict(self) -> dict[str, Any]:
        """The slice, the times and the levels; JSON-serialisable."""
        times = {"since": self.since, "told": self.detected, "until": self.until}
        texts = {name: None if when is None else when.isoformat() for name, when in times.items()}
        levels = {} if self.levels is None else self.levels._asdict()
        return {
            "slice": dict(self.slice),
            "since": texts["since"],
            "told": texts["told"],
            **levels,
            "worse": [when.isoformat() for when in self.worse_windows],
            "until": texts["until"],
        }
