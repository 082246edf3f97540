"""A record of a log with its place in the file, or what is wrong with it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

MB = 1_000_000
Record = Mapping[str, Any]


class PlacedRecord(NamedTuple):
    """A record with its place: the file, and the line, entry or row."""

    where: str
    content: dict[str, Any]


class BadRecord(NamedTuple):
    """The place of an unusable record, and the problem."""

    where: str
    problem: str


def check_record(content: Any, where: str) -> PlacedRecord | BadRecord:
    """The record at a place; a bad one if its content is not an object."""
    if not isinstance(content, dict):
        return BadRecord(where, f"must be a JSON object, is {type(content).__name__}: {content!r}"[:200])
    return PlacedRecord(where, content)


def describe_excess(longest: int) -> str:
    """The problem of a record with more than the `longest` number of bytes."""
    raised = "raise max_record_mb (`features --max-record-mb`) to read it"
    return f"is longer than {longest / MB:g} MB and was skipped; {raised}"
