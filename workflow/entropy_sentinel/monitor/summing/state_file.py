"""The SQLite file of a state: its tables, its lock, and checksums of all content.

    about       JSON: a row for each log file, and a row about the state
    frames      Parquet: the frames of these files, in parts
    told        alerts that somebody was told about
    progress    JSON: the newest responses that earlier runs found
    places      paths, sizes and times of files, so that unchanged files are not opened

Simultaneous runs wait for each other.
"""

import hashlib
import json
import logging
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.frames.database import DatabaseKind, begin
from entropy_sentinel.frames.errors import ConfigError, DamagedFileError, EntropySentinelError
from entropy_sentinel.frames.locks import WAITING

log = logging.getLogger(__name__)

_TABLES = """
CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, content BLOB, sha256 BLOB);
CREATE TABLE IF NOT EXISTS frames (key TEXT, part TEXT, number INTEGER, content BLOB, PRIMARY KEY (key, part, number));
CREATE TABLE IF NOT EXISTS places (path TEXT PRIMARY KEY, size INTEGER, changed_ns INTEGER, key TEXT);
"""
# Later than the other tables, so files of earlier versions lack it.
_TOLD = "CREATE TABLE IF NOT EXISTS told (kind TEXT, slice TEXT, content TEXT, PRIMARY KEY (kind, slice))"
_PROGRESS = "CREATE TABLE IF NOT EXISTS progress (key TEXT PRIMARY KEY, content BLOB, sha256 BLOB)"
STATE = DatabaseKind("a state of the monitor", 0x45536D73, 1, _TABLES)
# The first bytes of every SQLite file, and the position of its application id.
_MAGIC, _APPLICATION = b"SQLite format 3\0", slice(68, 72)
# Time between attempts of a waiting process, seconds.
_POLL_S = 1.0
# The content as bytes, even if damage has changed its type, so that the checksum reveals the damage.
_CONTENT = "CAST(ifnull(content, '') AS BLOB)"


class StateFile:
    """An open state file, for this process only; `path` is null for a temporary file.

    Raises DamagedFileError if the file was damaged or edited, and EntropySentinelError if it cannot be read or written.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path | None) -> None:
        """Take over a connection that has the lock and the tables."""
        self._connection, self.path = connection, path

    def place(self, path: str) -> str:
        """Return the key of the file at a path if its size and time are unchanged; else an empty text."""
        place = "SELECT key FROM places WHERE (path, size, changed_ns) = (?, ?, ?)"
        key: str = next(self.rows(place, _place(path), *on_disk(path)), [""])[0]
        return key

    def remember(self, path: str, look: list[int], key: str) -> None:
        """Record the key, size and time (`look`) of the file at a path."""
        # The record only saves time, so errors are ignored: a state that cannot be written can still be read.
        with suppress(EntropySentinelError):
            self.execute("INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?)", _place(path), *look, key)

    def frames(self, key: str, part: str, checksum: str | None) -> Iterator[pl.DataFrame]:
        """Check the `checksum` of a part of a file, then yield the frames; without a checksum there are none."""
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
        """Return the row of each file by its key, sorted by key."""
        about = {}
        for key, content, digest in self.rows(f"SELECT key, {_CONTENT}, sha256 FROM about ORDER BY key"):
            if digest != _digest(key, content):
                raise _damaged(self.path, "a row does not match its SHA-256")
            about[key] = json.loads(content)
        return about

    def put(self, key: str, about: dict[str, Any]) -> None:
        """Write the row of a file."""
        content = json.dumps(about).encode()
        self.execute("INSERT INTO about VALUES (?, ?, ?)", key, content, _digest(key, content))

    def told(self) -> list[tuple[str, str, str]]:
        """Return the alerts that were told, as `put_told` wrote them."""
        if not list(self.rows("SELECT 1 FROM sqlite_master WHERE name = 'told'")):
            return []
        return list(self.rows("SELECT kind, slice, content FROM told ORDER BY kind, slice"))

    def put_told(self, rows: Iterable[tuple[str, str, str]]) -> None:
        """Replace the alerts that were told, if they differ: the kind, the slice, and the rest as JSON."""
        rows = sorted(rows)
        if rows == self.told():
            return
        with self.transaction():
            self.execute(_TOLD)
            self.execute("DELETE FROM told")
            for row in rows:
                self.execute("INSERT INTO told VALUES (?, ?, ?)", *row)

    def progress(self) -> list[Any] | None:
        """Return what `put_progress` wrote; null in a state that no run has finished with."""
        if not list(self.rows("SELECT 1 FROM sqlite_master WHERE name = 'progress'")):
            return None
        for key, content, digest in self.rows(f"SELECT key, {_CONTENT}, sha256 FROM progress"):
            if digest != _digest(key, content):
                raise _damaged(self.path, "the record of earlier runs does not match its SHA-256")
            progress: list[Any] = json.loads(content)
            return progress
        return None

    def put_progress(self, progress: list[Any]) -> None:
        """Replace the record of earlier runs, if it differs."""
        if progress == self.progress():
            return
        content = json.dumps(progress).encode()
        with self.transaction():
            self.execute(_PROGRESS)
            self.execute("INSERT OR REPLACE INTO progress VALUES ('', ?, ?)", content, _digest("", content))

    def delete(self, key: str) -> None:
        """Delete a file."""
        self.execute("DELETE FROM about WHERE key = ?", key)
        self.execute("DELETE FROM frames WHERE key = ?", key)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit the changes of the block, or none of them if it raises."""
        self.execute("BEGIN")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self.execute("ROLLBACK")
            raise

    def rows(self, statement: str, *values: Any) -> Iterator[Any]:
        """Yield the rows that a statement selects."""
        with _errors(self.path):
            yield from self._connection.execute(statement, values)

    def execute(self, statement: str, *values: Any) -> None:
        """Execute a statement."""
        list(self.rows(statement, *values))


