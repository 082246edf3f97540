"""Locks on files; the kernel releases them when their holder ends, even by a kill.

They are `flock` locks of one open file, so threads of a process exclude each other too. They work between machines if
the file system forwards them, as NFS does since version 4 (or 3 with its lock daemon). With local locks only, they
exclude processes of one machine.
"""

import errno
import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

log = logging.getLogger(__name__)

# `extra` of a log record about waiting: a job shows such a record on the terminal at once.
WAITING = {"terminal": True}
# Errors for a locked file, and for a file system without locks.
LOCKED_ERRORS = (errno.EACCES, errno.EAGAIN)
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


def try_lock(descriptor: int, path: Path) -> bool:
    """Lock an open file until it is closed; return False if another process has the lock, or the file left `path`.

    On a file system without locks every process gets it, with a warning. Raises OSError.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in LOCKED_ERRORS:
            return False
        if error.errno not in NO_LOCKS:
            raise
        _warn_without_locks(path.parent)
    return is_at(descriptor, path)


def lock_new_file(descriptor: int) -> None:
    """Lock an open file that no other process knows yet, if the file system supports locks."""
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def delete_abandoned(path: Path) -> None:
    """Delete a file whose owner process has ended; keep it if that is unknown."""
    with suppress(OSError), path.open("r+b") as file:  # NFS grants exclusive locks only on files opened for writing
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()


@contextmanager
def hold_lock(path: Path, waiting: str = "") -> Iterator[None]:
    """Wait for the lock on `path` and hold it while the block runs; the file is created and stays.

    `waiting` is logged if another process has the lock.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            try:
                # With something to say before it waits, the first try does not wait.
                fcntl.flock(descriptor, fcntl.LOCK_EX | (fcntl.LOCK_NB if waiting else 0))
            except BlockingIOError:
                log.warning("%s", waiting, extra=WAITING)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            _warn_without_locks(path.parent)
        yield
    finally:
        os.close(descriptor)


def is_at(descriptor: int, path: Path) -> bool:
    """Whether an open file is still the one at `path`; it may have been deleted."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


@cache
def _warn_without_locks(folder: Path) -> None:
    log.warning("%s: this file system does not support locks; do not run two processes on it at the same time", folder)
