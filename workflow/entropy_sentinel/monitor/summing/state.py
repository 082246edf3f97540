"""A state: an SQLite file with the sums of every file that was read, so that a later run reads only what is new.

    about       a row for each file that counts: what was seen in it, and its checksums; one, without a key, for the
                state: the estimator's checksum, and how responses were read
    frames      of a file, in parts: SUMS by slice and smallest window; RESPONSES, their ids and predictions, to which
                labels may come later; NUMBERS, by which a response is known in another file (`identity`)
    places      where files lay, their sizes and times: a file that looks the same is not opened

A file's key is the SHA-256 of its content, unpacked: a file that was moved, copied or packed is known again. A file
that begins with the whole content of an earlier one, as a log that has grown, is read whole and replaces it; the
replaced key is kept, for its content may lie elsewhere too. Responses that another file has count once. A file is added
in one transaction, so a killed run leaves nothing that counts; two runs at once wait for each other. What it holds
carries checksums. The row of a file
names the statistics that its sums have, with their versions (`monitor.catalogue`): where one is not known, the file is
read again if it is given, and else what is known of it counts.
"""

import hashlib
import json
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.frames.database import Kind, begin
from entropy_sentinel.frames.errors import ConfigError, DamagedFileError, EntropySentinelError, ProvenanceError
from entropy_sentinel.frames.locks import WAITING
from entropy_sentinel.monitor.catalogue import STATISTICS, VERSIONS
from entropy_sentinel.monitor.reading.identity import NUMBERS as NUMBERS_OF
from entropy_sentinel.monitor.reading.identity import Content, Others, Overlap
from entropy_sentinel.monitor.summing.sums import Partial

log = logging.getLogger(__name__)

