"""Read the records of a log: JSON objects and arrays on any lines, server-sent events, rows of Parquet and CSV.

An unreadable record becomes a BadRecord, and reading continues with the next record. Only one record is in memory at a
time.
"""

import csv
import io
import json
import zlib
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, TextIO

from entropy_sentinel.core.errors import EntropySentinelError, IncompleteFileError, InputError
from entropy_sentinel.core.external_files import STANDARD_INPUT, Stream, open_stream
from entropy_sentinel.logs.format_registry import find_container, find_format
from entropy_sentinel.logs.in_memory_logs import MemoryRecords
from entropy_sentinel.logs.json_values import read_json_records
from entropy_sentinel.logs.log_options import LONGEST_MB
from entropy_sentinel.logs.log_record import MB, BadRecord, PlacedRecord, check_record, describe_excess
from entropy_sentinel.logs.table_format import TRACE_COLUMNS, has_columns_of_texts
from entropy_sentinel.schemas.arrow_lists import read_batches
from entropy_sentinel.schemas.contract import check_user_file

# Columns of CSV files that contain JSON, and columns that contain whole numbers.
_JSON_CELLS = ("token_logprobs", "top_logprobs", "tokens", "token_ids", "metadata")
_WHOLE_CELLS = ("sample", "prompt_tokens", "seed")
_MAX_HEADER_BYTES = 1 << 20
_DELIMITERS = (",", ";", "\t")


def _read_csv(stream: Stream, name: str, longest: int) -> Iterator[PlacedRecord | BadRecord]:
    """Yield the rows of a CSV file, numbered from 1, up to a line that is too long; an empty cell is null.

    Raises InputError if the columns of traces are missing and it is no table of texts: then no row can be read.
    """
    # The limit is global: restore it.
    previous_limit = csv.field_size_limit(longest)
    try:
        with io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline="") as text:
            lines = _read_lines(text, name, longest)
            names, delimiter = _parse_header(next(lines, ""))
            for column in TRACE_COLUMNS:
                if column not in names and not has_columns_of_texts(names):
                    raise InputError(
                        f"{name}: a CSV file of responses must have the columns {' and '.join(TRACE_COLUMNS)}, with "
                        f"lists of numbers as JSON; {column} is missing, columns: {', '.join(names)[:300] or 'none'}"
                    )
            yield from _iterate_csv_rows(csv.reader(lines, delimiter=delimiter, strict=True), names, name)
    finally:
        csv.field_size_limit(previous_limit)


def _read_lines(text: TextIO, name: str, longest: int) -> Iterator[str]:
    """Yield the lines of a text; raises IncompleteFileError at one with more than `longest` characters."""
    number = 0
    while line := text.readline(longest + 1):
        number += 1
        if len(line) > longest:
            raise IncompleteFileError(f"{name}: line {number} {describe_excess(longest)}, with everything after it")
        yield line


def is_csv_log(path: Path) -> bool:
    """Whether a CSV file, which may be packed, has the columns of log-probabilities."""
    try:
        with open_stream(path) as stream:
            head = stream.readline(_MAX_HEADER_BYTES)
    except (OSError, EOFError, zlib.error):
        return True  # reading it raises the error
    names, _ = _parse_header(head.decode("utf-8-sig", errors="replace"))
    return set(TRACE_COLUMNS) <= set(names)


def _parse_header(line: str) -> tuple[list[str], str]:
    """The names of the columns and their delimiter, from the first line."""
    delimiter = max(_DELIMITERS, key=line.count)
    try:
        return next(csv.reader([line], delimiter=delimiter), []), delimiter
    except csv.Error:
        return [], delimiter


def _iterate_csv_rows(reader: Any, names: list[str], file: str) -> Iterator[PlacedRecord | BadRecord]:
    """Yield the records of the rows that a `csv.reader` has left, numbered from 1; empty rows are skipped."""
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
            yield _parse_csv_cells(dict(zip(names, cells, strict=True)), where)
        elif cells:
            yield BadRecord(where, f"must have {len(names)} cells like the first line, has {len(cells)}")


def _parse_csv_cells(cells: dict[str, str], where: str) -> PlacedRecord | BadRecord:
    """The record of a CSV row, with lists and whole numbers in place of their texts."""
    record: dict[str, Any] = {name: value or None for name, value in cells.items()}
    for name in _JSON_CELLS:
        if record.get(name) is not None:
            try:
                record[name] = json.loads(record[name])
            except (ValueError, RecursionError):
                return BadRecord(where, f"'{name}' must be JSON, such as [-0.1, -2.3], got {record[name][:80]!r}")
    for name in _WHOLE_CELLS:
        if (value := record.get(name)) is not None and value.removeprefix("-").isdecimal():
            record[name] = int(value)
    return PlacedRecord(where, record)


def read_records(path: str | MemoryRecords, max_record_mb: float = LONGEST_MB) -> Iterator[PlacedRecord | BadRecord]:
    """Yield the records of a file, also `.gz`, of standard input (`-`), or of replies in memory.

    JSON is read value by value, and arrays entry by entry. A record larger than `max_record_mb` is bad, and only
    that much of it is kept in memory. Raises IncompleteFileError if the file cannot be read or unpacked.
    """
    if isinstance(path, MemoryRecords):
        for where, content in path.records():
            yield check_record(content, where)
        return
    name = "standard input" if path == STANDARD_INPUT else path
    if Path(path).suffix == ".parquet":
        yield from _iterate_parquet_rows(path)
        return
    try:
        with open_stream(path) as stream:
            yield from _choose_decoder(stream, name)(stream, name, int(max_record_mb * MB))
    except (OSError, EOFError, zlib.error) as error:
        raise IncompleteFileError(f"{name}: is damaged; only its beginning could be read: {error}") from None


def _choose_decoder(stream: Stream, name: str) -> Callable[[Stream, str, int], Iterator[PlacedRecord | BadRecord]]:
    """The function that yields the records of a stream, by its first bytes and its name."""
    if (found := find_container(stream.peek(1))) is not None:
        _, kind = found
        return kind.records
    return _read_csv if name.removesuffix(".gz").endswith(".csv") else read_json_records


def has_labels(path: str | Path) -> bool:
    """Whether a file is a log in a format that has labels, such as the log of an evaluation."""
    if str(path) == STANDARD_INPUT or Path(path).suffix == ".parquet":
        return False
    try:
        with open_stream(path) as stream:
            if (found := find_container(stream.peek(1))) is not None:
                container_format, _ = found
                return container_format.labels
            first = next(_choose_decoder(stream, str(path))(stream, str(path), LONGEST_MB * MB), None)
    except (OSError, EOFError, zlib.error, EntropySentinelError):
        return False  # reading it raises the error
    format = find_format(first.content) if isinstance(first, PlacedRecord) else None
    return format is not None and format.labels


def _iterate_parquet_rows(path: str) -> Iterator[PlacedRecord]:
    """Yield the rows of a Parquet file, numbered from 0."""
    with check_user_file(path):
        numbers = count()
        for batch in read_batches(path):
            for row in batch.iter_rows(named=True):
                yield PlacedRecord(f"{path}: row {next(numbers)}", row)
