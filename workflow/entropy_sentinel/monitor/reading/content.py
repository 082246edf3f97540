"""A file by its content: what it holds, unpacked, and what it begins with."""

import gzip
import hashlib
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from io import BufferedReader

_BLOCK = 1 << 20
_PACKED = b"\x1f\x8b"


@dataclass(frozen=True)
class Content:
    """SHA-256 and bytes of a file's content, unpacked; the SHA-256 of its first bytes, for some numbers of them."""

    key: str
    n_bytes: int
    beginnings: tuple[str, ...]


def content(path: str, sizes: Iterable[int] = ()) -> Content:
    """What a file holds; `sizes` are the numbers of bytes whose SHA-256 is wanted, where it has so many.

    Of a packed file that is incomplete or damaged it is what can be unpacked.
    """
    with open(path, "rb") as raw:
        packed = raw.peek(2)[:2] == _PACKED
        return _digests(gzip.GzipFile(fileobj=raw) if packed else raw, sorted({size for size in sizes if size}))


def _digests(stream: BufferedReader | gzip.GzipFile, sizes: list[int]) -> Content:
    digest, n_bytes, beginnings = hashlib.sha256(), 0, []
    while block := _block(stream, min(_BLOCK, sizes[0] - n_bytes) if sizes else _BLOCK):
        digest.update(block)
        n_bytes += len(block)
        if sizes and n_bytes == sizes[0]:
            beginnings.append(digest.hexdigest())
            sizes.pop(0)
    return Content(digest.hexdigest(), n_bytes, tuple(beginnings))


def _block(stream: BufferedReader | gzip.GzipFile, size: int) -> bytes:
    """The next bytes, `size` at most; none at the end, or where the rest cannot be unpacked."""
    try:
        return stream.read1(size)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        return b""
