"""The catalogue of log formats: those of extensions, then this package's own.

The first format that recognises a record reads it. Formats of extensions come first, because they are more special: a
log that a built-in format also recognises may have further fields that only the extension's format knows.
"""

import logging
from functools import cache, partial

from entropy_sentinel.frames.entries import declared, is_own, place_of
from entropy_sentinel.frames.loading import failed
from entropy_sentinel.sources.logs.format import Container, Format
from entropy_sentinel.sources.logs.paths import look_up
from entropy_sentinel.sources.logs.record import Record

log = logging.getLogger(__name__)

_DECLARED = declared("formats", Format)
_EXTENSIONS_FIRST = sorted(_DECLARED, key=partial(is_own, "formats"))
FORMATS: dict[str, Format] = {name: _DECLARED[name] for name in _EXTENSIONS_FIRST}


def _suffixes() -> tuple[str, ...]:
    suffixes = dict.fromkeys((".parquet", ".jsonl", ".ndjson", ".json", ".csv"))
    for format in FORMATS.values():
        for kind in format.containers:
            suffixes[kind.suffix] = None
    return tuple(suffixes)


# Suffixes of the files to read in a folder; `.gz` may follow all but Parquet.
SUFFIXES = _suffixes()


def container(begin: bytes) -> tuple[Format, Container] | None:
    """Return the format and the container of a file that begins with these bytes; None if it is not a container."""
    for format in FORMATS.values():
        for kind in format.containers:
            if kind.recognises(begin):
                return format, kind
    return None


def recognise(record: Record) -> Format | None:
    """Return the format of a record; None if no format matches."""
    return next((format for format in FORMATS.values() if _recognises(format, record)), None)


def _recognises(format: Format, record: Record) -> bool:
    """Return whether a format recognises a record; a mistake in an extension's format must not hide the others."""
    try:
        return format.recognises(record)
    except Exception as error:
        if is_own("formats", format.name):
            raise
        _tell_once(failed(f"format '{format.name}': recognises failed", error, place_of("formats", format.name)))
        return False


@cache
def _tell_once(line: str) -> None:
    log.warning(line)


def nearest(record: Record) -> tuple[Format, list[str]] | None:
    """Return the format of which a record has the largest share of the marks, and those that it lacks; None if none."""
    closest, smallest_share = None, 1.0
    for format in FORMATS.values():
        lacking = [mark for mark in format.marks if look_up(record, mark) is None]
        share = len(lacking) / len(format.marks) if format.marks else 1.0
        if share < smallest_share:
            closest, smallest_share = (format, lacking), share
    return closest
