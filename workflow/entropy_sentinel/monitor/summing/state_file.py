"""The SQLite file of a state: its tables, its lock, and checksums of all content.

    about       JSON: a row for each log file, and a row about the state
    frames      Parquet: the frames of these files, in parts
    records     JSON: the alerts that were reported, and the newest responses that earlier runs found
    told        the alerts that an earlier version reported, without a checksum
    places      paths, sizes and times of files, so that unchanged files are not opened

Simultaneous runs wait for each other.
"""

import hashlib
import json
import logging
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.core.database import DatabaseKind, check_size, prepare_database
from entropy_sentinel.core.errors import ConfigError, DamagedFileError, EntropySentinelError
from entropy_sentinel.core.file_locks import WAITING

log = logging.getLogger(__name__)

_TABLES = """
CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, content BLOB, sha256 BLOB);
CREATE TABLE IF NOT EXISTS frames (key TEXT, part TEXT, number INTEGER, content BLOB, PRIMARY KEY (key, part, number));
CREATE TABLE IF NOT EXISTS places (path TEXT PRIMARY KEY, size INTEGER, changed_ns INTEGER, key TEXT);
"""
# Later than the other tables, so files of earlier versions lack it.
_RECORDS = "CREATE TABLE IF NOT EXISTS records (key TEXT PRIMARY KEY, content BLOB, sha256 BLOB)"
# The keys of the records. All alerts are in one row, so that its checksum covers how many there are.
ALERTS, PROGRESS = "alerts", "progress"
STATE = DatabaseKind("a state of the monitor", 0x45536D73, 1, _TABLES)
# The first bytes of every SQLite file, and the position of its application id.
_MAGIC, _APPLICATION = b"SQLite format 3\0", slice(68, 72)
# SQLite's codes for content that this package did not write; a table or column that is missing is an SQLITE_ERROR.
_DAMAGE = (
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_CONSTRAINT,
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_TOOBIG,
)
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

    def find_key(self, path: str) -> str:
        """The key of the file at a path if its size and time are unchanged; else an empty text."""
        statement, file_stat = "SELECT key FROM places WHERE (path, size, changed_ns) = (?, ?, ?)", read_file_stat(path)
        (row,) = next(self.rows(statement, _resolve_path(path), *file_stat), [None])
        key, _, digest = str(row).partition(" ")
        # The record only saves time, so one that was damaged, or that an earlier version wrote, is ignored.
        return key if digest == _digest_place(path, file_stat, key) else ""

    def remember(self, path: str, file_stat: list[int], key: str) -> None:
        """Record the key, size and time (`file_stat`) of the file at a path."""
        row = f"{key} {_digest_place(path, file_stat, key)}"
        # The record only saves time, so errors are ignored: a state that cannot be written can still be read.
        with suppress(EntropySentinelError):
            self.execute("INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?)", _resolve_path(path), *file_stat, row)

    def frames(self, key: str, part: str, checksum: str | None) -> Iterator[pl.DataFrame]:
        """Check the `checksum` of a part of a file, then yield the frames; without a checksum there are none."""
        if checksum is None:
            return
        contents = f"SELECT {_CONTENT} FROM frames WHERE key = ? AND part = ? ORDER BY number"
        digest = hashlib.sha256()
        for (content,) in self.rows(contents, key, part):
            digest.update(content)
        if digest.hexdigest() != checksum:
            raise _make_damage_error(self.path, f"{part} of {key[:12]} do not match their SHA-256")
        for (content,) in self.rows(contents, key, part):
            try:
                yield pl.read_parquet(content)
            except (pl.exceptions.PolarsError, OSError, ValueError):
                raise self.make_damage_error(f"{part} of {key[:12]} are not a table") from None

    def read_file_rows(self) -> dict[str, Any]:
        """The row of each file by its key, sorted by key."""
        return self._read_rows("about")

    def make_damage_error(self, why: str) -> DamagedFileError:
        """The error about content that is not as it was written, and what to do."""
        return _make_damage_error(self.path, why)

    def _read_rows(self, table: str) -> dict[str, Any]:
        """The content of each row of a table by its key, sorted by key; check its checksum."""
        rows = {}
        for key, content, digest in self.rows(f"SELECT key, {_CONTENT}, sha256 FROM {table} ORDER BY key"):
            if digest != _digest_row(key, content):
                raise self.make_damage_error("a row does not match its SHA-256")
            try:
                rows[key] = json.loads(content)
            except (ValueError, RecursionError):
                raise self.make_damage_error("a row is not JSON") from None
        return rows

    def put_row(self, key: str, about: dict[str, Any]) -> None:
        """Write the row of a file."""
        content = json.dumps(about).encode()
        self.execute("INSERT INTO about VALUES (?, ?, ?)", key, content, _digest_row(key, content))

    def read_record(self, name: str) -> Any:
        """The content of a record, null without one; the caller checks its form."""
        return self._read_rows("records").get(name) if self._has_table("records") else None

    def put_record(self, name: str, record: Any) -> None:
        """Replace a record, if it differs."""
        if record == self.read_record(name):
            return
        content = json.dumps(record).encode()
        self.execute(_RECORDS)
        self.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?)", name, content, _digest_row(name, content))

    def reported_alerts(self) -> Any:
        """The alerts that were reported, as `put_alerts` wrote them; the caller checks their form."""
        alerts = self.read_record(ALERTS)
        if alerts is None and self._has_table("told"):
            return list(map(list, self.rows("SELECT kind, slice, content FROM told ORDER BY kind, slice")))
        return [] if alerts is None else alerts

    def put_alerts(self, alerts: Iterable[Sequence[str]]) -> None:
        """Replace the alerts that were reported, if they differ; each has the kind, the slice, and the rest as JSON."""
        rows, has_earlier_table = sorted(map(list, alerts)), self._has_table("told")
        if rows == self.reported_alerts() and not has_earlier_table:
            return
        with self.transaction():
            self.put_record(ALERTS, rows)
            if has_earlier_table:
                self.execute("DROP TABLE told")

    def _has_table(self, name: str) -> bool:
        return bool(list(self.rows("SELECT 1 FROM sqlite_master WHERE name = ?", name)))

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
        with _translate_errors(self.path):
            yield from self._connection.execute(statement, values)

    def execute(self, statement: str, *values: Any) -> None:
        """Execute a statement."""
        list(self.rows(statement, *values))


