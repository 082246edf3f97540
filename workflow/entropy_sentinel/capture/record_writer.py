"""A thread that appends records to one compressed file per day, so that no request waits for the disk."""

import atexit
import contextlib
import gc
import gzip
import logging
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from entropy_sentinel.capture.quick_json import format_any_line
from entropy_sentinel.capture.record_process import HelperProcess
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.urls import parse_url
from entropy_sentinel.features.feature_files import CAPTURED

log = logging.getLogger(__name__)

# A record, or its line in the file.
Record = Mapping[str, Any] | bytes
# Makes the records of one reply. If that fails, it is called with `reply_only=True`.
MakeRecords = Callable[..., Sequence[Record]]

QUEUED_BYTES = 256 << 20  # of waiting replies; more are dropped, because a service must not run out of memory
LEVEL = 1  # of compression: level 5 takes three times as long for files that are a tenth smaller
MAX_BATCH = 100  # largest number of replies that are taken from the queue at once
_PART_BYTES = 10 << 20  # of replies in one write
BETWEEN_WARNINGS_S = 60.0
PATIENCE_S = 10.0  # how long `close` waits while nothing is written


class LogWriter:
    """Writes records to `folder`, one file per day (UTC); `put` never waits and never fails.

    A process has one writer for a folder and kind of file. Each write appends a whole member to a gzip file, so the
    files can be read while the service runs and after it was killed. Each process has its own files: DAY-2.jsonl.gz if
    DAY.jsonl.gz exists. A file that was moved or deleted is followed by a new one.
    """

    _shared_writers: dict[tuple[str, str], "LogWriter"] = {}
    _sharing_lock = threading.Lock()

    @classmethod
    def get_shared(cls, folder: str | Path, ending: str) -> "LogWriter":
        """This process's writer of `folder/DAY` + `ending`.

        Raises:
            InputError: If the folder is a URL or cannot be created.
        """
        if not isinstance(folder, str | Path) or "\0" in str(folder):
            raise InputError(f"the folder for logs must be a path, got {folder!r:.100}")
        if parse_url(folder) is not None:
            raise InputError(f"{parse_url(folder)}: the folder for logs must be local; copy its files to the store")
        key = (os.path.realpath(folder), ending)
        with cls._sharing_lock:
            if key not in cls._shared_writers:
                cls._shared_writers[key] = cls(folder, ending)
            return cls._shared_writers[key]

    def __init__(self, folder: str | Path, ending: str, queued_bytes: int = QUEUED_BYTES) -> None:
        """Prepare to write to `folder/DAY` + `ending`.

        Raises:
            InputError: If the folder cannot be created.
        """
        self._folder = Path(folder)
        self._ending = ending
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: the folder for logs cannot be created: {error.strerror}") from None
        # Counts: what was written, what was not, and what was written without its columns and request.
        self.written, self.dropped, self.reduced = 0, 0, 0
        self._max_bytes = queued_bytes
        self._last_warning_s = -BETWEEN_WARNINGS_S
        self._helper: HelperProcess | None = None
        self._start()
        # For servers that fork their workers: threads and their locks do not survive a fork.
        os.register_at_fork(after_in_child=self._start_in_child)
        atexit.register(self.close)
        _write_at_termination()

    def _start(self) -> None:
        """Start the thread, with an empty queue and no open file (-1)."""
        self._queue: queue.SimpleQueue[tuple[MakeRecords, int]] = queue.SimpleQueue()
        # A signal's handler may interrupt `put` and then call `close`.
        self._lock = threading.RLock()
        self._waiting, self._bytes = 0, 0  # replies in the queue, and their size
        self._file = -1
        self._day = ""
        self._path = self._folder
        threading.Thread(target=self._run, name="entropy-sentinel-capture", daemon=True).start()

    def _start_in_child(self) -> None:
        """Start anew in a forked process: it has its own thread, counts and file."""
        self.written, self.dropped, self.reduced = 0, 0, 0
        if self._file >= 0:
            os.close(self._file)
        # Polars' thread pool does not survive fork(), and only keep='features' uses Polars.
        self._helper = HelperProcess() if self._ending == CAPTURED else None
        self._start()

    def put(self, make: MakeRecords, size: int) -> None:
        """Pass a reply of about `size` bytes to the thread; drop and count it if too much waits.

        The thread calls `make`, which returns the reply's records. In a forked process a helper process calls it, so it
        must be picklable.
        """
        with self._lock:
            full = self._waiting > 0 and self._bytes + size > self._max_bytes
            if not full:
                self._waiting, self._bytes = self._waiting + 1, self._bytes + size
        if full:
            self._drop(1, f"{self._bytes >> 20} MB are waiting for the disk")
        else:
            self._queue.put((make, size))

    def close(self, patience_s: float = PATIENCE_S) -> None:
        """Wait until all replies are written; give up, with a warning, if none is written for `patience_s` seconds."""
        waiting = self._waiting
        last_change_s = time.monotonic()
        while self._waiting and time.monotonic() - last_change_s < patience_s:
            time.sleep(0.005)
            if self._waiting != waiting:
                waiting = self._waiting
                last_change_s = time.monotonic()
        if self._waiting:
            log.warning("%s: %d replies have not been written, because the disk does not answer", self._folder, waiting)

    def _run(self) -> None:
        """Write what waits, many replies at a time, for as long as the process lives."""
        while True:
            replies = [self._queue.get()]
            with contextlib.suppress(queue.Empty):
                while len(replies) < MAX_BATCH:
                    replies.append(self._queue.get_nowait())
            for part in _split_by_size(replies):
                makes, sizes = zip(*part, strict=True)
                self._write(makes)
                with self._lock:
                    self._waiting -= len(part)
                    self._bytes -= sum(sizes)

    def _write(self, makes: Sequence[MakeRecords]) -> None:
        """Append the records of replies to today's file; each of `makes` returns those of one reply."""
        lines: list[bytes] = []
        for make in makes:
            lines += self._try_make_lines(make)
        if not lines:
            return
        try:
            self._append(gzip.compress(b"".join(lines), compresslevel=LEVEL))
            self.written += len(lines)
        except OSError as error:
            self._drop(len(lines), error.strerror or str(error))

    def _try_make_lines(self, make: MakeRecords) -> list[bytes]:
        """The lines of a reply's records, without columns and request if these cannot be written; else none."""
        try:
            return self._make_lines(make)
        except Exception as error:
            try:
                lines = self._make_lines(partial(make, reply_only=True))
            except Exception:  # a bad reply must not prevent writing the next one
                self._drop(1, f"a reply could not be read: {type(error).__name__}")
                return []
            self.reduced += 1
            if self._may_warn():
                message = "%s: %d replies have been written without their columns and requests so far (last: %s)"
                log.warning(message, self._folder, self.reduced, type(error).__name__)
            return lines

    def _make_lines(self, make: MakeRecords) -> list[bytes]:
        """The lines of one reply; a forked process makes them in its helper, where Polars works."""
        with _pause_garbage_collection():
            records = self._helper.call(make) if self._helper else make()
            lines = [_format_record(record) for record in records]
            # Freed before the collector runs again, so that it does not search them.
            del records
        return lines

    def _append(self, member: bytes) -> None:
        """Append a member of a gzip file to today's file, whole or not at all."""
        if (day := f"{datetime.now(UTC):%Y-%m-%d}") != self._day or not self._is_file_in_place():
            self._open(day)
        size = os.fstat(self._file).st_size
        try:
            if os.write(self._file, member) != len(member):
                raise OSError(28, "the disk is full")
        except OSError:
            os.ftruncate(self._file, size)
            raise

    def _is_file_in_place(self) -> bool:
        """Whether the open file still has its name; a rotated one may be compressed or deleted by now."""
        with contextlib.suppress(OSError):
            return os.path.samestat(os.stat(self._path), os.fstat(self._file))
        return False

    def _open(self, day: str) -> None:
        """Open a new file of this day."""
        self._folder.mkdir(parents=True, exist_ok=True)
        number = 1
        name = f"{day}{self._ending}"
        while True:
            try:
                file = os.open(self._folder / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o600)
                break
            except FileExistsError:
                number += 1
                name = f"{day}-{number}{self._ending}"
        if self._file >= 0:
            os.close(self._file)
        self._file = file
        self._day = day
        self._path = self._folder / name

    def _drop(self, count: int, why: str) -> None:
        """Count records that are not written, and say so unless the last warning is recent."""
        self.dropped += count
        if self._may_warn():
            log.warning("%s: %d replies have not been written so far (last: %s)", self._folder, self.dropped, why)

    def _may_warn(self) -> bool:
        """Whether the last warning is long enough ago; if so, the time of this one is kept."""
        if time.monotonic() - self._last_warning_s < BETWEEN_WARNINGS_S:
            return False
        self._last_warning_s = time.monotonic()
        return True


