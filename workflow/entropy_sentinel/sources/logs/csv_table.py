"""Tables of responses in CSV, whose traces are JSON in a cell; `sources.logs.table` reads their rows."""

import csv
import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.sources.logs.table import TRACES

# Cells that are JSON, where they are filled in, and those that are whole numbers.
_JSON = ("token_logprobs", "top_logprobs", "tokens", "token_ids", "metadata")
_WHOLE = ("sample", "prompt_tokens", "seed")
_LONGEST_HEAD = 1 << 20
_DELIMITERS = (",", ";", "\t")


def rows(lines: Iterator[str], name: str, longest: int) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """The rows of a table, from 1, or why one cannot be read; an empty cell is null.

    A cell holds at most `longest` characters. InputError where the table has no columns of traces: then no row can be
    read.
    """
    # The limit is of the module; it is as it was when nobody reads.
    before = csv.field_size_limit(longest)
    try:
        names, delimiter = _head(next(lines, ""))
        if missing := [one for one in TRACES if one not in names]:
            raise InputError(
                f"{name}: a CSV file of responses must have the columns {' and '.join(TRACES)}, lists of numbers as "
                f"JSON; {missing[0]} is not there, there are: {', '.join(names)[:300] or 'none'}"
            )
        yield from _rows(csv.reader(lines, delimiter=delimiter, strict=True), names)
    finally:
        csv.field_size_limit(before)


def is_log(path: Path) -> bool:
    """Whether a CSV file, or one that is packed, begins with the columns of log-probabilities."""
    try:
        with path.open("rb") as raw:
            packed = raw.peek(2)[:2] == b"\x1f\x8b"
            head = (gzip.GzipFile(fileobj=raw) if packed else raw).readline(_LONGEST_HEAD)
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


def _rows(reader: Any, names: list[str]) -> Iterator[tuple[int, dict[str, Any] | str]]:
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
            yield number, _record(dict(zip(names, cells, strict=True)))
        elif cells:
            yield number, f"must have {len(names)} cells as the first line has, has {len(cells)}"


def _record(cells: dict[str, str]) -> dict[str, Any] | str:
    record: dict[str, Any] = {name: value or None for name, value in cells.items()}
    for name in _JSON:
        if record.get(name) is not None:
            try:
                record[name] = json.loads(record[name])
            except (ValueError, RecursionError):
                return f"'{name}' must be JSON, as [-0.1, -2.3], is {record[name][:80]!r}"
    for name in _WHOLE:
        if (value := record.get(name)) is not None and value.removeprefix("-").isdecimal():
            record[name] = int(value)
    return record
