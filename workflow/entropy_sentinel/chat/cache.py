"""Replies of paid APIs on disk, by the content of their request: nothing is ever paid for twice."""

import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from entropy_sentinel.frames.errors import EntropySentinelError
from entropy_sentinel.frames.files import whole_file

# Part of every key: raised when what is kept of a reply changes.
LAYOUT = 1


class ReplyCache:
    """Folders with one file per request, which any number of jobs and machines of one user may share.

    `replies` holds what can be used again, gzipped JSON. `unusable` holds replies that were paid for and could not be
    used, as plain JSON for a person to read; they are never an answer. Both lie in $ENTROPY_SENTINEL_CACHE, or in
    `.cache/entropy_sentinel` of the working directory. Prompts may be private: files are the user's alone.
    """

    def __init__(self) -> None:
        root = Path(os.environ.get("ENTROPY_SENTINEL_CACHE") or Path(".cache", "entropy_sentinel"))
        self.folder, self.unusable = root / "replies", root / "unusable"

    def get(self, request: Mapping[str, Any]) -> Any:
        """The reply to a request, None where there is none. A file of another shape or request counts as none."""
        try:
            kept = json.loads(gzip.decompress(self._path(request).read_bytes()))
            return kept["reply"] if kept["request"] == json.loads(json.dumps(request)) else None
        except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError):
            return None

    def put(self, request: Mapping[str, Any], reply: Any) -> None:
        """Keep a reply. Its file appears whole or not at all, on network file systems too.

        Raises EntropySentinelError where it cannot be written.
        """
        content = gzip.compress(json.dumps({"request": request, "reply": reply}).encode(), mtime=0)
        self._write(self._path(request), content)

    def put_aside(self, request: Mapping[str, Any], reply: Any, reason: str) -> Path:
        """Keep a reply that cannot be used, with the reason, for a person to read; gives its file."""
        content = json.dumps({"reason": reason, "reply": reply, "request": request}, indent=1)
        path = self.unusable / f"{self._name(request)}.json"
        self._write(path, content.encode())
        return path

    def check_writable(self) -> None:
        """Raise EntropySentinelError where no reply could be kept; asked before anything is paid for."""
        probe = self.folder / f".probe-{os.getpid()}"
        self._write(probe, b"")
        probe.unlink(missing_ok=True)

    def _write(self, path: Path, content: bytes) -> None:
        try:
            for folder in dict.fromkeys((self.folder, path.parent)):
                _private_folder(folder)
            with whole_file(path) as partial:
                partial.touch(mode=0o600)
                partial.write_bytes(content)
        except OSError as error:
            raise EntropySentinelError(
                f"{self.folder.parent}: replies of paid servers are kept here, and {path.name} cannot be written: "
                f"{error.strerror or error}; make room or set ENTROPY_SENTINEL_CACHE to a folder that can be written"
            ) from None

    def _path(self, request: Mapping[str, Any]) -> Path:
        name = self._name(request)
        return self.folder / name[:2] / f"{name}.json.gz"

    @staticmethod
    def _name(request: Mapping[str, Any]) -> str:
        content = json.dumps([LAYOUT, request], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()


def _private_folder(folder: Path) -> None:
    """Make a folder that only its user can look into, or make it so; one of another user stays as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    if folder.stat().st_mode & 0o077:
        with suppress(PermissionError):
            folder.chmod(0o700)
