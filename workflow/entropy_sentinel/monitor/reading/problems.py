"""What in the logs could not be used: counted by kind, the first of each with their place."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from entropy_sentinel.frames.errors import InputError

# Places that are shown of a kind; and kinds that are told apart, for a name in one can be anything.
SHOWN, MOST_KINDS = 3, 50
_FURTHER = "other problems"


@dataclass
class Problems:
    """Counts by kind, and the first places; with `strict` the first problem is an InputError.

    A note is counted and shown, and is no problem.
    """

    strict: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    places: dict[str, list[str]] = field(default_factory=dict)
    # What came of a kind, and what to do about it.
    remedies: dict[str, str] = field(default_factory=dict)

    def add(self, kind: str, places: Sequence[str], count: int | None = None, remedy: str = "") -> None:
        """Count a problem at these places, or `count` times."""
        if self.strict and places:
            raise InputError(f"{places[0]}: {kind}")
        if remedy:
            self.remedies[kind] = remedy
        self._add(self.counts, kind, places, count)

    def note(self, kind: str, places: Sequence[str], count: int | None = None) -> None:
        """Count what is worth knowing."""
        self._add(self.notes, kind, places, count)

    def _add(self, counts: Counter[str], kind: str, places: Sequence[str], count: int | None) -> None:
        kind = kind if kind in counts or len(counts) < MOST_KINDS else _FURTHER
        counts[kind] += len(places) if count is None else count
        shown = self.places.setdefault(kind, [])
        shown.extend(places[: SHOWN - len(shown)])

    def lines(self) -> list[str]:
        """One line per kind, the most frequent first, with its first places."""
        found = []
        for counts in (self.counts, self.notes):
            for kind, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
                places = self.places.get(kind, [])
                more = ", ..." if count > len(places) > 0 else ""
                said = " ".join(filter(None, (_words(count, kind), self.remedies.get(kind))))
                found.append(said + (f": {', '.join(places)}{more}" if places else ""))
        return found

    def as_dict(self) -> dict[str, Any]:
        """The counts as JSON has them."""
        counts = {"problems": dict(self.counts), "notes": dict(self.notes)}
        return {**counts, "places": self.places, "remedies": self.remedies}

    @classmethod
    def total(cls, parts: Iterable[dict[str, Any]]) -> "Problems":
        """The sum of several counts, each as JSON has it."""
        made = cls()
        for part in parts:
            made.counts.update(part["problems"])
            made.notes.update(part["notes"])
            made.remedies |= part.get("remedies", {})  # files of earlier releases do not have it
            for kind, places in part["places"].items():
                shown = made.places.setdefault(kind, [])
                shown.extend(places[: SHOWN - len(shown)])
        return made


def _words(count: int, kind: str) -> str:
    """How many of a kind there are, whose first word is a plural: "1 response without a time"."""
    things, space, rest = kind.partition(" ")
    return f"{count:,} {things.removesuffix('s') if count == 1 else things}{space}{rest}"
