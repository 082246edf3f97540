"""Read the records of a log: JSON objects and arrays on any lines, server-sent events, rows of Parquet and CSV.

An unreadable record becomes a BadRecord, and reading continues with the next record. Only one record is in memory at a
time.
"""

import codecs
import csv
import io
import json
import re
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from entropy_sentinel.frames.arrow import read_batches
from entropy_sentinel.frames.contract import given
from entropy_sentinel.frames.errors import EntropySentinelError, IncompleteFileError, InputError
from entropy_sentinel.sources.logs.memory import Held
from entropy_sentinel.sources.logs.settings import LONGEST_MB, container, recognise
from entropy_sentinel.sources.logs.table import TRACES
from entropy_sentinel.sources.opening import STANDARD_INPUT, Stream, opened

MB = 1_000_000
_BLOCK = 1 << 20
# What may stand between JSON values: white space, commas, a byte order mark.
_BETWEEN = re.compile("[ \\t\\r\\n,\ufeff]*")
# Fields of server-sent events, the end of a stream of them, and a length that no JSON word exceeds.
_DONE = "[DONE]"
_FIELDS = (_DONE, "data:", "event:", "id:", "retry:", ":")
_LONGEST_WORD = 16
# Bytes that are not UTF-8, as Python's `surrogateescape` decodes them.
_ESCAPED = re.compile("[\udc80-\udcff]")
# Lines of a server's text log, which users often try first.
_SERVER_LOG = ("Generated response ", "Received request ")
# The content of the record at the end of a stream.
END: dict[str, Any] = {_DONE: True}
# Columns of CSV files that contain JSON, and columns that contain whole numbers.
_JSON_CELLS = ("token_logprobs", "top_logprobs", "tokens", "token_ids", "metadata")
_WHOLE_CELLS = ("sample", "prompt_tokens", "seed")
_LONGEST_HEAD = 1 << 20
_DELIMITERS = (",", ";", "\t")


class Found(NamedTuple):
    """A record with its place: the file, and the line, entry or row."""

    where: str
    content: dict[str, Any]


class BadRecord(NamedTuple):
    """The place of an unusable record, and the problem."""

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
    """Yield the objects among the JSON values of a stream: objects and arrays (of arrays) of objects, on any lines.

    Values may be the `data:` fields of server-sent events. What cannot be read is a bad record, and reading continues
    with the next line.
    """
    return _Values(stream, name, longest).records()


