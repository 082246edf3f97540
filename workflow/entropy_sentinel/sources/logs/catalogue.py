"""The catalogue of log formats: those of extensions, then this package's own.

The first format that recognises a record reads it. Formats of extensions come first, because they are more special: a
log that a built-in format also recognises may have further fields that only the extension's format knows.
"""

import logging
from functools import cache

from entropy_sentinel.frames.entries import declared, is_own, place_of
from entropy_sentinel.frames.loading import failed
from entropy_sentinel.sources.logs.format import Container, Format
from entropy_sentinel.sources.logs.paths import look_up
from entropy_sentinel.sources.logs.record import Record

log = logging.getLogger(__name__)

_DECLARED = declared("formats", Format)
FORMATS: dict[str, Format] = {
    name: _DECLARED[name] for name in sorted(_DECLARED, key=lambda name: is_own("formats", name))
}
_CONTAINERS = [(format, kind) for format in FORMATS.values() for kind in format.containers]
# Suffixes of the files to read in a folder; `.gz` may follow all but Parquet.
SUFFIXES = (".parquet", ".jsonl", ".ndjson", ".json", ".csv", *({kind.suffix for _, kind in _CONTAINERS} - {".json"}))


def container(begin: bytes) -> tuple[Format, Container] | None:
    """Return the format and the container of a file that begins with these bytes; None if it is not a container."""
    return next((pair for pair in _CONTAINERS if pair[1].recognises(begin)), None)


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
    lacking = [
        (format, [mark for mark in format.marks if look_up(record, mark) is None]) for format in FORMATS.values()
    ]
    return min(
        (pair for pair in lacking if len(pair[1]) < len(pair[0].marks)),
        key=lambda pair: len(pair[1]) / len(pair[0].marks),
        default=None,
    )