@contextmanager
def open_state_file(path: Path | None) -> Iterator[StateFile]:
    """Open or create a state file (temporary without a path); raise ConfigError if the file is not a state."""
    if path is not None:
        if path.is_dir():
            raise ConfigError(f"state: must be a file, got the folder {path}; name a new file, and give all the logs")
        path.parent.mkdir(parents=True, exist_ok=True)
        check_size(path, STATE)
    with ExitStack() as stack:
        with _translate_errors(path):
            # Without a name, SQLite uses a hidden temporary file.
            connection = sqlite3.connect(path or "", timeout=_POLL_S, isolation_level=None)
            stack.enter_context(closing(connection))
            _acquire_lock(connection, path)
            prepare_database(connection, path or "", STATE)
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
        """The checksum of each part that has a frame."""
        return {part: digest.hexdigest() for part, digest in self._digests.items()}


def is_state(path: str | Path) -> bool:
    """Whether a file is a state. Do not call it for an open state: closing the file would release the lock."""
    if not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        head = file.read(_APPLICATION.stop)
    return head.startswith(_MAGIC) and head[_APPLICATION] == STATE.application.to_bytes(4, "big")


def read_file_stat(path: str) -> list[int]:
    """The size of a file and the time of its last change."""
    status = Path(path).stat()
    return [status.st_size, status.st_mtime_ns]


def _resolve_path(path: str) -> str:
    return str(Path(path).absolute())


def _digest_place(path: str, file_stat: Sequence[int], key: str) -> str:
    """The SHA-256 of a row of `places`."""
    return hashlib.sha256("\0".join(map(str, (_resolve_path(path), *file_stat, key))).encode()).hexdigest()


def _digest_row(key: str, content: bytes) -> bytes:
    """The SHA-256 of a row of `about` or `records`."""
    return hashlib.sha256(f"{key}\0".encode() + content).digest()


def _acquire_lock(connection: sqlite3.Connection, path: Path | None) -> None:
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
def _translate_errors(path: Path | None) -> Iterator[None]:
    """Turn SQLite's errors into ours, which say what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translate_error(path, error) from None


def _translate_error(path: Path | None, error: sqlite3.Error) -> EntropySentinelError:
    """The error for users of a failure of SQLite: another file, a damaged one, or one that cannot be written."""
    # If a text is not UTF-8, Python itself raises the error, so it has no SQLite code.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    if code == sqlite3.SQLITE_NOTADB:
        return ConfigError(f"state: must be {STATE.name} or a new file, got {path}; name another file")
    if code in _DAMAGE:
        return _make_damage_error(path, str(error))
    return EntropySentinelError(
        f"{path}: the state cannot be used: {error}. Check that the file and its folder are writable and that the "
        "disk has room. The earlier content is unchanged"
    )


def _make_damage_error(path: Path | None, why: str) -> DamagedFileError:
    return DamagedFileError(f"{path}: is damaged ({why}); delete it and give all the logs to rebuild it")