class _Values:
    """The text of a stream, read in blocks, and the place in it."""

    def __init__(self, stream: Stream, name: str, longest: int) -> None:
        self._stream, self._name, self._longest = stream, name, longest
        self._decoder = json.JSONDecoder()
        # Bytes that are not UTF-8 become lone surrogates, so that only their record is bad.
        self._bytes = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._text, self._at, self._block, self._is_read = "", 0, _BLOCK, False
        # The number of the line at a position up to which lines are counted.
        self._line, self._counted = 1, 0
        self._damage: Exception | None = None
        self._has_other_bytes = False
        # The line of each array around the place, and the number of its entries so far.
        self._arrays: list[list[int]] = []

    def records(self) -> Iterator[Found | BadRecord]:
        while self._skip_between():
            here = self._text[self._at]
            if here == "]":
                self._at += 1
                if self._arrays:
                    self._arrays.pop()
            elif here == "[" and not self._begins(_DONE):
                self._arrays.append([self._number(), 0])
                self._at += 1
            elif here in "deir:[" and (field := next(filter(self._begins, _FIELDS), None)):
                if field == _DONE:
                    yield Found(self._where(), END)
                self._at += len(field)
                if field != "data:":
                    self._to_next_line(self._at)
            else:
                if self._arrays:
                    self._arrays[-1][1] += 1
                yield self._value()
        if self._arrays:
            self._arrays[-1][1] += 1
            yield BadRecord(self._where(), "the file ends within an array, so it may be truncated")

    def _value(self) -> Found | BadRecord:
        """Return the value that begins here, and go to its end; after an error, to the next line."""
        where, begin = self._where(), self._at
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                begin = self._at
                if len(self._text) - begin > self._longest:
                    self._to_next_line(begin)
                    return BadRecord(where, too_long(self._longest))
                if not self._is_read and (
                    error.pos >= len(self._text) - _LONGEST_WORD or error.msg.startswith("Unterminated")
                ):
                    self._fill()
                    continue
                return self._bad(where, error)
            except (ValueError, RecursionError) as error:  # a number of 5,000 digits; nested too deep
                self._to_next_line(begin)
                return BadRecord(where, f"must be a JSON object: {error}")
            size, content = end - self._at, self._text[self._at : end] if self._has_other_bytes else ""
            self._at, self._block = end, _BLOCK
            if size > self._longest:
                return BadRecord(where, too_long(self._longest))
            if _ESCAPED.search(content):
                return BadRecord(where, "must be in UTF-8, has other bytes")
            return checked(value, where)

    def _bad(self, where: str, error: json.JSONDecodeError) -> BadRecord:
        """Return what is wrong with the value that begins here, and go to the next line that may begin a value."""
        begin = self._at
        line_end = self._text.find("\n", begin)
        line = self._text[begin : None if line_end < 0 else line_end]
        self._to_next_line(begin)
        if any(mark in line for mark in _SERVER_LOG) and not line.startswith("{"):
            problem = "is from a server's text log, which has no log-probabilities; log the replies as JSON"
            return BadRecord(where, problem)
        if line_end >= 0 and error.pos > line_end + 1:  # a document of several lines, whose inner lines are indented
            while self._at < len(self._text) and self._text[self._at] not in "{[d":
                self._to_next_line(self._at)
        return BadRecord(where, f"must be a JSON object: {error.msg}, column {error.pos - begin + 1}")

    def _skip_between(self) -> bool:
        """Go to the next character that is neither white nor a comma; return False at the end."""
        while True:
            match = _BETWEEN.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if len(self._text) - self._at > _LONGEST_WORD:
                return True
            if self._is_read:
                return self._at < len(self._text)
            self._fill()

    def _begins(self, word: str) -> bool:
        return self._text.startswith(word, self._at)

    def _to_next_line(self, begin: int) -> None:
        """Go to the line after the one at position `begin`; only a block of it is kept in memory."""
        self._at = begin
        while (end := self._text.find("\n", self._at)) < 0:
            self._at = len(self._text)
            if self._is_read:
                return
            self._block = _BLOCK
            self._fill()
        self._at = end + 1

    def _fill(self) -> None:
        """Read a further block, twice as large as the last one within a value, and forget what was read."""
        more = self._read(min(self._block, self._longest + 1))
        self._is_read, self._block = not more, 2 * self._block
        self._number()
        text = self._bytes.decode(more, final=not more)
        self._has_other_bytes = self._has_other_bytes or _ESCAPED.search(text) is not None
        if not self._text:
            text = text.removeprefix("\ufeff")
        self._text, self._at, self._counted = self._text[self._at :] + text, 0, 0

    def _read(self, size: int) -> bytes:
        """Return the next bytes; what precedes damage in a packed file is returned before its error is raised."""
        parts: list[bytes] = []
        while size > 0 and self._damage is None:
            try:
                part = self._stream.read1(size)
            except (OSError, EOFError, zlib.error) as error:
                self._damage = error
                break
            if not part:
                break
            parts.append(part)
            size -= len(part)
        if self._damage is not None and not parts:
            raise self._damage
        return b"".join(parts)

    def _number(self) -> int:
        """Return the number of the line here, from 1."""
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def _where(self) -> str:
        """Return the place: the line, or the entry of an array, with the array's line unless it is the first."""
        if not self._arrays:
            return f"{self._name}: line {self._number()}"
        begun, number = self._arrays[-1]
        return f"{self._name}: {f'line {begun}, ' if begun > 1 else ''}entry {number}"


def _csv(stream: Stream, name: str, longest: int) -> Iterator[Found | BadRecord]:
    """Yield the rows of a CSV file, numbered from 1, up to a line that is too long; an empty cell is null.

    Raises InputError if the columns of traces are missing, because then no row can be read.
    """
    # The limit is global: restore it.
    before = csv.field_size_limit(longest)
    try:
        with io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline="") as text:
            lines = _bounded(text, name, longest)
            names, delimiter = _head(next(lines, ""))
            if missing := [column for column in TRACES if column not in names]:
                raise InputError(
                    f"{name}: a CSV file of responses must have the columns {' and '.join(TRACES)}, with lists of "
                    f"numbers as JSON; {missing[0]} is missing, columns: {', '.join(names)[:300] or 'none'}"
                )
            yield from _csv_rows(csv.reader(lines, delimiter=delimiter, strict=True), names, name)
    finally:
        csv.field_size_limit(before)


