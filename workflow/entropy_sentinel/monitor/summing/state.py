"""A state: the sums of every file that was read, so that a later run reads only new files.

The frames of a file have four parts: SUMS by slice and smallest window; RESPONSES, with ids and predictions to match
with later labels; HASHES to recognise the responses in other files (`identity`); and EXCLUSIONS, the counts of
responses without an estimate (`exclusions`), which files of earlier versions lack. A row with an empty key describes
the state: the estimator's checksum, and how responses were read. `state_file` has the tables.

The key of a file is the SHA-256 of its unpacked content, so a file that was moved, copied or packed is recognised. If
a file begins with the whole content of an earlier file, such as a log that has grown, it is read from the start and
replaces the earlier file. The replaced key is kept, because other files may have the same content. Responses in several
files count once. A file is added in one transaction, so a killed run leaves nothing behind. The row of a file lists its
statistics with their versions (`monitor.catalogue`). If a statistic is unknown, the file is read again if it is given;
otherwise its other sums count.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.frames.errors import ProvenanceError
from entropy_sentinel.monitor.catalogue import STATISTICS, VERSIONS
from entropy_sentinel.monitor.reading.identity import NUMBERS, Content, OtherFiles, Overlap, Span
from entropy_sentinel.monitor.reading.zones import DTYPE
from entropy_sentinel.monitor.summing.state_file import StateFile, Writer, opened
from entropy_sentinel.monitor.summing.sums import Partial

SUMS, RESPONSES, HASHES, EXCLUSIONS = "sums", "responses", "numbers", "exclusions"
# The key of the row about the state itself.
_STATE = ""


@dataclass
class FileSums:
    """The row of a file: everything except its sums.

    `replaces` are the keys of earlier files whose content the file begins with. `seen` are the columns with a value,
    and `problems` is `Problems.as_dict`. Responses that do not match the estimator are counted in `mismatches`, by
    setting and value, or, if they are used anyway, in `taken`, by kind. States of earlier versions have `rejected`
    instead of `mismatches`. `of_part` means that the file comes from another state. `checksums` are the checksums of
    its frames, by part; `statistics` are the versions of its statistics. `span` are the first and the last smallest
    window of its responses, and whether some have none; null if an earlier version wrote the file.
    """

    path: str
    key: str
    n_bytes: int
    replaces: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    problems: dict[str, Any] = field(default_factory=dict)
    rejected: dict[str, int] = field(default_factory=dict)
    mismatches: list[tuple[str, str, int]] = field(default_factory=list)
    taken: dict[str, int] = field(default_factory=dict)
    n_responses: int = 0
    of_part: bool = False
    checksums: dict[str, str] = field(default_factory=dict)
    statistics: dict[str, int] = field(default_factory=lambda: dict(VERSIONS))
    span: list[Any] | None = None

    @property
    def times(self) -> Span:
        """Return the span."""
        first, last, untimed = self.span or (None, None, True)
        if first is None or last is None:
            return Span(untimed=untimed)
        return Span(datetime.fromisoformat(first), datetime.fromisoformat(last), untimed)

    def add_times(self, grains: pl.Series) -> None:
        """Add the starts of the smallest windows of some responses, (n,), to the span."""
        before = Span() if self.span is None else self.times
        self.span = _span_as_list(before.with_(Span.of(grains)))

    @property
    def unknown(self) -> list[str]:
        """Return the statistics that the file's sums lack or have in another version."""
        return [name for name, version in VERSIONS.items() if self.statistics.get(name) != version]


