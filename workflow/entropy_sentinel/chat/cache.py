"""Replies of paid APIs on disk, by the content of their request: nothing is ever paid for twice."""

import gzip
import hashlib
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from entropy_sentinel.chat.claim import Claim
from entropy_sentinel.frames.caches import cache_folder, private_folder
from entropy_sentinel.frames.errors import EntropySentinelError
from entropy_sentinel.frames.files import whole_file

# Part of every key: raised when what is kept of a reply changes.
LAYOUT = 1


class ReplyCache:
    """Folders with one file per request, which any number of jobs and machines of one user may share.

    `replies` holds what can be used again, gzipped JSON. `unusable` holds replies that were paid for and could not be
    used, as plain JSON for a person to read; they are never an answer. Both lie in $ENTROPY_SENTINEL_CACHE, or in
    `.cache/entropy_sentinel` of the working directory. Prompts may be private: files are the user's alone.

    A request's `base_url` is the address of its server, None for the provider's own.
    """

    def __init__(self) -> None:
        self.folder, self.unusable = cache_folder("replies"), cache_folder("unusable")

    def get(self, request: Mapping[str, Any]) -> Any:
        """The reply to a request, None where there is none. A file of another shape or request counts as none."""
        kept = _read(self._path(request))
        return kept["reply"] if kept and kept["request"] == json.loads(json.dumps(request)) else None

    def claim(self, request: Mapping[str, Any], room: int) -> Claim | None:
        """The right to ask for a reply, for this caller alone, with `room` bytes of the disk for what will be kept.

        None where another process or thread has it, or has kept the reply just now: look again. Raises
        EntropySentinelError where no reply could be kept.
        """
        path = self._path(request)
        try:
            for folder in dict.fromkeys((self.folder, path.parent)):
                private_folder(folder)
            claim = Claim(path, request)
            try:
                if claim.taken and self.get(request) is None:
                    claim.reserve(room)
                    return claim
            except BaseException:
                claim.end()
                raise
            claim.leave()
            return None
        except OSError as error:
            raise self._unwritable(path, error) from None

    def put_aside(self, request: Mapping[str, Any], reply: Any, reason: str) -> Path:
        """Keep a reply that cannot be used, with the reason, for a person to read; gives its file."""
        content = json.dumps({"reason": reason, "reply": reply, "request": request}, indent=1)
        path = self.unusable / f"{_name(request)}.json"
        try:
            private_folder(self.unusable)
            with whole_file(path) as partial:
                partial.chmod(0o600)
                partial.write_text(content)
        except OSError as error:
            raise self._unwritable(path, error) from None
        return path

    def _path(self, request: Mapping[str, Any]) -> Path:
        name = _name(request)
        return self.folder / name[:2] / f"{name}.json.gz"

    def _unwritable(self, path: Path, error: OSError) -> EntropySentinelError:
        return EntropySentinelError(
            f"{self.folder.parent}: replies of paid servers are kept here, and {path.name} cannot be written: "
            f"{error.strerror or error}; make room or set ENTROPY_SENTINEL_CACHE to a folder that can be written"
        )


def _read(path: Path) -> dict[str, Any] | None:
    """What is kept in a file; None where it holds no reply."""
    try:
        kept = json.loads(gzip.decompress(path.read_bytes()))
    except (OSError, EOFError, zlib.error, ValueError):
        return None
    return kept if isinstance(kept, dict) and {"request", "reply"} <= kept.keys() else None


def _name(request: Mapping[str, Any]) -> str:
    content = json.dumps([LAYOUT, request], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()