_TABLES = """
CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, content BLOB, sha256 BLOB);
CREATE TABLE IF NOT EXISTS frames (key TEXT, part TEXT, number INTEGER, content BLOB, PRIMARY KEY (key, part, number));
CREATE TABLE IF NOT EXISTS places (path TEXT PRIMARY KEY, size INTEGER, changed_ns INTEGER, key TEXT);
"""
STATE = Kind("a state of the monitor", 0x45536D73, 1, _TABLES)
# The first bytes of every SQLite file, and where its application id stands.
_MAGIC, _APPLICATION = b"SQLite format 3\0", slice(68, 72)
# A waiting process looks this often whether the other one has ended, seconds.
_POLL_S = 1.0
# Whatever a changed byte has made of a content, it comes as bytes, which then have another checksum.
_CONTENT = "CAST(ifnull(content, '') AS BLOB)"

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

    def __init__(self, connection: sqlite3.Connection, path: Path | None, whose: dict[str, Any]) -> None:
        """Read what a file holds, or begin there. ProvenanceError where it holds sums of something else."""
        self._connection, self._path, self._whose = connection, path, whose
        about = self._about()
        if _STATE in about:
            _check_same(path, about.pop(_STATE), whose)
        else:
            self._put(_STATE, whose)
        self.files = {key: FileSums(**content) for key, content in about.items()}
        self.overlap = Overlap(self.files, self.numbers)

    @classmethod
    @contextmanager
    def opened(cls, path: Path | None, whose: dict[str, Any]) -> Iterator["State"]:
        """The state in a file, made where there is none, for this process alone; without a path a temporary one.

        `whose` has the `estimator` by name, the `checksum` of its file, and how responses are read, `reading`. Raises
        ConfigError for what is no state.
        """
        if path is not None:
            if path.is_dir():
                raise ConfigError(
                    f"state: must be a file, was the folder {path}; name a new file, and give all the logs"
                )
            path.parent.mkdir(parents=True, exist_ok=True)
        # Without a name, SQLite makes a file that nobody sees and that goes with the process.
        with ExitStack() as stack:
            with _errors(path):
                connection = sqlite3.connect(path or "", timeout=_POLL_S, isolation_level=None)
                stack.enter_context(closing(connection))
                _lock(connection, path)
                begin(connection, path or "", STATE)
            yield cls(connection, path, whose)

    def known(self, path: str) -> FileSums | None:
        """The file at a path if all is known of it, and its size and time are as they were: it is not opened."""
        place = "SELECT key FROM places WHERE (path, size, changed_ns) = (?, ?, ?)"
        key = next(self._rows(place, _place(path), *on_disk(path)), [""])[0]
        return None if self.lacking(key) else self.holder(key)

    def holder(self, key: str) -> FileSums | None:
        """The file that has the content of this key: that of the key, or one that begins with it."""
        return self.files.get(key) or next((about for about in self.files.values() if key in about.replaces), None)

    def lacking(self, key: str) -> list[str]:
        """The statistics that are not known of the file with just this content."""
        return self.files[key].unknown if key in self.files else []

    def remember(self, path: str, look: list[int], key: str) -> None:
        """Note that the file, which looked so, holds what `key` names."""
        # It only saves time: a state that cannot be written is still read.
        with suppress(EntropySentinelError):
            self._execute("INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?)", _place(path), *look, key)

    def begun_by(self, content: Content) -> list[str]:
        """The keys of all that was read before whose whole content this one begins with."""
        begun = [key for key in content.beginnings if key in self.files and key != content.key]
        return sorted({*begun, *(replaced for key in begun for replaced in self.files[key].replaces)})

    @contextmanager
    def writing(self, about: FileSums) -> Iterator["Writer"]:
        """A writer of the frames of a file, which counts when the block has ended."""
        with self._transaction():
            yield (writer := Writer(self, about.key))
            about.checksums = writer.checksums
            for key in about.replaces:
                self._delete(key)
            self._put(about.key, asdict(about))
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
        """Forget a file, to read it again."""
        self.drop(key)
        self.overlap.forget()

    def drop(self, key: str) -> None:
        """Forget a file whose responses count in another one."""
        self.files.pop(key, None)
        self._delete(key)

    def _frames(self, key: str, part: str) -> Iterator[pl.DataFrame]:
        """The frames of a part of a file, after a look at their checksum."""
        checksum = self.files[key].checksums.get(part)
        if checksum is None:
            return
        contents = f"SELECT {_CONTENT} FROM frames WHERE key = ? AND part = ? ORDER BY number"
        digest = hashlib.sha256()
        for (content,) in self._rows(contents, key, part):
            digest.update(content)
        if digest.hexdigest() != checksum:
            raise _damaged(self._path, f"{part} of {key[:12]} have another SHA-256 than they were written with")
        for (content,) in self._rows(contents, key, part):
            yield pl.read_parquet(content)

    def _about(self) -> dict[str, Any]:
        """What is known of each file, by its key, in the order of these."""
        rows = list(self._rows(f"SELECT key, {_CONTENT}, sha256 FROM about ORDER BY key"))
        if any(digest != _digest(key, content) for key, content, digest in rows):
            raise _damaged(self._path, "a row has another SHA-256 than it was written with")
        return {key: json.loads(content) for key, content, _ in rows}

    def _put(self, key: str, about: dict[str, Any]) -> None:
        """Write down what is known of a file."""
        content = json.dumps(about).encode()
        self._execute("INSERT INTO about VALUES (?, ?, ?)", key, content, _digest(key, content))

    def _delete(self, key: str) -> None:
        """Forget a file."""
        self._execute("DELETE FROM about WHERE key = ?", key)
        self._execute("DELETE FROM frames WHERE key = ?", key)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """What the block writes counts when it has ended; where it fails, nothing does."""
        self._execute("BEGIN")
        try:
            yield
            self._execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._execute("ROLLBACK")
            raise

    def _rows(self, statement: str, *values: Any) -> Iterator[Any]:
        """The rows that a statement gives."""
        with _errors(self._path):
            yield from self._connection.execute(statement, values)

    def _execute(self, statement: str, *values: Any) -> None:
        """Do what a statement says."""
        list(self._rows(statement, *values))