@contextmanager
def opened(path: Path | None) -> Iterator[StateFile]:
    """Open or create a state file (temporary without a path); raise ConfigError if the file is not a state."""
    if path is not None:
        if path.is_dir():
            raise ConfigError(f"state: must be a file, was the folder {path}; name a new file, and give all the logs")
        path.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        with _errors(path):
            # Without a name, SQLite uses a hidden temporary file.
            connection = sqlite3.connect(path or "", timeout=_POLL_S, isolation_level=None)
            stack.enter_context(closing(connection))
            _lock(connection, path)
            begin(connection, path or "", STATE)
        yield StateFile(connection, path)


class Writer:
    """Adds the frames of a file to a state; `checksums` covers all frames of each part."""

    def __init__(self, file: StateFile, key: str) -> None:
        self._file, self._key = file, key
        self._digests: dict[str, hashlib._Hash] = {}
        self._numbers = count()

    def add_frame(self, part: str, frame: pl.DataFrame) -> None:
        """Add a frame unless it is empty."""
        if len(frame):
            frame.write_parquet(content := BytesIO(), compression="zstd")
            row = self._key, part, next(self._numbers), content.getvalue()
            self._file.execute("INSERT INTO frames VALUES (?, ?, ?, ?)", *row)
            self._digests.setdefault(part, hashlib.sha256()).update(content.getvalue())

    def discard(self) -> None:
        """Delete the frames written so far."""
        self._file.delete(self._key)
        self._digests.clear()

    @property
    def checksums(self) -> dict[str, str]:
        """Return the checksum of each part that has a frame."""
        return {part: digest.hexdigest() for part, digest in self._digests.items()}


def is_state(path: str | Path) -> bool:
    """Return whether a file is a state. Do not call it for an open state: closing the file would release the lock."""
    if not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        head = file.read(_APPLICATION.stop)
    return head.startswith(_MAGIC) and head[_APPLICATION] == STATE.application.to_bytes(4, "big")


def on_disk(path: str) -> list[int]:
    """Return the size of a file and the time of its last change."""
    status = Path(path).stat()
    return [status.st_size, status.st_mtime_ns]


def _place(path: str) -> str:
    return str(Path(path).absolute())


def _digest(key: str, content: bytes) -> bytes:
    return hashlib.sha256(f"{key}\0".encode() + content).digest()


def _lock(connection: sqlite3.Connection, path: Path | None) -> None:
    """Take the lock, after waiting for any run that holds it; the kernel releases it when the process ends."""
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
    """Turn SQLite's errors into ours, which say what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise _unusable(path, error) from None


def _unusable(path: Path | None, error: sqlite3.Error) -> EntropySentinelError:
    # If a text is not UTF-8, Python itself raises the error, so it has no SQLite code.
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