def _format_record(record: Record) -> bytes:
    """The line of a record, which may be one already."""
    return record if isinstance(record, bytes) else format_any_line(record)


@contextlib.contextmanager
def _pause_garbage_collection() -> Iterator[None]:
    """Pause Python's cycle collector for a few milliseconds.

    A reply has thousands of tokens, each a dict that lives only that long. Their number alone would make the collector
    search the whole service's memory for cycles: three quarters of the cost of a reply (benchmarks/bench_capture.py).
    """
    paused = gc.isenabled()
    if paused:
        gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()


def _split_by_size(replies: list[tuple[MakeRecords, int]]) -> list[list[tuple[MakeRecords, int]]]:
    """Replies in parts of about ten megabytes, so that waiting ones are soon on the disk.

    A reply is the function that makes its records, and its size in bytes.
    """
    parts: list[list[tuple[MakeRecords, int]]] = []
    n_bytes = 0
    for make, size in replies:
        n_bytes += size
        if not parts or n_bytes > _PART_BYTES:
            parts.append([])
            n_bytes = size
        parts[-1].append((make, size))
    return parts


def _write_at_termination() -> None:
    """Let SIGTERM write what waits before it ends the process, unless the service handles that signal itself."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _handle_termination)


def _handle_termination(number: int, _: FrameType | None) -> None:
    """Write what waits, then end as the signal ends a process without a handler."""
    for writer in list(LogWriter._shared_writers.values()):
        writer.close()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
