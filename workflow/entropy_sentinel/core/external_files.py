"""Open external files as bytes. No other module opens them, but Polars and PyArrow open Parquet files themselves."""

import gzip
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from entropy_sentinel.core.errors import InputError

STANDARD_INPUT = "-"
_GZIP_START = b"\x1f\x8b"

Stream = io.BufferedReader | gzip.GzipFile


@contextmanager
def open_stream(path: str | Path) -> Iterator[Stream]:
    """Open a file as bytes; gzip is detected by content and unpacked, and `-` means standard input."""
    with get_standard_input() if str(path) == STANDARD_INPUT else open(path, "rb") as raw:
        stream: Stream = io.BufferedReader(raw)  # type: ignore[arg-type] # standard input is more than a BinaryIO
        packed = stream.peek(2)[:2] == _GZIP_START
        yield gzip.GzipFile(fileobj=stream) if packed else stream


def get_standard_input() -> BinaryIO:
    """The bytes of standard input; raises InputError if it is closed."""
    if sys.stdin is None:
        raise InputError("standard input: is closed; pipe a log into it: ... | entropy-sentinel COMMAND -")
    return sys.stdin.buffer
