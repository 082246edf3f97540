"""The SQLite file of a state: its tables, its lock, and checksums of all that it holds.

    about       a row for each file of a log, and one about the state: JSON
    frames      the frames of these files, in parts: Parquet
    places      where files lay, their sizes and times: a file that looks the same is not opened

Two runs at once wait for each other.
"""

import hashlib
import json
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.frames.database import Kind, begin
from entropy_sentinel.frames.errors import ConfigError, DamagedFileError, EntropySentinelError
from entropy_sentinel.frames.locks import WAITING

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


class StateFile:
    """An open file of a state, for this process alone; `path` is null for a temporary one.

    Raises DamagedFileError where the file is not as it was written, and EntropySentinelError where it cannot be read or
    written.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path | None) -> None:
        """Take over a connection that has the lock and the tables."""
        self._connection, self.path = connection, path

    def place(self, path: str) -> str:
        """The key of the file at a path, if its size and time are as they were; else empty."""
        place = "SELECT key FROM places WHERE (path, size, changed_ns) = (?, ?, ?)"
        key: str = next(self.rows(place, _place(path), *on_disk(path)), [""])[0]
        return key

    def remember(self, path: str, look: list[int], key: str) -> None:
        """Note that the file, which looked so, holds what `key` names."""
        # It only saves time: a state that cannot be written is still read.
        with suppress(EntropySentinelError):
            self.execute("INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?)", _place(path), *look, key)

    def frames(self, key: str, part: str, checksum: str | None) -> Iterator[pl.DataFrame]:
        """The frames of a part of a file, after a look at their `checksum`; none without one."""
        if checksum is None:
            return
        contents = f"SELECT {_CONTENT} FROM frames WHERE key = ? AND part = ? ORDER BY number"
        digest = hashlib.sha256()
        for (content,) in self.rows(contents, key, part):
            digest.update(content)
        if digest.hexdigest() != checksum:
            raise _damaged(self.path, f"{part} of {key[:12]} do not match their SHA-256")
        for (content,) in self.rows(contents, key, part):
            yield pl.read_parquet(content)

    def about(self) -> dict[str, Any]:
        """What is known of each file, by its key, in the order of these."""
        rows = list(self.rows(f"SELECT key, {_CONTENT}, sha256 FROM about ORDER BY key"))
        if any(digest != _digest(key, content) for key, content, digest in rows):
            raise _damaged(self.path, "a row does not match its SHA-256")
        return {key: json.loads(content) for key, content, _ in rows}

    def put(self, key: str, about: dict[str, Any]) -> None:
        """Write down what is known of a file."""
        content = json.dumps(about).encode()
        self.execute("INSERT INTO about VALUES (?, ?, ?)", key, content, _digest(key, content))

    def delete(self, key: str) -> None:
        """Forget a file."""
        self.execute("DELETE FROM about WHERE key = ?", key)
        self.execute("DELETE FROM frames WHERE key = ?", key)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What the block writes counts when it has ended; where it fails, nothing does."""
        self.execute("BEGIN")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self.execute("ROLLBACK")
            raise

    def rows(self, statement: str, *values: Any) -> Iterator[Any]:
        """The rows that a statement gives."""
        with _errors(self.path):
            yield from self._connection.execute(statement, values)

    def execute(self, statement: str, *values: Any) -> None:
        """Do what a statement says."""
        list(self.rows(statement, *values))


@contextmanager
def opened(path: Path | None) -> Iterator[StateFile]:
    """The file of a state, made where there is none; without a path a temporary one. ConfigError for no state."""
    if path is not None:
        if path.is_dir():
            raise ConfigError(f"state: must be a file, was the folder {path}; name a new file, and give all the logs")
        path.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        with _errors(path):
            # Without a name, SQLite makes a file that nobody sees and that goes with the process.
            connection = sqlite3.connect(path or "", timeout=_POLL_S, isolation_level=None)
            stack.enter_context(closing(connection))
            _lock(connection, path)
            begin(connection, path or "", STATE)
        yield StateFile(connection, path)


class Writer:
    """Adds frames to a file of a state; `checksums` are those of its parts, each of all frames."""

    def __init__(self, file: StateFile, key: str) -> None:
        self._file, self._key = file, key
        self._digests: dict[str, hashlib._Hash] = {}
        self._numbers = count()

    def write(self, part: str, frame: pl.DataFrame) -> None:
        """Add a frame; an empty one adds nothing."""
        if len(frame):
            frame.write_parquet(content := BytesIO(), compression="zstd")
            row = self._key, part, next(self._numbers), content.getvalue()
            self._file.execute("INSERT INTO frames VALUES (?, ?, ?, ?)", *row)
            self._digests.setdefault(part, hashlib.sha256()).update(content.getvalue())

    def discard(self) -> None:
        """Discard what was written."""
        self._file.delete(self._key)
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
            log.warning("%s: waiting for another run that uses it", path, extra=WAITING)
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
        f"{path}: the state cannot be used: {error}. Check that the file and its folder are writable and that the "
        "disk has room. The earlier content is unchanged"
    )


def _damaged(path: Path | None, why: str) -> DamagedFileError:
    return DamagedFileError(f"{path}: is damaged ({why}); delete it and give all the logs to rebuild it")