class Writer:
    """Adds frames to a file of a state; `checksums` are those of its parts, each of all frames."""

    def __init__(self, state: State, key: str) -> None:
        self._state, self._key = state, key
        self._digests: dict[str, hashlib._Hash] = {}
        self._numbers = count()

    def write(self, part: str, frame: pl.DataFrame) -> None:
        """Add a frame; an empty one adds nothing."""
        if len(frame):
            frame.write_parquet(content := BytesIO(), compression="zstd")
            row = self._key, part, next(self._numbers), content.getvalue()
            self._state._execute("INSERT INTO frames VALUES (?, ?, ?, ?)", *row)
            self._digests.setdefault(part, hashlib.sha256()).update(content.getvalue())

    def discard(self) -> None:
        """Forget what was written."""
        self._state._delete(self._key)
        self._digests.clear()

    @property
    def checksums(self) -> dict[str, str]:
        """By part, of those that have a frame."""
        return {part: digest.hexdigest() for part, digest in self._digests.items()}


def is_state(path: str | Path) -> bool:
    """Whether a file is a state. Not for one that this process has open: closing it again would give up the lock."""
    if not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        head = file.read(_APPLICATION.stop)
    return head.startswith(_MAGIC) and head[_APPLICATION] == STATE.application.to_bytes(4, "big")


def on_disk(path: str) -> list[int]:
    """What a look at a file tells: its size and the time of its last change."""
    status = Path(path).stat()
    return [status.st_size, status.st_mtime_ns]


def _place(path: str) -> str:
    return str(Path(path).absolute())


def _check_same(path: Path | None, then: dict[str, Any], now: dict[str, Any]) -> None:
    """ProvenanceError where a state is of something else than what is asked now."""
    remedy = f"name another file, or delete {path} and give all the logs again"
    if then["checksum"] != now["checksum"]:
        raise ProvenanceError(
            f"{path}: holds what the estimator '{then['estimator']}' of checksum {then['checksum'][:12]} "
            f"found, and this one is {now['checksum'][:12]}: the two do not add up; {remedy}"
        )
    for name, value in now["reading"].items():
        if (before := then["reading"].get(name)) != value:
            raise ProvenanceError(
                f"{path}: was made with {name} = {before!r}, and this run has {value!r}: the two do not add up; "
                f"{remedy}"
            )


def _digest(key: str, content: bytes) -> bytes:
    return hashlib.sha256(f"{key}\0".encode() + content).digest()


def _lock(connection: sqlite3.Connection, path: Path | None) -> None:
    """Take the lock, which the kernel gives back when the process ends; wait for another that has it."""
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    waiting = False
    while True:
        try:
            connection.executescript("BEGIN EXCLUSIVE; COMMIT")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
        if not waiting:
            log.warning("%s: waiting for another run, which still works on it", path, extra=WAITING)
            waiting = True


@contextmanager
def _errors(path: Path | None) -> Iterator[None]:
    """SQLite's errors as ours, which say what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise _unusable(path, error) from None


def _unusable(path: Path | None, error: sqlite3.Error) -> EntropySentinelError:
    # Of a text that is not UTF-8 Python says so itself, without SQLite's code.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    if code == sqlite3.SQLITE_NOTADB:
        return ConfigError(f"state: must be {STATE.name} or a new file, was {path}; name another file")
    if code == sqlite3.SQLITE_CORRUPT:
        return _damaged(path, str(error))
    return EntropySentinelError(
        f"{path}: the state cannot be used: {error}; the file and its folder must be writable, and the disk must have "
        "room. What the state held is still there"
    )


def _damaged(path: Path | None, why: str) -> DamagedFileError:
    return DamagedFileError(f"{path}: is damaged ({why}); delete it and give all the logs: it is made again from them")
