"""Replies of paid APIs on disk, by the content of their request, so that reruns cost nothing.

One process or thread at a time requests a reply, after reserving space for it on the disk. docs/design/0011 says
why this is not the package diskcache.
"""

import errno
import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from entropy_sentinel.core.cache_folders import cache_folder, make_private_folder
from entropy_sentinel.core.errors import EntropySentinelError
from entropy_sentinel.core.file_locks import is_at, try_lock
from entropy_sentinel.core.whole_files import whole_file

# Errors of `posix_fallocate` on file systems that cannot reserve space.
_NO_RESERVATION = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)

# The descriptor value of a closed file.
_CLOSED_FILE = -1


class ReplyClaim:
    """The locked file of a future reply: its holder sends the request, and all others wait for the reply.

    The lock ends with the process. A file without a reply, as a killed process leaves it, is ignored.
    """

    def __init__(self, path: Path, request: Mapping[str, Any]) -> None:
        """Open the file and try to lock it; `is_locked` says whether that succeeded."""
        self._path, self._request = path, request
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            self.is_locked = try_lock(self._file, path)
        except OSError:
            self.close()
            raise

    def reserve(self, n_bytes: int) -> None:
        """Reserve space for a reply, on file systems that can. Raises OSError if the disk is full."""
        if not hasattr(os, "posix_fallocate"):
            return
        try:
            os.posix_fallocate(self._file, 0, n_bytes)
        except OSError as error:
            if error.errno not in _NO_RESERVATION:
                raise

    def keep(self, reply: Any) -> None:
        """Write the reply to the disk and release the lock; a reader sees the whole reply or nothing.

        Raises EntropySentinelError if it cannot be written.
        """
        kept = {"request": self._request, "reply": reply}
        content = gzip.compress(json.dumps(kept).encode(), mtime=0)
        try:
            if is_at(self._file, self._path):
                self._write(content)
            else:  # the cache was deleted meanwhile
                with whole_file(self._path) as partial:
                    partial.chmod(0o600)
                    partial.write_bytes(content)
        except OSError as error:
            self.release()
            raise EntropySentinelError(
                f"{self._path}: the reply of a paid server cannot be kept: {error.strerror or error}; make room, or "
                "set ENTROPY_SENTINEL_CACHE to a folder that can be written"
            ) from None
        self.close()

    def release(self) -> None:
        """Release the lock without a reply; does nothing if it is released already."""
        if self._file == _CLOSED_FILE:
            return
        with suppress(OSError):
            if is_at(self._file, self._path):
                self._path.unlink()
        self.close()

    def close(self) -> None:
        """Close the file without changing it."""
        os.close(self._file)
        self._file = _CLOSED_FILE

    def _write(self, content: bytes) -> None:
        """Write the content into the open file, which may be longer because space was reserved."""
        view = memoryview(content)
        position = 0
        while position < len(content):
            position += os.pwrite(self._file, view[position:], position)
        os.truncate(self._file, len(content))
        os.fsync(self._file)


# Replies that are read to find one of a model; more would keep the start of a run waiting.
MAX_READ = 200

# Part of every key. Raise it when the stored content of a reply changes.
LAYOUT = 1


class ReplyCache:
    """Folders with one file per request, which any number of jobs and machines of one user may share.

    `replies` holds what can be used again, gzipped JSON. `unusable` holds replies that were paid for and could not be
    used, as plain JSON for people to read; they never count as an answer. Both are in $ENTROPY_SENTINEL_CACHE, or in
    `.cache/entropy_sentinel` of the working directory. Prompts may be private, so only the user can read the files.

    A request's `base_url` is the address of its server, None for the provider's own.
    """

    def __init__(self) -> None:
        self.folder, self.unusable = cache_folder("replies"), cache_folder("unusable")

    def get(self, request: Mapping[str, Any]) -> Any:
        """The reply to a request; None without one. A file of another form or request is ignored."""
        kept = _read_file(self._path(request))
        if kept is None or kept["request"] != json.loads(json.dumps(request)):
            return None
        return kept["reply"]

    def has_replies_of(self, model: str) -> bool:
        """Whether a reply is of LiteLLM's `model`; at most MAX_READ replies are read."""
        for path in islice(self.folder.glob("*/*.json.gz"), MAX_READ):
            kept = _read_file(path)
            if kept is not None and isinstance(kept["request"], dict) and kept["request"].get("model") == model:
                return True
        return False

    def claim(self, request: Mapping[str, Any], n_bytes: int) -> ReplyClaim | None:
        """The exclusive right to request a reply, with `n_bytes` of disk space reserved for it.

        None if another process or thread has the right, or has just stored the reply: look again. Raises
        EntropySentinelError if no reply could be stored.
        """
        path = self._path(request)
        try:
            for folder in dict.fromkeys((self.folder, path.parent)):
                make_private_folder(folder)
            claim = ReplyClaim(path, request)
            try:
                if claim.is_locked and self.get(request) is None:
                    claim.reserve(n_bytes)
                    return claim
            except BaseException:
                claim.release()
                raise
            claim.close()
            return None
        except OSError as error:
            raise self._make_write_error(path, error) from None

    def store_unusable(self, request: Mapping[str, Any], reply: Any, reason: str) -> Path:
        """Store an unusable reply with the reason, for people to read; return its file."""
        content = json.dumps({"reason": reason, "reply": reply, "request": request}, indent=1)
        path = self.unusable / f"{_hash_request(request)}.json"
        try:
            make_private_folder(self.unusable)
            with whole_file(path) as partial:
                partial.chmod(0o600)
                partial.write_text(content)
        except OSError as error:
            raise self._make_write_error(path, error) from None
        return path

    def _path(self, request: Mapping[str, Any]) -> Path:
        """The file of the reply to a request."""
        name = _hash_request(request)
        return self.folder / name[:2] / f"{name}.json.gz"

    def _make_write_error(self, path: Path, error: OSError) -> EntropySentinelError:
        return EntropySentinelError(
            f"{self.folder.parent}: replies of paid servers are kept here, and {path.name} cannot be written: "
            f"{error.strerror or error}; make room or set ENTROPY_SENTINEL_CACHE to a folder that can be written"
        )


def _read_file(path: Path) -> dict[str, Any] | None:
    """The content of a file, a dict with `request` and `reply`; None if it has no reply."""
    try:
        kept = json.loads(gzip.decompress(path.read_bytes()))
    except (OSError, EOFError, zlib.error, ValueError):
        return None
    return kept if isinstance(kept, dict) and {"request", "reply"} <= kept.keys() else None


def _hash_request(request: Mapping[str, Any]) -> str:
    """The name of a request's files: a hash of its content."""
    content = json.dumps([LAYOUT, request], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()
