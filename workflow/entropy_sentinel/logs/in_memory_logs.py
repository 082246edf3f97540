"""Read replies in memory like the records of a log: dicts, objects of a client, or rows of a frame."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from os import PathLike
from typing import Any, Protocol

import polars as pl

from entropy_sentinel.core.errors import InputError

# The benchmark of replies that name none; for files, the file's name is used instead.
MEMORY_NAME = "replies"
_ACCEPTED_FORMS = (
    "files, or replies: dicts, objects with `model_dump` from OpenAI's or LiteLLM's client, lists of "
    "these, or a frame of Polars, pandas or Arrow"
)
_JSON_TYPES = {str, int, float, bool, type(None)}
# Missing values of pandas, recognised by name because pandas may not be installed.
_MISSING = ("NaTType", "NAType")


class ClientReply(Protocol):
    """A reply of the clients of OpenAI and LiteLLM."""

    def model_dump(self) -> dict[str, Any]:
        """The reply as a dict."""


# One or several replies, or a table of replies; tables of pandas and Arrow are recognised by their methods.
Replies = pl.DataFrame | pl.LazyFrame | Mapping[str, Any] | ClientReply | Iterable[Any]


class MemoryRecords:
    """Records in memory, used like a file; its path is only a name."""

    def __init__(self, rows: Iterable[Any]) -> None:
        """Hold the `rows`, each a mapping or an object that can be dumped to one."""
        self._rows = rows

    def __fspath__(self) -> str:
        return MEMORY_NAME

    def __str__(self) -> str:
        return MEMORY_NAME

    def records(self) -> Iterator[tuple[str, Any]]:
        """Yield the place and the content of each record; a value that is not a mapping stays unchanged."""
        for number, row in enumerate(self._rows):
            try:
                content = to_json_values(row)
            except Exception as error:  # of the object's own code, or of nesting without end
                content = error
            yield describe_place(number), _replace_missing(content) if isinstance(content, dict) else content


def describe_place(number: int) -> str:
    """The place of an entry, counted from 0."""
    return f"{MEMORY_NAME}: entry {number + 1}"


def wrap_memory_records(logs: Any) -> MemoryRecords | None:
    """Replies in memory, or None for files; raises InputError for a mixture or any other value."""
    if isinstance(logs, MemoryRecords):
        return logs
    if isinstance(logs, str | PathLike):
        return None
    if isinstance(logs, pl.DataFrame | pl.LazyFrame):
        return MemoryRecords(logs.lazy().collect().iter_rows(named=True))
    if isinstance(logs, Mapping) or hasattr(logs, "model_dump"):
        return MemoryRecords([logs])
    if hasattr(logs, "to_pylist"):  # a table of Arrow
        return MemoryRecords(logs.to_pylist())
    if hasattr(logs, "to_dict") and hasattr(logs, "columns"):  # a frame of pandas
        return MemoryRecords(logs.to_dict("records"))
    if not isinstance(logs, Iterable):
        raise InputError(f"logs: must be {_ACCEPTED_FORMS}; got {type(logs).__name__}")
    items = list(logs)
    n_paths = sum(isinstance(item, str | PathLike) for item in items)
    if 0 < n_paths < len(items):
        raise InputError(
            f"logs: must be {_ACCEPTED_FORMS}; got a list of {n_paths} paths and {len(items) - n_paths} others"
        )
    return None if n_paths == len(items) else MemoryRecords(items)


def to_json_values(value: Any) -> Any:
    """Convert a value to dicts, lists, texts and numbers, like JSON; dates remain dates."""
    if type(value) in _JSON_TYPES:
        return value
    if isinstance(value, Mapping):
        return {str(name): to_json_values(part) for name, part in value.items()}
    if hasattr(value, "model_dump"):
        return to_json_values(value.model_dump())
    if hasattr(value, "tolist"):  # numbers and arrays of NumPy
        return to_json_values(value.tolist())
    if isinstance(value, list | tuple):
        return list(value) if _JSON_TYPES.issuperset(map(type, value)) else [to_json_values(part) for part in value]
    if type(value).__name__ in _MISSING:
        return None
    if isinstance(value, datetime) and hasattr(value, "to_pydatetime"):
        return value.to_pydatetime(warn=False)
    return value


def _replace_missing(record: dict[str, Any]) -> dict[str, Any]:
    """A record with null instead of NaN, which is the missing value of frames."""
    # Only NaN differs from itself.
    return {name: None if isinstance(value, float) and value != value else value for name, value in record.items()}
