"""Named pipes and process substitution, such as `features <(zcat log.gz)`: they can be read only once.

Commands look at a file's beginning, compare it with others and read it, so a pipe is copied to a temporary file first.
"""

import atexit
import os
import select
import shutil
import stat
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from entropy_sentinel.core.errors import URLS

# The copies that this process made, by device and inode of the pipe.
_COPIES: dict[tuple[int, int], Path] = {}
# How long a pipe that was read is waited for, in seconds, because somebody may write to it again.
_WAIT_S = 0.2


def is_pipe(path: str | Path) -> bool:
    """Whether a path is a named pipe or a descriptor of one."""
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def copy_pipe(path: str | Path) -> Path:
    """The path of a copy of what a pipe has, or of the earlier copy if nobody has written to it since."""
    status = os.stat(path)
    pipe_id = (status.st_dev, status.st_ino)
    earlier = _COPIES.get(pipe_id)
    # A pipe that was read may have no writer, and then opening it would wait for one.
    descriptor = os.open(path, os.O_RDONLY | (os.O_NONBLOCK if earlier else 0))
    with open(descriptor, "rb") as pipe:
        if earlier is not None:
            ready, _, _ = select.select([pipe], [], [], _WAIT_S)
            os.set_blocking(descriptor, True)
            if not ready or not pipe.peek(1):
                return earlier
        name = Path(path).name
        if name.isdecimal() or not Path(name).suffix:  # /dev/fd/63
            name = f"log{_guess_suffix(pipe.peek(1))}"
        copy = Path(tempfile.mkdtemp(dir=_make_folder())) / name
        with copy.open("wb") as target:
            shutil.copyfileobj(pipe, target)
    _COPIES[pipe_id] = copy
    URLS[str(copy)] = str(path)
    return copy


def _guess_suffix(begin: bytes) -> str:
    """The suffix of a file that begins with these bytes: Parquet, JSON or events with JSON, CSV."""
    if begin.startswith(b"PAR1"):
        return ".parquet"
    head = begin.lstrip().partition(b"\n")[0]
    if b"{" in head or head.startswith(b"["):
        return ".jsonl"
    return ".csv" if b"," in head else ""


@cache
def _make_folder() -> str:
    """A folder of this user alone, which is deleted when the process ends."""
    folder = tempfile.mkdtemp(prefix="entropy-sentinel-")
    process = os.getpid()

    def delete() -> None:
        if os.getpid() == process:  # not in a fork
            with suppress(OSError):
                shutil.rmtree(folder)

    atexit.register(delete)
    return folder
