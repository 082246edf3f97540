"""Records of a log, one at a time: JSON Lines, server-sent events, JSON documents and arrays, rows of Parquet and CSV.

A record that cannot be read is given as a BadRecord in its place, and the next ones follow. No more than one record is
held at a time.
"""

import codecs
import csv
import io
import json
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from entropy_sentinel.frames.arrow import read_batches
from entropy_sentinel.frames.contract import given
from entropy_sentinel.frames.errors import IncompleteFileError, InputError
from entropy_sentinel.sources.logs.memory import Held
from entropy_sentinel.sources.logs.settings import LONGEST_MB, container
from entropy_sentinel.sources.logs.table import TRACES
from entropy_sentinel.sources.opening import STANDARD_INPUT, Stream, opened

MB = 1_000_000
_BLOCK = 1 << 20
_WHITE = b" \t\r\n"
_MARK = b"\xef\xbb\xbf"  # with which some programs begin a file in UTF-8
# Lines of a server's own text log, which people try first.
_SERVER_LOG = (b"Generated response ", b"Received request ")
# Cells that are JSON, where they are filled in, and those that are whole numbers.
_JSON_CELLS = ("token_logprobs", "top_logprobs", "tokens", "token_ids", "metadata")
_WHOLE_CELLS = ("sample", "prompt_tokens", "seed")
_LONGEST_HEAD = 1 << 20
_DELIMITERS = (",", ";", "\t")
# Ends of the names of files that are taken from a folder; `.gz` may follow all but Parquet.
SUFFIXES = (".parquet", ".jsonl", ".ndjson", ".json", ".csv", ".eval")


class Found(NamedTuple):
    """A record and where it is: file and line, entry or row."""

    where: str
    content: dict[str, Any]


class BadRecord(NamedTuple):
    """What is no record, where it is, and what is wrong with it."""

    where: str
    problem: str


def checked(content: Any, where: str) -> Found | BadRecord:
    if not isinstance(content, dict):
        return BadRecord(where, f"must be a JSON object, is {type(content).__name__}: {content!r}"[:200])
    return Found(where, content)


def too_long(longest: int) -> str:
    raised = "raise max_record_mb (`features --max-record-mb`) to read it"
    return f"is longer than {longest / MB:g} MB and was skipped; {raised}"


def json_records(stream: Stream, name: str, longest: int) -> Iterator[Found | BadRecord]:
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
            yield BadRecord(f"{name}: line {number}", too_long(longest))
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


def _record(content: bytes, where: str) -> Found | BadRecord:
    if any(mark in content for mark in _SERVER_LOG) and not content.startswith(b"{"):
        return BadRecord(where, "is from a server's text log, which has no log-probabilities; log the replies as JSON")
    try:
        record = json.loads(content.decode())
    except json.JSONDecodeError as error:
        return BadRecord(where, f"must be a JSON object: {error.msg}, column {error.colno}")
    except (ValueError, RecursionError) as error:  # not UTF-8, a number of 5,000 digits; nested too deep
        return BadRecord(where, f"must be a JSON object: {error}")
    return checked(record, where)


def _documents(first: bytes, stream: Stream, name: str, longest: int) -> Iterator[Found | BadRecord]:
    """Objects one after the other, or in an array, over any number of lines; no more than one is held at a time.

    After an error in one there is no telling where the next begins, so the rest of the file is one bad record.
    """
    decoder, text, number = json.JSONDecoder(), codecs.getincrementaldecoder("utf-8")("replace"), 1
    waiting, block = text.decode(first), _BLOCK
    while True:
        waiting = waiting.lstrip(" \t\r\n,\ufeff" if number > 1 else " \t\r\n\ufeff[")
        try:
            document, end = decoder.raw_decode(waiting) if waiting else (None, 0)
        except (ValueError, RecursionError) as error:
            if waiting.startswith("]"):
                return
            if len(waiting) > longest:
                yield BadRecord(f"{name}: entry {number}", f"{too_long(longest)}, with everything after it")
                return
            more = stream.read(min(block, longest + 1))
            if not more:
                yield BadRecord(f"{name}: entry {number}", f"must be a JSON object: {error}")
                return
            waiting, block = waiting + text.decode(more), 2 * block
            continue
        if end:
            yield checked(document, f"{name}: entry {number}")
            number, waiting, block = number + 1, waiting[end:], _BLOCK
        elif more := stream.read(block):
            waiting = text.decode(more)
        else:
            return


