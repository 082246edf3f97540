"""Tables of responses in CSV, whose traces are JSON in a cell; `sources.logs.table` reads their rows."""

import csv
import json
from collections.abc import Iterator
from typing import Any

from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.sources.logs.table import TRACES

# Cells that are JSON, where they are filled in, and those that are whole numbers.
_JSON = ("token_logprobs", "top_logprobs", "tokens", "token_ids", "metadata")
_WHOLE = ("sample", "prompt_tokens", "seed")
_DELIMITERS = (",", ";", "\t")


def rows(lines: Iterator[str], name: str, longest: int) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """The rows of a table, from 1, or why one cannot be read; an empty cell is null.

    A cell holds at most `longest` characters. InputError where the table has no columns of traces: then no row can be
    read.
    """
    # The limit is of the module; it is as it was when nobody reads.
    before = csv.field_size_limit(longest)
    try:
        head = next(lines, "")
        delimiter = max(_DELIMITERS, key=head.count)
        names = next(csv.reader([head], delimiter=delimiter), [])
        if missing := [one for one in TRACES if one not in names]:
            raise InputError(
                f"{name}: a CSV file of responses must have the columns {' and '.join(TRACES)}, lists of numbers as "
                f"JSON; {missing[0]} is not there, there are: {', '.join(names)[:300] or 'none'}"
            )
        yield from _rows(csv.reader(lines, delimiter=delimiter, strict=True), names)
    finally:
        csv.field_size_limit(before)


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
