"""Records of a log, one at a time: JSON Lines, server-sent events, JSON documents and arrays, rows of Parquet and CSV.

A record that cannot be read is given as a BadRecord in its place, and the next ones follow.
"""

import codecs
import gzip
import io
import json
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from entropy_sentinel.frames.batches import read_batches
from entropy_sentinel.frames.contract import given
from entropy_sentinel.frames.errors import CutOffError
from entropy_sentinel.sources.logs import csv_table
from entropy_sentinel.sources.logs.catalogue import LONGEST_MB
from entropy_sentinel.sources.logs.memory import Held

STANDARD_INPUT = "-"
# Ends of the names of files that are taken from a folder; `.gz` may follow all but Parquet.
SUFFIXES = (".parquet", ".jsonl", ".ndjson", ".json")

_MB = 1_000_000
_BLOCK = 1 << 20
_WHITE = b" \t\r\n"
_MARK = b"\xef\xbb\xbf"  # with which some programs begin a file in UTF-8
# Lines of a server's own text log, which people try first.
_SERVER_LOG = (b"Generated response ", b"Received request ")


Stream = io.BufferedReader | gzip.GzipFile


class Found(NamedTuple):
    """A record and where it is: file and line, entry or row."""

    where: str
    content: dict[str, Any]


class BadRecord(NamedTuple):
    """What is no record, where it is, and what is wrong with it."""

    where: str
    problem: str


def records(path: str | Held, max_record_mb: float = LONGEST_MB) -> Iterator[Found | BadRecord]:
    """The records of a file, `.gz` too; `-` is standard input. Those that are held in memory stand in a file's place.

    JSON Lines are read line by line, an array entry by entry. A record of more than `max_record_mb` is bad, and no more
    of it than that is held. CutOffError where the file cannot be read or unpacked.
    """
    if isinstance(path, Held):
        yield from (_checked(content, where) for where, content in path.records())
        return
    name = "standard input" if path == STANDARD_INPUT else path
    if Path(path).suffix == ".parquet":
        yield from _rows(path)
        return
    try:
        with sys.stdin.buffer if path == STANDARD_INPUT else open(path, "rb") as raw:
            stream: Stream = io.BufferedReader(raw)  # type: ignore[arg-type] # standard input is no mere BinaryIO
            packed = stream.peek(2)[:2] == b"\x1f\x8b"
            stream = gzip.GzipFile(fileobj=stream) if packed else stream
            reader = _csv if name.removesuffix(".gz").endswith(".csv") else _json
            yield from reader(stream, name, int(max_record_mb * _MB))
    except (OSError, EOFError, zlib.error) as error:
        raise CutOffError(f"{name}: cannot be read to its end: {error}") from None


def _json(stream: Stream, name: str, longest: int) -> Iterator[Found | BadRecord]:
    """An array; or lines; or documents, where the first line is the beginning of one."""
    beginning = stream.peek(1).removeprefix(_MARK).lstrip()
    if beginning.startswith(b"["):
        yield from _documents(b"", stream, name, longest)
        return
    first = stream.readline(longest + 1).removeprefix(_MARK)
    if first.strip().endswith((b"{", b"[", b",")) and len(first) <= longest:
        yield from _documents(first, stream, name, longest)
    else:
        yield from _lines(first, stream, name, longest)


def _lines(first: bytes, stream: Stream, name: str, longest: int) -> Iterator[Found | BadRecord]:
    """JSON Lines and server-sent events: of the latter, `data:` is the record, and all other fields go."""
    number, line = 1, first
    while line:
        content = line.strip()
        if len(line) > longest:
            _skip_line(line, stream)
            yield BadRecord(f"{name}: line {number}", _too_long(longest))
        elif not content:
            number += _skip_blank(stream)
        else:
            if content.startswith(b"data:"):
                content = content.removeprefix(b"data:").strip()
            if content and content != b"[DONE]" and not content.startswith((b":", b"event:", b"id:", b"retry:")):
                yield _record(content, f"{name}: line {number}")
        number, line = number + 1, stream.readline(longest + 1)


def _skip_line(begun: bytes, stream: Stream) -> None:
    """Go to the end of a line, by the block."""
    while begun and not begun.endswith(b"\n"):
        begun = stream.readline(_BLOCK)


def _skip_blank(stream: Stream) -> int:
    """Go over the blank lines that follow, by the block; how many they were."""
    count = 0
    while ahead := stream.peek(1):
        blank = ahead[: len(ahead) - len(ahead.lstrip(_WHITE))]
        whole = blank.rfind(b"\n") + 1
        count += blank.count(b"\n")
        stream.read(whole)
        if whole < len(ahead):
            break
    return count


def _too_long(longest: int) -> str:
    raised = "raise max_record_mb (`features --max-record-mb`) to read it"
    return f"is longer than {longest / _MB:g} MB and left out; {raised}"


def _record(content: bytes, where: str) -> Found | BadRecord:
    if any(mark in content for mark in _SERVER_LOG) and not content.startswith(b"{"):
        return BadRecord(where, "is of a server's text log, which has no log-probabilities: log the replies as JSON")
    try:
        found = json.loads(content.decode())
    except json.JSONDecodeError as error:
        return BadRecord(where, f"must be a JSON object: {error.msg}, column {error.colno}")
    except (ValueError, RecursionError) as error:  # not UTF-8, a number of 5,000 digits; nested too deep
        return BadRecord(where, f"must be a JSON object: {error}")
    return _checked(found, where)


def _checked(found: Any, where: str) -> Found | BadRecord:
    if not isinstance(found, dict):
        return BadRecord(where, f"must be a JSON object, is {type(found).__name__}: {found!r}"[:200])
    return Found(where, found)


def _documents(first: bytes, stream: Stream, name: str, longest: int) -> Iterator[Found | BadRecord]:
    """Objects one after the other, or in an array, over any number of lines; no more than one is held at a time.

    After an error in one there is no telling where the next begins, so the rest of the file is one bad record.
    """
    decoder, text, number = json.JSONDecoder(), codecs.getincrementaldecoder("utf-8")("replace"), 1
    waiting, block = text.decode(first), _BLOCK
    while True:
        waiting = waiting.lstrip(" \t\r\n,\ufeff" if number > 1 else " \t\r\n\ufeff[")
        try:
            found, end = decoder.raw_decode(waiting) if waiting else (None, 0)
        except (ValueError, RecursionError) as error:
            if waiting.startswith("]"):
                return
            if len(waiting) > longest:
                yield BadRecord(f"{name}: entry {number}", f"{_too_long(longest)}, and so is all that follows")
                return
            more = stream.read(min(block, longest + 1))
            if not more:
                yield BadRecord(f"{name}: entry {number}", f"must be a JSON object: {error}")
                return
            waiting, block = waiting + text.decode(more), 2 * block
            continue
        if end:
            yield _checked(found, f"{name}: entry {number}")
            number, waiting, block = number + 1, waiting[end:], _BLOCK
        elif more := stream.read(block):
            waiting = text.decode(more)
        else:
            return


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
            raise CutOffError(f"{name}: line {number} {_too_long(longest)}, and what follows with it")
        yield line


def _rows(path: str) -> Iterator[Found]:
    """Rows of a Parquet file as records."""
    number = 0
    with given(path):
        for batch in read_batches(path):
            for row in batch.iter_rows(named=True):
                yield Found(f"{path}: row {number}", row)
                number += 1