def _bounded(text: TextIO, name: str, longest: int) -> Iterator[str]:
    number = 0
    while line := text.readline(longest + 1):
        number += 1
        if len(line) > longest:
            raise IncompleteFileError(f"{name}: line {number} {too_long(longest)}, with everything after it")
        yield line


def is_log(path: Path) -> bool:
    """Return whether a CSV file, which may be packed, has the columns of log-probabilities."""
    try:
        with opened(path) as stream:
            head = stream.readline(_LONGEST_HEAD)
    except (OSError, EOFError, zlib.error):
        return True  # reading it raises the error
    return set(TRACES) <= set(_head(head.decode("utf-8-sig", errors="replace"))[0])


def _head(line: str) -> tuple[list[str], str]:
    """Return the names of the columns and their delimiter, from the first line."""
    delimiter = max(_DELIMITERS, key=line.count)
    try:
        return next(csv.reader([line], delimiter=delimiter), []), delimiter
    except csv.Error:
        return [], delimiter


def _csv_rows(reader: Any, names: list[str], file: str) -> Iterator[Found | BadRecord]:
    for number in count(1):
        where = f"{file}: row {number}"
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield BadRecord(where, f"must be a row of CSV: {error}")
            continue
        if len(cells) == len(names):
            yield _csv_record(dict(zip(names, cells, strict=True)), where)
        elif cells:
            yield BadRecord(where, f"must have {len(names)} cells like the first line, has {len(cells)}")


def _csv_record(cells: dict[str, str], where: str) -> Found | BadRecord:
    record: dict[str, Any] = {name: value or None for name, value in cells.items()}
    for name in _JSON_CELLS:
        if record.get(name) is not None:
            try:
                record[name] = json.loads(record[name])
            except (ValueError, RecursionError):
                return BadRecord(where, f"'{name}' must be JSON, such as [-0.1, -2.3], was {record[name][:80]!r}")
    for name in _WHOLE_CELLS:
        if (value := record.get(name)) is not None and value.removeprefix("-").isdecimal():
            record[name] = int(value)
    return Found(where, record)


def records(path: str | Held, max_record_mb: float = LONGEST_MB) -> Iterator[Found | BadRecord]:
    """Yield the records of a file, also `.gz`, of standard input (`-`), or of replies in memory.

    JSON is read value by value, and arrays entry by entry. A record larger than `max_record_mb` is bad, and only
    that much of it is kept in memory. Raises IncompleteFileError if the file cannot be read or unpacked.
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
        raise IncompleteFileError(f"{name}: is damaged; only its beginning could be read: {error}") from None


def _reader(stream: Stream, name: str) -> Callable[[Stream, str, int], Iterator[Found | BadRecord]]:
    """Return the function that yields the records of a stream, by its first bytes and its name."""
    if kind := container(stream.peek(1)):
        module, _, function = kind[1].records.rpartition(".")
        records_of: Callable[[Stream, str, int], Iterator[Found | BadRecord]] = getattr(import_module(module), function)
        return records_of
    return _csv if name.removesuffix(".gz").endswith(".csv") else json_records


def brings_labels(path: str | Path) -> bool:
    """Return whether a file is a log in a format that has labels, such as the log of an evaluation."""
    if str(path) == STANDARD_INPUT or Path(path).suffix == ".parquet":
        return False
    try:
        with opened(path) as stream:
            if kind := container(stream.peek(1)):
                return kind[0].labels
            first = next(_reader(stream, str(path))(stream, str(path), LONGEST_MB * MB), None)
    except (OSError, EOFError, zlib.error, EntropySentinelError):
        return False  # reading it raises the error
    format = recognise(first.content) if isinstance(first, Found) else None
    return format is not None and format.labels


def _parquet_rows(path: str) -> Iterator[Found]:
    """Yield the rows of a Parquet file, numbered from 0."""
    with given(path):
        rows = (row for batch in read_batches(path) for row in batch.iter_rows(named=True))
        for number, row in enumerate(rows):
            yield Found(f"{path}: row {number}", row)
