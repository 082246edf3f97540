"""Who asks for a reply: one process or thread at a time, with room on the disk for what it pays for."""

import errno
import gzip
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from entropy_sentinel.frames.errors import EntropySentinelError
from entropy_sentinel.frames.files import whole_file
from entropy_sentinel.frames.locks import is_at, take

# What `posix_fallocate` says of a file system that promises no room.
_NO_PROMISES = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)

# In place of the number of a file, no number of one.
_CLOSED = -1


class Claim:
    """The file of a reply to come, locked: who holds it asks, all others wait for what it keeps.

    The lock goes with the process. A file without a reply, as a killed process leaves it, counts as none.
    """

    def __init__(self, path: Path, request: Mapping[str, Any]) -> None:
        """Open the file, and lock it where nobody else has: then it is `taken`."""
        self._path, self._request = path, request
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            self.taken = take(self._file, path)
        except OSError:
            self.leave()
            raise

    def reserve(self, n_bytes: int) -> None:
        """Have the disk promise room for a reply, on file systems that do. Raises OSError where there is none."""
        if not hasattr(os, "posix_fallocate"):
            return
        try:
            os.posix_fallocate(self._file, 0, n_bytes)
        except OSError as error:
            if error.errno not in _NO_PROMISES:
                raise

    def keep(self, reply: Any) -> None:
        """Write the reply, onto the disk itself, and end: a reader sees the whole of it or none.

        Raises EntropySentinelError where it cannot be written.
        """
        kept = {"request": self._request, "reply": reply}
        content = gzip.compress(json.dumps(kept).encode(), mtime=0)
        try:
            if is_at(self._file, self._path):
                self._write(content)
            else:  # somebody has cleared the cache away
                with whole_file(self._path) as partial:
                    partial.chmod(0o600)
                    partial.write_bytes(content)
        except OSError as error:
            self.end()
            raise EntropySentinelError(
                f"{self._path}: the reply of a paid server cannot be kept: {error.strerror or error}; make room, or "
                "set ENTROPY_SENTINEL_CACHE to a folder that can be written"
            ) from None
        self.leave()

    def end(self) -> None:
        """Give the right back without a reply; nothing where it has ended."""
        if self._file == _CLOSED:
            return
        with suppress(OSError):
            if is_at(self._file, self._path):
                self._path.unlink()
        self.leave()

    def leave(self) -> None:
        """Close the file, and leave it as it is."""
        os.close(self._file)
        self._file = _CLOSED

    def _write(self, content: bytes) -> None:
        left = memoryview(content)
        while left:
            left = left[os.pwrite(self._file, left, len(content) - len(left)) :]
        os.truncate(self._file, len(content))
        os.fsync(self._file)
