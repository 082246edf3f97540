"""A record of a log, and what is none: what the readers of all kinds of files give."""

from typing import Any, NamedTuple

MB = 1_000_000


class Found(NamedTuple):
    """A record and where it is: file and line, entry or row."""

    where: str
    content: dict[str, Any]


class BadRecord(NamedTuple):
    """What is no record, where it is, and what is wrong with it."""

    where: str
    problem: str


def checked(found: Any, where: str) -> Found | BadRecord:
    if not isinstance(found, dict):
        return BadRecord(where, f"must be a JSON object, is {type(found).__name__}: {found!r}"[:200])
    return Found(where, found)


def too_long(longest: int) -> str:
    raised = "raise max_record_mb (`features --max-record-mb`) to read it"
    return f"is longer than {longest / MB:g} MB and left out; {raised}"
