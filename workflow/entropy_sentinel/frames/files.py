"""Files that appear whole or not at all."""

import errno
import glob
import os
import re
import shutil
import stat
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from entropy_sentinel.frames.locks import hold, is_abandoned

# The process's own streams: opened by these names, a file behind one would be written from its beginning.
_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}
_PARTIAL = ".partial"
_FULL = ("No space left on device", "Disk quota exceeded")
# Polars' words for any failure to write a Parquet file's end, and the bytes with which a disk is as good as full.
_FAILED, _LITTLE = "Invalid thrift: transport error", 1 << 20


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """A path to write to, which becomes `path` in one step where the block ends, and goes where it fails.

    A reader sees the whole file or none, after a power cut too; several machines may write the same file at once. A
    link stays a link, and the file that it leads to is written; permissions of a file that is replaced stay. A device,
    a pipe or `/dev/stdout` gets the content when the block has ended. What a killed process has left of the same file
    is deleted.

    Raises OSError where the path is a folder, a disk, or a file that must not be written, before the block; and with
    the path's name where the disk is full.
    """
    path = Path(path)
    before = _status(path)
    if is_stream(path):
        with TemporaryDirectory() as folder:
            yield (partial := Path(folder) / path.name)
            _send(partial, path)
        return
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    _delete_abandoned(target)
    partial = target.with_name(f".{target.name}.{uuid.uuid4().hex}{_PARTIAL}")
    try:
        with _held(partial):
            yield partial
            with partial.open("rb") as written:
                os.fsync(written.fileno())
            if before is not None:
                _take_permissions(partial, before)
            os.replace(partial, target)
    except Exception as error:
        if _is_full(error, partial):
            raise OSError(errno.ENOSPC, "no space left on the disk, nothing of it was written", str(path)) from None
        raise


def write_whole(path: str | Path, text: str) -> None:
    """Write a text to a file in one step, in UTF-8; see `whole_file`."""
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8")


def is_stream(path: str | Path) -> bool:
    """Whether a path is a device, a pipe, or one of the process's own streams: what has no content to replace."""
    found = _status(Path(path))
    return _descriptor(path) is not None or not (found is None or stat.S_ISREG(found.st_mode))


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """An empty file, locked as long as this process writes it: once the lock is gone, nobody will go on with it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        hold(descriptor)
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _delete_abandoned(target: Path) -> None:
    for path in target.parent.glob(f".{glob.escape(target.name)}.*{_PARTIAL}"):
        if is_abandoned(path):
            path.unlink(missing_ok=True)


def _status(path: Path) -> os.stat_result | None:
    """What there is, None for nothing; OSError for what cannot be written to."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise NotADirectoryError(errno.ENOTDIR, "lies in a file, must lie in a folder", str(path)) from None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder, must be a file", str(path))
    if stat.S_ISBLK(found.st_mode):
        raise OSError(errno.EINVAL, "is a disk, must be a file", str(path))
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "must not be written", str(path))
    return found


def _is_full(error: Exception, written: Path) -> bool:
    """Whether the disk was full; Polars and PyArrow say so in words alone, or that writing failed and no more."""
    if getattr(error, "filename", None) not in (None, str(written)):
        return False
    failed = _FAILED in str(error) and shutil.disk_usage(written.parent).free < _LITTLE
    return failed or any(said in str(error) for said in _FULL)


def _descriptor(path: str | Path) -> int | None:
    """The number of one of the process's own streams."""
    numbered = re.fullmatch(r"/(?:dev|proc/self)/fd/(\d+)", str(path))
    return int(numbered[1]) if numbered else _STREAMS.get(str(path))


def _send(content: Path, stream: Path) -> None:
    sys.stdout.flush()
    own = _descriptor(stream)
    with content.open("rb") as source, open(stream if own is None else os.dup(own), "wb") as target:
        shutil.copyfileobj(source, target)


def _take_permissions(path: Path, of: os.stat_result) -> None:
    """Give a file the owner, where that is allowed, and the permissions of another."""
    now = path.stat()
    if (now.st_uid, now.st_gid) != (of.st_uid, of.st_gid):
        # Only an administrator gives files away, and Windows knows no such owners.
        with suppress(PermissionError, AttributeError):
            os.chown(path, of.st_uid, of.st_gid)
    path.chmod(stat.S_IMODE(of.st_mode))
