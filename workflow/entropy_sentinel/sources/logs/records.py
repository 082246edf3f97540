"""Records of a log, one at a time: JSON Lines, server-sent events, JSON documents and arrays, rows of Parquet and CSV.

A record that cannot be read is given as a BadRecord in its place, and the next ones follow.
"""

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TextIO

from entropy_sentinel.frames.arrow import read_batches
from entropy_sentinel.frames.contract import given
from entropy_sentinel.frames.errors import IncompleteFileError, InputError
from entropy_sentinel.sources.logs import csv_table
from entropy_sentinel.sources.logs.catalogue import LONGEST_MB
from entropy_sentinel.sources.logs.json_records import Stream, json_records
from entropy_sentinel.sources.logs.memory import Held
from entropy_sentinel.sources.logs.record import MB, BadRecord, Found, checked, too_long

STANDARD_INPUT = "-"
# Ends of the names of files that are taken from a folder; `.gz` may follow all but Parquet.
SUFFIXES = (".parquet", ".jsonl", ".ndjson", ".json", ".csv")


def records(path: str | Held, max_record_mb: float = LONGEST_MB) -> Iterator[Found | BadRecord]:
    """The records of a file, `.gz` too; `-` is standard input. Those that are held in memory stand in a file's place.

    JSON Lines are read line by line, an array entry by entry. A record of more than `max_record_mb` is bad, and no more
    of it than that is held. IncompleteFileError where the file cannot be read or unpacked.
    """
    if isinstance(path, Held):
        yield from (checked(content, where) for where, content in path.records())
        return
    name = "standard input" if path == STANDARD_INPUT else path
    if Path(path).suffix == ".parquet":
        yield from _rows(path)
        return
    try:
        with standard_input() if path == STANDARD_INPUT else open(path, "rb") as raw:
            stream: Stream = io.BufferedReader(raw)  # type: ignore[arg-type] # standard input is no mere BinaryIO
            packed = stream.peek(2)[:2] == b"\x1f\x8b"
            stream = gzip.GzipFile(fileobj=stream) if packed else stream
            reader = _csv if name.removesuffix(".gz").endswith(".csv") else json_records
            yield from reader(stream, name, int(max_record_mb * MB))
    except (OSError, EOFError, zlib.error) as error:
        raise IncompleteFileError(f"{name}: cannot be read to its end: {error}") from None


def standard_input() -> BinaryIO:
    """The bytes of standard input; InputError where it is closed."""
    if sys.stdin is None:
        raise InputError("standard input: is closed, must be a log: ... | entropy-sentinel COMMAND -")
    return sys.stdin.buffer


def _csv(stream: Stream, name: str, longest: int) -> Iterator[Found | BadRecord]:
    """Rows of a table in CSV; a line that is too long ends it."""
    with io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline="") as text:
        for number, row in csv_table.rows(_bounded(text, name, longest), name, longest):
            where = f"{name}: row {number}"
            yield BadRecord(where, row) if isinstance(row, str) else Found(where, row)


def _bounded(text: TextIO, name: str, longest: int) -> Iterator[str]:
    number = 0
    while line := text.readline(longest + 1):
        number += 1
        if len(line) > longest:
            raise IncompleteFileError(f"{name}: line {number} {too_long(longest)}, and what follows with it")
        yield line


def _rows(path: str) -> Iterator[Found]:
    """Rows of a Parquet file as records."""
    number = 0
    with given(path):
        for batch in read_batches(path):
            for row in batch.iter_rows(named=True):
                yield Found(f"{path}: row {number}", row)
                number += 1