def csv_rows(lines: Iterator[str], name: str, longest: int) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """The rows of a table, from 1, or why one cannot be read; an empty cell is null.

    A cell holds at most `longest` characters. InputError where the table has no columns of traces: then no row can be
    read.
    """
    # The limit is of the module; it is as it was when nobody reads.
    before = csv.field_size_limit(longest)
    try:
        names, delimiter = _head(next(lines, ""))
        if missing := [column for column in TRACES if column not in names]:
            raise InputError(
                f"{name}: a CSV file of responses must have the columns {' and '.join(TRACES)}, lists of numbers as "
                f"JSON; {missing[0]} is missing, columns: {', '.join(names)[:300] or 'none'}"
            )
        yield from _csv_rows(csv.reader(lines, delimiter=delimiter, strict=True), names)
    finally:
        csv.field_size_limit(before)


def is_log(path: Path) -> bool:
    """Whether a CSV file, or one that is packed, begins with the columns of log-probabilities."""
    try:
        with opened(path) as stream:
            head = stream.readline(_LONGEST_HEAD)
    except (OSError, EOFError, zlib.error):
        return True  # whoever reads it says what is wrong
    return set(TRACES) <= set(_head(head.decode("utf-8-sig", errors="replace"))[0])


def _head(line: str) -> tuple[list[str], str]:
    """The names of the columns and what stands between them, from the first line."""
    delimiter = max(_DELIMITERS, key=line.count)
    try:
        return next(csv.reader([line], delimiter=delimiter), []), delimiter
    except csv.Error:
        return [], delimiter


def _csv_rows(reader: Any, names: list[str]) -> Iterator[tuple[int, dict[str, Any] | str]]:
    number = 0
    while True:
        number += 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield number, f"must be a row of CSV: {error}"
            continue
        if len(cells) == len(names):
            yield number, _csv_record(dict(zip(names, cells, strict=True)))
        elif cells:
            yield number, f"must have {len(names)} cells like the first line, has {len(cells)}"


def _csv_record(cells: dict[str, str]) -> dict[str, Any] | str:
    record: dict[str, Any] = {name: value or None for name, value in cells.items()}
    for name in _JSON_CELLS:
        if record.get(name) is not None:
            try:
                record[name] = json.loads(record[name])
            except (ValueError, RecursionError):
                return f"'{name}' must be JSON, such as [-0.1, -2.3], was {record[name][:80]!r}"
    for name in _WHOLE_CELLS:
        if (value := record.get(name)) is not None and value.removeprefix("-").isdecimal():
            record[name] = int(value)
    return record


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
        yield from _parquet_rows(path)
        return
    try:
        with opened(path) as stream:
            yield from _reader(stream, name)(stream, name, int(max_record_mb * MB))
    except (OSError, EOFError, zlib.error) as error:
        raise IncompleteFileError(f"{name}: is damaged, only its beginning could be read: {error}") from None


def _reader(stream: Stream, name: str) -> Callable[[Stream, str, int], Iterator[Found | BadRecord]]:
    """What gives the records in a stream, by its first bytes and its name."""
    if kind := container(stream.peek(1)):
        module, _, function = kind.records.rpartition(".")
        records_of: Callable[[Stream, str, int], Iterator[Found | BadRecord]] = getattr(import_module(module), function)
        return records_of
    return _csv if name.removesuffix(".gz").endswith(".csv") else json_records


def brings_labels(path: str | Path) -> bool:
    """Whether a file is a log of an evaluation, whose samples have scores."""
    if str(path) == STANDARD_INPUT:
        return False
    try:
        with opened(path) as stream:
            return container(stream.peek(1)) is not None
    except (OSError, EOFError, zlib.error):
        return False  # whoever reads it says what is wrong


def _csv(stream: Stream, name: str, longest: int) -> Iterator[Found | BadRecord]:
    """Rows of a table in CSV; a line that is too long ends it."""
    with io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline="") as text:
        for number, row in csv_rows(_bounded(text, name, longest), name, longest):
            where = f"{name}: row {number}"
            yield BadRecord(where, row) if isinstance(row, str) else Found(where, row)


def _bounded(text: TextIO, name: str, longest: int) -> Iterator[str]:
    number = 0
    while line := text.readline(longest + 1):
        number += 1
        if len(line) > longest:
            raise IncompleteFileError(f"{name}: line {number} {too_long(longest)}, with everything after it")
        yield line


def _parquet_rows(path: str) -> Iterator[Found]:
    """Rows of a Parquet file as records."""
    number = 0
    with given(path):
        for batch in read_batches(path):
            for row in batch.iter_rows(named=True):
                yield Found(f"{path}: row {number}", row)
                number += 1
