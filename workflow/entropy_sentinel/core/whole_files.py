"""Files that appear whole or not at all, and checks of the files that a command writes."""

import errno
import glob
import os
import re
import shutil
import stat
import sys
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.file_locks import delete_abandoned, lock_new_file
from entropy_sentinel.core.object_stores import send_file
from entropy_sentinel.core.urls import make_file_name, parse_url

# The process's own streams: opening a redirected file by one of these names would overwrite it from its start.
_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}
_PARTIAL = ".partial"
_FULL = ("No space left on device", "Disk quota exceeded")
# Polars' message for any failure to write a Parquet file's end, and the free bytes below which a disk counts as full.
_WRITE_FAILED, _LITTLE_SPACE = "Invalid thrift: transport error", 1 << 20


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Yield a path to write to; it becomes `path` in one step when the block ends, and is deleted if the block fails.

    A reader sees the whole file or none, even after a power cut; several machines may write the same file at once. If
    `path` is a link, its target is written. A replaced file keeps its permissions. A device, a pipe, `/dev/stdout` or a
    URL gets the content when the block has ended. Leftovers of a killed process for the same file are deleted.

    Raises OSError before the block if the path is a folder, a disk, or a file that must not be written; and with the
    path's name if the disk is full. Raises InputError if the path cannot be that of a file.
    """
    if (url := parse_url(path)) is not None:
        with TemporaryDirectory() as folder:
            yield (partial := Path(folder) / make_file_name(path))
            send_file(partial, url)
        return
    check_name(path)
    path = Path(path)
    before = _check_writable(path)
    if is_stream(path):
        with TemporaryDirectory() as folder:
            yield (partial := Path(folder) / path.name)
            _copy_to_stream(partial, path)
        return
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    for leftover in target.parent.glob(f".{glob.escape(target.name)}.*{_PARTIAL}"):
        delete_abandoned(leftover)
    partial = target.with_name(f".{target.name}.{uuid.uuid4().hex}{_PARTIAL}")
    try:
        with _create_empty_file(partial):
            yield partial
            with partial.open("rb") as written:
                os.fsync(written.fileno())
            if before is not None:
                _copy_permissions(partial, before)
            os.replace(partial, target)
    except Exception as error:
        if _is_full(error, partial):
            raise OSError(errno.ENOSPC, "no space left on the disk; nothing was written", str(path)) from None
        raise


def check_name(path: str | Path) -> None:
    """Raise InputError for a path with the character NUL, which no file system takes."""
    if "\0" in str(path):
        raise InputError(f"{path}: must be the name of a file, has the character NUL")


def write_whole(path: str | Path, text: str) -> None:
    """Write a text to a file in one step, in UTF-8; see `whole_file`."""
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8")


def is_stream(path: str | Path) -> bool:
    """Whether a path is a device, a pipe or a standard stream, which has no content to replace."""
    status = _check_writable(Path(path))
    is_special = status is not None and not stat.S_ISREG(status.st_mode)
    return is_special or _find_descriptor(path) is not None


@contextmanager
def _create_empty_file(path: Path) -> Iterator[None]:
    """Create an empty file, locked during the block; a file without its lock is abandoned."""
    # It gets its name when it is locked, because a partial file without a lock looks abandoned.
    new = _make_unlocked_path(path)
    descriptor = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        lock_new_file(descriptor)
        new.rename(path)
        yield
    finally:
        new.unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _make_unlocked_path(partial: Path) -> Path:
    return partial.with_suffix(".new")


def _check_writable(path: Path) -> os.stat_result | None:
    """The status of an existing file, None if there is none; raises OSError if it cannot be written to."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise NotADirectoryError(errno.ENOTDIR, "is inside a file, must be in a folder", str(path)) from None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder, must be a file", str(path))
    if stat.S_ISBLK(status.st_mode):
        raise OSError(errno.EINVAL, "is a disk, must be a file", str(path))
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "is not writable", str(path))
    return status


def _is_full(error: Exception, written: Path) -> bool:
    """Whether the disk was full; Polars and PyArrow state this only in words, or only that writing failed."""
    if getattr(error, "filename", None) not in (None, str(written), str(_make_unlocked_path(written))):
        return False  # an error about another file, maybe on another disk
    failed = _WRITE_FAILED in str(error) and shutil.disk_usage(written.parent).free < _LITTLE_SPACE
    return failed or any(words in str(error) for words in _FULL)


def _find_descriptor(path: str | Path) -> int | None:
    """The file descriptor of one of the process's own streams, such as /dev/stdout; None for another path."""
    numbered = re.fullmatch(r"/(?:dev|proc/self)/fd/(\d+)", str(path))
    return int(numbered[1]) if numbered else _STREAMS.get(str(path))


def _copy_to_stream(content: Path, stream: Path) -> None:
    """Write the content of a file to a device, a pipe or a standard stream, after what was printed so far."""
    sys.stdout.flush()
    descriptor = _find_descriptor(stream)
    with content.open("rb") as source, open(stream if descriptor is None else os.dup(descriptor), "wb") as target:
        shutil.copyfileobj(source, target)


def _copy_permissions(path: Path, source: os.stat_result) -> None:
    """Give a file the owner, where that is allowed, and the permissions of another."""
    now = path.stat()
    if (now.st_uid, now.st_gid) != (source.st_uid, source.st_gid):
        # Only an administrator can change a file's owner, and Windows has no such owners.
        with suppress(PermissionError, AttributeError):
            os.chown(path, source.st_uid, source.st_gid)
    path.chmod(stat.S_IMODE(source.st_mode))


# The path that means standard input.
_STANDARD_INPUT = "-"


def check_outputs(outputs: Mapping[str, str | Path | None], inputs: Iterable[str | Path]) -> None:
    """Raise InputError if an output is also an input, lies in an input folder, or is requested twice.

    `outputs` are paths by the names of their options, null if not requested; `inputs` are files, and folders
    that are read as a whole, such as a monitor's state. Files are compared by identity, not by name, so links are
    recognised. Call it before anything is read; `core.whole_files.whole_file` writes later. Raises OSError for a path
    that cannot be written to, such as a folder.
    """
    # Inputs, and options of outputs, by each identity of their files.
    read: dict[tuple[int, int] | Path, str | Path] = {}
    for source in inputs:
        read.update(dict.fromkeys(_identify_file(source), source))
    by_identity: dict[tuple[int, int] | Path, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        check_name(path)
        if is_stream(path):
            continue
        for identity in _identify_file(path):
            if identity in read:
                same = read[identity]
                also = "" if str(path) == str(same) else f", as {same}"
                raise InputError(f"{option}: {path} is an input{also}; name another file to write")
            if first_option := by_identity.get(identity):
                raise InputError(f"{option}: {path} is also the file of {first_option}; name another file")
            by_identity[identity] = option
        for above in Path(os.path.realpath(path)).parents:
            if above in read:
                raise InputError(f"{option}: {path} is in {read[above]}, whose files are inputs; name a file elsewhere")


def _identify_file(path: str | Path) -> Iterator[tuple[int, int] | Path]:
    """Yield the identities of a file: its path, and its device and inode if it exists."""
    if str(path) != _STANDARD_INPUT:
        yield Path(os.path.realpath(path))
    try:
        status = os.fstat(0) if str(path) == _STANDARD_INPUT else os.stat(path)
    except OSError:
        return
    yield status.st_dev, status.st_ino
