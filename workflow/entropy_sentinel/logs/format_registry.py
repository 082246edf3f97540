"""The catalogue of log formats: those of extensions, then this package's own.

The first format that recognises a record reads it. Formats of extensions come first, because they are more special: a
log that a built-in format also recognises may have further fields that only the extension's format knows.
"""

import logging
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, TypeVar

from entropy_sentinel.core.extension_guard import ExtensionError, guard_extension, guard_function
from entropy_sentinel.core.external_files import Stream
from entropy_sentinel.core.registry_entries import is_built_in, load_entries
from entropy_sentinel.logs.format_declaration import Container, Format
from entropy_sentinel.logs.log_record import BadRecord, PlacedRecord, Record
from entropy_sentinel.logs.value_paths import look_up

if TYPE_CHECKING:
    from entropy_sentinel.logs.reader_base import Reader

Value = TypeVar("Value")
Records = Callable[[Stream, str, int], Iterator[PlacedRecord | BadRecord]]

log = logging.getLogger(__name__)


def _guard_format(format: Format) -> Format:
    """A format whose functions name the extension if they fail; one of the package's stays as it is."""
    name = format.name
    failure = f"format '{name}': {{}} failed"  # with the name of a function
    if is_built_in("formats", name):
        return format
    containers = []
    for kind in format.containers:
        recognises = _guard_test(name, failure.format("recognises"), kind.recognises)
        records = _guard_records(name, failure.format("records"), kind.records)
        containers.append(replace(kind, recognises=recognises, records=records))
    return replace(
        format,
        load=guard_function("formats", name, failure.format("load"), partial(_load_reader, format)),
        recognises=_guard_test(name, failure.format("recognises"), format.recognises),
        containers=tuple(containers),
    )


def _load_reader(format: Format) -> "Callable[..., Reader]":
    """The class of a format's reader; raises TypeError if it cannot be called."""
    make = format.load()
    if not callable(make):
        raise TypeError(f"must return a subclass of Reader, returned {make!r:.100}")
    return make


def _guard_test(name: str, what: str, recognises: Callable[[Value], bool]) -> Callable[[Value], bool]:
    """The test of a format; if it fails, it says so once, because other formats may recognise the value."""

    def test(value: Value) -> bool:
        """Whether the format recognises a value; False, with a warning, if its function fails."""
        try:
            with guard_extension("formats", name, what):
                return bool(recognises(value))
        except ExtensionError as error:
            _warn_once(str(error))
            return False

    return test


def _guard_records(name: str, what: str, records: Records) -> Records:
    """The function that yields a container's records; it raises errors of a damaged file itself."""

    def yield_records(stream: Stream, file: str, longest: int) -> Iterator[PlacedRecord | BadRecord]:
        with guard_extension("formats", name, f"{file}: {what}", (OSError, EOFError, zlib.error)):
            yield from records(stream, file, longest)

    return yield_records


@cache
def _warn_once(line: str) -> None:
    log.warning(line)


_DECLARATIONS = load_entries("formats", Format)
_EXTENSIONS_FIRST = sorted(_DECLARATIONS, key=partial(is_built_in, "formats"))
FORMATS: dict[str, Format] = {name: _guard_format(_DECLARATIONS[name]) for name in _EXTENSIONS_FIRST}


def _list_suffixes() -> tuple[str, ...]:
    """The suffixes of the usual files, and of the containers of all formats."""
    suffixes = dict.fromkeys((".parquet", ".jsonl", ".ndjson", ".json", ".csv"))
    for format in FORMATS.values():
        for kind in format.containers:
            suffixes[kind.suffix] = None
    return tuple(suffixes)


# Suffixes of the files to read in a folder; `.gz` may follow all but Parquet.
SUFFIXES = _list_suffixes()


def find_container(begin: bytes) -> tuple[Format, Container] | None:
    """The format and the container of a file that begins with these bytes; None if it is not a container."""
    for format in FORMATS.values():
        for kind in format.containers:
            if kind.recognises(begin):
                return format, kind
    return None


def find_format(record: Record) -> Format | None:
    """The format of a record; None if no format matches."""
    return next((format for format in FORMATS.values() if format.recognises(record)), None)


def find_nearest_format(record: Record) -> tuple[Format, list[str]] | None:
    """The format whose marks (the fields that show it) a record has the largest share of, and those it lacks.

    None if it has no mark of any format.
    """
    closest = None
    smallest_share = 1.0
    for format in FORMATS.values():
        lacking = [mark for mark in format.marks if look_up(record, mark) is None]
        share = len(lacking) / len(format.marks) if format.marks else 1.0
        if lacking and share < smallest_share:
            closest = (format, lacking)
            smallest_share = share
    return closest