class State:
    """The sums for one estimator and one way of reading; the state is locked while it is open.

    `files` are the files that count, by their keys. Raises DamagedFileError if the state file was damaged or edited,
    and EntropySentinelError if it cannot be read or written.
    """

    def __init__(self, file: StateFile, whose: dict[str, Any]) -> None:
        """Read or start a state file; raise ProvenanceError if it has another estimator or way of reading."""
        self._file, self._whose = file, whose
        about = file.about()
        if _STATE in about:
            _check_same(file.path, about.pop(_STATE), whose)
        else:
            file.put(_STATE, whose)
        self.files = {key: FileSums(**content) for key, content in about.items()}
        self.overlap = Overlap(self.files, self.numbers, self.span)

    @classmethod
    @contextmanager
    def opened(cls, path: Path | None, whose: dict[str, Any]) -> Iterator["State"]:
        """Open or create a state file for this process only; without a path, the state is temporary.

        `whose` has the name of the `estimator`, the `checksum` of its file, and the options `reading`.
        Raises ConfigError for a file that is not a state.
        """
        with opened(path) as file:
            yield cls(file, whose)

    @property
    def told(self) -> list[tuple[str, str, str]]:
        """Return the alerts that were told, as texts."""
        return self._file.told()

    @property
    def progress(self) -> list[Any] | None:
        """Return what earlier runs recorded about the newest responses, null for the first run."""
        return self._file.progress()

    def known(self, path: str) -> FileSums | None:
        """Return the known file at a path, unopened; null if size or time changed or a statistic is unknown."""
        key = self._file.place(path)
        return None if self.lacking(key) else self.holder(key)

    def holder(self, key: str) -> FileSums | None:
        """Return the file with this key, or a file that replaced it, or null."""
        if key in self.files:
            return self.files[key]
        return next((about for about in self.files.values() if key in about.replaces), None)

    def lacking(self, key: str) -> list[str]:
        """Return the unknown statistics of the file with this key."""
        return self.files[key].unknown if key in self.files else []

    def remember(self, path: str, look: list[int], key: str) -> None:
        """Record the key, size and time (`look`) of the file at a path."""
        self._file.remember(path, look, key)

    def begun_by(self, content: Content) -> list[str]:
        """Return the keys of the earlier files whose whole content is at the beginning of this content."""
        keys: set[str] = set()
        for key in content.beginnings:
            if key in self.files and key != content.key:
                keys |= {key, *self.files[key].replaces}
        return sorted(keys)

    @contextmanager
    def writing(self, about: FileSums) -> Iterator["Writer"]:
        """Yield a writer for a file's frames; the file counts once the block has ended."""
        with self._file.transaction():
            yield (writer := Writer(self._file, about.key))
            about.checksums = writer.checksums
            for key in about.replaces:
                self._file.delete(key)
            self._file.put(about.key, asdict(about))
        self.files[about.key] = about
        for key in about.replaces:
            self.files.pop(key, None)
        self.overlap.add_file(about.key)

    def take_over(self, path: Path) -> list[FileSums]:
        """Add the files of another state with the same estimator and reading; return the files that count.

        A file is skipped if all its responses are in other files; single responses cannot be subtracted from sums.
        """
        with State.opened(path, self._whose) as part:
            for about in part.files.values():
                self._take_over(about, part)
            holders = [self.holder(key) for key in part.files]
        return [about for about in holders if about is not None]

    def _take_over(self, about: FileSums, part: "State") -> None:
        """Add a file of another state unless this state already has its responses."""
        if self.lacking(about.key) and not about.unknown:
            self.forget(about.key)
        new, others = part.numbers(about.key), self.others(about)
        others.count(new, part.span(about.key))
        if self.holder(about.key) or others.all_same:
            return
        if others.any_same:
            about.replaces = sorted({*about.replaces, *self.overlap.within(new)})
        about.of_part = True
        sums, responses, exclusions = part.sums(about.key), part.responses(about.key), part.exclusions(about.key)
        about.statistics = {name: version for name, version in about.statistics.items() if name in STATISTICS}
        with self.writing(about) as writer:
            for partial in sums:
                writer.add_frame(SUMS, partial.frame())
            for frame in responses:
                writer.add_frame(RESPONSES, frame)
            writer.add_frame(HASHES, new)
            for frame in exclusions:
                writer.add_frame(EXCLUSIONS, frame)

    def others(self, about: FileSums) -> OtherFiles:
        """Return the responses of all files except the files that this file replaces."""
        return self.overlap.others(about.replaces)

    def sums(self, key: str) -> Iterator[Partial]:
        """Return the sums of a file, in parts of bounded size."""
        known = STATISTICS.keys() - set(self.files[key].unknown)
        return (Partial.of(frame, known) for frame in self._frames(key, SUMS))

    def responses(self, key: str) -> Iterator[pl.DataFrame]:
        """Return the estimated responses of a file: RESPONSE, `by.COLUMN`, `grain` and the prediction `p`."""
        return self._frames(key, RESPONSES)

    def exclusions(self, key: str) -> Iterator[pl.DataFrame]:
        """Return the exclusions of a file, with the slice columns and the columns `exclusions.SCHEMA`."""
        return self._frames(key, EXCLUSIONS)

    def all_exclusions(self) -> list[pl.DataFrame]:
        """Return the exclusions of all files."""
        return [frame for key in self.files for frame in self.exclusions(key)]

    def all_sums(self) -> Iterator[Partial]:
        """Yield the sums of all files."""
        for key in self.files:
            yield from self.sums(key)

    def all_responses(self) -> Iterator[pl.DataFrame]:
        """Yield the estimated responses of all files."""
        for key in self.files:
            yield from self.responses(key)

    def numbers(self, key: str) -> pl.DataFrame:
        """Return the columns `identity.NUMBERS` of a file's responses."""
        return pl.concat([pl.DataFrame(schema=NUMBERS), *self._frames(key, HASHES)])

    def span(self, key: str) -> Span:
        """Return the times of a file's responses, as starts of the smallest windows."""
        about = self.files[key]
        if about.span is None:  # written by an earlier version
            grains = [part.keys["grain"] for part in self.sums(key)]
            about.span = _span_as_list(Span.of(pl.concat(grains) if grains else pl.Series(dtype=DTYPE)))
        return about.times

    def forget(self, key: str) -> None:
        """Remove a file, so that it is read again."""
        self.drop(key)
        self.overlap.forget()

    def drop(self, key: str) -> None:
        """Remove a file; its responses remain in `overlap`."""
        self.files.pop(key, None)
        self._file.delete(key)

    def _frames(self, key: str, part: str) -> Iterator[pl.DataFrame]:
        """Return the frames of a part of a file."""
        return self._file.frames(key, part, self.files[key].checksums.get(part))


def _span_as_list(span: Span) -> list[Any]:
    if span.first is None or span.last is None:
        return [None, None, span.untimed]
    return [span.first.isoformat(), span.last.isoformat(), span.untimed]


def _check_same(path: Path | None, then: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise ProvenanceError if a state has another estimator or way of reading than this run."""
    remedy = f"name another file, or delete {path} and give all the logs again"
    if then["checksum"] != now["checksum"]:
        raise ProvenanceError(
            f"{path}: contains results of another estimator, '{then['estimator']}' with checksum "
            f"{then['checksum'][:12]}; this estimator has {now['checksum'][:12]}. The results cannot be added: "
            f"{remedy}"
        )
    for name, value in now["reading"].items():
        before = then["reading"].get(name)
        if before != value:
            raise ProvenanceError(
                f"{path}: was made with {name} = {before}, but this run has {value}. The results cannot be "
                f"added: {remedy}"
            )
