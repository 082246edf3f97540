"""Locks on files, which the kernel gives back when their holder ends, however it ends.

They are `flock`'s: of one open file, so that threads of a process keep each other out too. Between machines they hold
where the file system passes them on, as NFS does since version 4 (and 3 with its lock daemon); one that is mounted with
locks of its own machine alone keeps the processes of one machine apart.
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

# `extra` of a log record on a wait: a job shows such a record on the terminal too, and not only when it is done.
WAITING = {"terminal": True}
# What is said of a file that is locked; and of a file system that knows no locks.
LOCKED = (errno.EACCES, errno.EAGAIN)
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


def take(descriptor: int, path: Path) -> bool:
    """Lock an open file, until it is closed; False where another holds it, or where it is at `path` no longer.

    A file system without locks lets everybody have it, which is said. Raises OSError.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in LOCKED:
            return False
        if error.errno not in NO_LOCKS:
            raise
        _warn(path.parent)
    return is_at(descriptor, path)


def hold(descriptor: int) -> None:
    """Lock an open file that nobody else knows yet, where the file system has locks."""
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_abandoned(path: Path) -> bool:
    """Whether a file exists that a process has held, and the process has ended; False where that cannot be told."""
    try:
        with path.open("r+b") as file:  # NFS locks for one alone only what can be written
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    except OSError:
        return False


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait until nobody else has `path` locked, and hold it while the block runs. The file is made, and stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            _warn(path.parent)
        yield
    finally:
        os.close(descriptor)


def is_at(descriptor: int, path: Path) -> bool:
    """Whether an open file is the one at `path`: it may have been deleted since it was opened."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


@cache
def _warn(folder: Path) -> None:
    log.warning("%s: the file system knows no locks: processes that work here at once do not see each other", folder)
