"""A thread that appends records to one compressed file per day, so that no request waits for the disk."""

import atexit
import contextlib
import gzip
import json
import logging
import os
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from entropy_sentinel.frames.errors import InputError

log = logging.getLogger(__name__)

Record = Mapping[str, Any]

QUEUED = 1000  # records; more are dropped, because a service must not run out of memory
TOGETHER = 100  # largest number of records in one write
BETWEEN_WARNINGS_S = 60.0


class LogWriter:
    """Writes records to `folder`, one file per day (UTC); `put` never waits and never fails.

    Each write appends a whole member to a gzip file, so the files can be read while the service runs and after it was
    killed. Each process has its own files: DAY-2.jsonl.gz if DAY.jsonl.gz exists.
    """

    def __init__(
        self, folder: str | Path, to_records: Callable[[Any], Sequence[Record]], ending: str, queued: int = QUEUED
    ) -> None:
        """Prepare to write to `folder/DAY` + `ending`; the thread calls `to_records` for each reply.

        Raises:
            InputError: If the folder cannot be created.
        """
        self._folder, self._to_records, self._ending = Path(folder), to_records, ending
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: the folder for logs cannot be created: {error.strerror}") from None
        self.written, self.dropped = 0, 0
        self._queued, self._warned = queued, -BETWEEN_WARNINGS_S
        self._start()
        # For servers that fork their workers: threads and their locks do not survive a fork.
        os.register_at_fork(after_in_child=self._start)
        atexit.register(self.close)

    def _start(self) -> None:
        self._queue: queue.Queue[Any] = queue.Queue(self._queued)
        self._file, self._day = -1, ""
        threading.Thread(target=self._run, name="entropy-sentinel-capture", daemon=True).start()

    def put(self, reply: Any) -> None:
        """Pass a reply to the thread; drop and count it if too many wait."""
        try:
            self._queue.put_nowait(reply)
        except queue.Full:
            self._drop(1, f"{self._queued} replies are waiting for the disk")

    def close(self, timeout_s: float = 5.0) -> None:
        """Wait until all replies are written, at most `timeout_s` seconds."""
        with contextlib.suppress(queue.Full):
            self._queue.put(written := threading.Event(), timeout=timeout_s)
            written.wait(timeout_s)

    def _run(self) -> None:
        while True:
            replies = [self._queue.get()]
            with contextlib.suppress(queue.Empty):
                while len(replies) < TOGETHER:
                    replies.append(self._queue.get_nowait())
            waiting = [reply for reply in replies if isinstance(reply, threading.Event)]
            self._write([reply for reply in replies if not isinstance(reply, threading.Event)])
            for event in waiting:
                event.set()

    def _write(self, replies: list[Any]) -> None:
        lines = [line for reply in replies for line in self._lines(reply)]
        if not lines:
            return
        try:
            self._append(gzip.compress("".join(lines).encode(), compresslevel=5))
            self.written += len(lines)
        except OSError as error:
            self._drop(len(lines), error.strerror or str(error))

    def _lines(self, reply: Any) -> list[str]:
        try:
            return [json.dumps(record, default=str) + "\n" for record in self._to_records(reply)]
        except Exception as error:  # a bad reply must not prevent writing the next one
            self._drop(1, f"a reply could not be read: {type(error).__name__}")
            return []

    def _append(self, member: bytes) -> None:
        """Append a member to today's file, whole or not at all."""
        if (day := f"{datetime.now(UTC):%Y-%m-%d}") != self._day:
            self._open(day)
        size = os.fstat(self._file).st_size
        try:
            if os.write(self._file, member) != len(member):
                raise OSError(28, "the disk is full")
        except OSError:
            os.ftruncate(self._file, size)
            raise

    def _open(self, day: str) -> None:
        number, name = 1, f"{day}{self._ending}"
        while True:
            try:
                file = os.open(self._folder / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o600)
                break
            except FileExistsError:
                number += 1
                name = f"{day}-{number}{self._ending}"
        if self._file >= 0:
            os.close(self._file)
        self._file, self._day = file, day

    def _drop(self, count: int, why: str) -> None:
        self.dropped += count
        if time.monotonic() - self._warned >= BETWEEN_WARNINGS_S:
            self._warned = time.monotonic()
            log.warning("%s: %d replies have not been written so far (last: %s)", self._folder, self.dropped, why)
