"""Read the alerts that somebody acknowledged."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.monitor.alert_codes import AlertKind
from entropy_sentinel.monitor.monitor_options import ALERTS


@dataclass(frozen=True)
class Acknowledgement:
    """A line of the file of acknowledged alerts: alerts of this kind and slice that began until `day`."""

    kind: str
    slice: str
    day: date

    def covers(self, kind: str, name: str, times: Sequence[datetime], today: date) -> bool:
        """Whether an alert of this kind and slice name is acknowledged.

        `times` are its beginning and when it became worse; an alert without times counts as one of `today`.
        """
        latest = max((moment.date() for moment in times), default=today)
        return (kind, name) == (self.kind, self.slice) and latest <= self.day


def read_acknowledgements(path: Path | None) -> list[Acknowledgement]:
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
            entries.append(_parse_line(text, f"{path}, line {number}"))
    return entries


def _parse_line(text: str, place: str) -> Acknowledgement:
    """The acknowledgement in a line; raises InputError, which names the file and line, `place`, for another text."""
    kind, _, rest = text.partition(" ")
    # The name as outputs show it: one that is empty, or has a space at its beginning or end, is in quotes there.
    name, _, day = rest.strip().rpartition(" ")
    kinds = (AlertKind.BELOW.slug, *ALERTS)
    try:
        if kind in kinds and name.strip():
            return Acknowledgement(kind, name.strip(), date.fromisoformat(day))
    except ValueError:
        pass
    raise InputError(
        f"acknowledged: {place}: must be KIND SLICE DATE, such as 'drop homework 2026-11-09' (kinds: "
        f"{', '.join(kinds)}), got '{text}'"
    )
