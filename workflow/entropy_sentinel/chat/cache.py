"""Replies of paid APIs on disk, by the content of their request: nothing is ever paid for twice."""

import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from entropy_sentinel.frames.files import whole_file

# Part of every key: raised when what is kept of a reply changes.
LAYOUT = 1


class ReplyCache:
    """A folder with one gzipped JSON file per request, which any number of jobs and machines may share.

    The folder is `replies` in $ENTROPY_SENTINEL_CACHE, or in `.cache/entropy_sentinel` of the working directory.
    """

    def __init__(self) -> None:
        root = os.environ.get("ENTROPY_SENTINEL_CACHE") or Path(".cache", "entropy_sentinel")
        self.folder = Path(root) / "replies"

    def get(self, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """The reply to a request, None where there is none. A file that cannot be read counts as none."""
        try:
            return json.loads(gzip.decompress(self._path(request).read_bytes()))["reply"]
        except (OSError, EOFError, zlib.error, ValueError, KeyError):
            return None

    def put(self, request: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
        """Keep a reply. Its file appears whole or not at all, on network file systems too."""
        content = gzip.compress(json.dumps({"request": request, "reply": reply}).encode(), mtime=0)
        with whole_file(self._path(request)) as partial:
            partial.write_bytes(content)

    def _path(self, request: Mapping[str, Any]) -> Path:
        content = json.dumps([LAYOUT, request], sort_keys=True)
        name = hashlib.sha256(content.encode()).hexdigest()
        return self.folder / name[:2] / f"{name}.json.gz"
