"""A state: the sums of every file that was read, so that a later run reads only what is new.

A file's frames are in parts: SUMS by slice and smallest window; RESPONSES, their ids and predictions, to which labels
may come later; NUMBERS, by which a response is known in another file (`identity`). A row about the state itself,
without a key, has the estimator's checksum, and how responses were read. `state_file` has the tables.

A file's key is the SHA-256 of its content, unpacked: a file that was moved, copied or packed is known again. A file
that begins with the whole content of an earlier one, as a log that has grown, is read whole and replaces it; the
replaced key is kept, for its content may lie elsewhere too. Responses that another file has count once. A file is added
in one transaction, so a killed run leaves nothing that counts. The row of a file names the statistics that its sums
have, with their versions (`monitor.catalogue`): where one is not known, the file is read again if it is given, and else
what is known of it counts.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.frames.errors import ProvenanceError
from entropy_sentinel.monitor.catalogue import STATISTICS, VERSIONS
from entropy_sentinel.monitor.reading.identity import NUMBERS as NUMBERS_OF
from entropy_sentinel.monitor.reading.identity import Content, Others, Overlap
from entropy_sentinel.monitor.summing.state_file import StateFile, Writer, opened
from entropy_sentinel.monitor.summing.sums import Partial

SUMS, RESPONSES, NUMBERS = "sums", "responses", "numbers"
# The key of the row about the state itself.
_STATE = ""


@dataclass
class FileSums:
    """What is known of one file beside its sums.

    `replaces` are keys of what it begins with. `seen` are columns with a value, `problems` is `Problems.as_dict`,
    `rejected` counts responses by what they are of and the estimator is not, `taken` those taken all the same.
    `of_part` says that another state read it. `checksums` are those of its frames, by part; `statistics` the versions
    of those that its sums have.
    """

    path: str
    key: str
    n_bytes: int
    replaces: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    problems: dict[str, Any] = field(default_factory=dict)
    rejected: dict[str, int] = field(default_factory=dict)
    taken: dict[str, int] = field(default_factory=dict)
    n_responses: int = 0
    of_part: bool = False
    checksums: dict[str, str] = field(default_factory=dict)
    statistics: dict[str, int] = field(default_factory=lambda: dict(VERSIONS))

    @property
    def unknown(self) -> list[str]:
        """The statistics that its sums do not have, or of another version."""
        return [name for name, version in VERSIONS.items() if self.statistics.get(name) != version]


class State:
    """The sums of one estimator and one way of reading, locked as long as it is open.

    `files` are those that count, by their keys. Raises DamagedFileError where the file is not as it was written, and
    EntropySentinelError where it cannot be read or written.
    """

    def __init__(self, file: StateFile, whose: dict[str, Any]) -> None:
        """Read what a file holds, or begin there. ProvenanceError where it holds sums of something else."""
        self._file, self._whose = file, whose
        about = file.about()
        if _STATE in about:
            _check_same(file.path, about.pop(_STATE), whose)
        else:
            file.put(_STATE, whose)
        self.files = {key: FileSums(**content) for key, content in about.items()}
        self.overlap = Overlap(self.files, self.numbers)

    @classmethod
    @contextmanager
    def opened(cls, path: Path | None, whose: dict[str, Any]) -> Iterator["State"]:
        """The state in a file, made where there is none, for this process alone; without a path a temporary one.

        `whose` has the `estimator` by name, the `checksum` of its file, and how responses are read, `reading`. Raises
        ConfigError for what is no state.
        """
        with opened(path) as file:
            yield cls(file, whose)

    def known(self, path: str) -> FileSums | None:
        """The file at a path if all is known of it, and its size and time are as they were: it is not opened."""
        key = self._file.place(path)
        return None if self.lacking(key) else self.holder(key)

    def holder(self, key: str) -> FileSums | None:
        """The file that has the content of this key: that of the key, or one that begins with it."""
        return self.files.get(key) or next((about for about in self.files.values() if key in about.replaces), None)

    def lacking(self, key: str) -> list[str]:
        """The statistics that are not known of the file with just this content."""
        return self.files[key].unknown if key in self.files else []

    def remember(self, path: str, look: list[int], key: str) -> None:
        """Note that the file, which looked so, holds what `key` names."""
        self._file.remember(path, look, key)

    def begun_by(self, content: Content) -> list[str]:
        """The keys of all that was read before whose whole content this one begins with."""
        begun = [key for key in content.beginnings if key in self.files and key != content.key]
        return sorted({*begun, *(replaced for key in begun for replaced in self.files[key].replaces)})

    @contextmanager
    def writing(self, about: FileSums) -> Iterator["Writer"]:
        """A writer of the frames of a file, which counts when the block has ended."""
        with self._file.transaction():
            yield (writer := Writer(self._file, about.key))
            about.checksums = writer.checksums
            for key in about.replaces:
                self._file.delete(key)
            self._file.put(about.key, asdict(about))
        self.files[about.key] = about
        for key in about.replaces:
            self.files.pop(key, None)
        self.overlap.add(about.key)

    def take_over(self, path: Path) -> list[FileSums]:
        """Add the files of another state of the same estimator and reading, as of a part of the logs; those that count.

        A file all of whose responses are in another counts for nothing. Of sums, single responses cannot be taken off.
        """
        with State.opened(path, self._whose) as part:
            for about in part.files.values():
                self._take_over(about, part)
            return list(filter(None, map(self.holder, part.files)))

    def _take_over(self, about: FileSums, part: "State") -> None:
        """Add a file of another state, unless its responses are there."""
        if self.lacking(about.key) and not about.unknown:
            self.forget(about.key)
        new, others = part.numbers(about.key), self.others(about)
        others.count(new)
        if self.holder(about.key) or others.all_same:
            return
        if others.any_same:
            about.replaces = sorted({*about.replaces, *self.overlap.within(new)})
        about.of_part = True
        sums, responses = part.sums(about.key), part.responses(about.key)
        about.statistics = {name: version for name, version in about.statistics.items() if name in STATISTICS}
        with self.writing(about) as writer:
            for partial in sums:
                writer.write(SUMS, partial.frame())
            for frame in responses:
                writer.write(RESPONSES, frame)
            writer.write(NUMBERS, new)

    def others(self, about: FileSums) -> Others:
        """The responses of all files but for what this one replaces."""
        return self.overlap.others(about.replaces)

    def sums(self, key: str) -> Iterator[Partial]:
        """The sums of a file, in parts of bounded size."""
        known = STATISTICS.keys() - set(self.files[key].unknown)
        return (Partial.of(frame, known) for frame in self._frames(key, SUMS))

    def responses(self, key: str) -> Iterator[pl.DataFrame]:
        """The responses of a file that are estimated: RESPONSE, `by.COLUMN`, `grain` and the prediction `p`."""
        return self._frames(key, RESPONSES)

    def all_sums(self) -> Iterator[Partial]:
        """The sums of all files."""
        return (part for key in self.files for part in self.sums(key))

    def all_responses(self) -> Iterator[pl.DataFrame]:
        """The estimated responses of all files."""
        return (frame for key in self.files for frame in self.responses(key))

    def numbers(self, key: str) -> pl.DataFrame:
        """The numbers of a file's responses, columns `identity.NUMBERS`."""
        return pl.concat([pl.DataFrame(schema=NUMBERS_OF), *self._frames(key, NUMBERS)])

    def forget(self, key: str) -> None:
        """Forget a file, so that it is read again."""
        self.drop(key)
        self.overlap.forget()

    def drop(self, key: str) -> None:
        """Forget a file whose responses count in another one."""
        self.files.pop(key, None)
        self._file.delete(key)

    def _frames(self, key: str, part: str) -> Iterator[pl.DataFrame]:
        """The frames of a part of a file."""
        return self._file.frames(key, part, self.files[key].checksums.get(part))


def _check_same(path: Path | None, then: dict[str, Any], now: dict[str, Any]) -> None:
    """ProvenanceError where a state is of something else than what is asked now."""
    remedy = f"name another file, or delete {path} and give all the logs again"
    if then["checksum"] != now["checksum"]:
        raise ProvenanceError(
            f"{path}: contains results of another estimator, '{then['estimator']}' with checksum "
            f"{then['checksum'][:12]}; this one has {now['checksum'][:12]}. The results cannot be added: "
            f"{remedy}"
        )
    for name, value in now["reading"].items():
        if (before := then["reading"].get(name)) != value:
            raise ProvenanceError(
                f"{path}: was made with {name} = {before}, and this run has {value}. The results cannot be "
                f"added: {remedy}"
            )
