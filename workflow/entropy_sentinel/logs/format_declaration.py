"""What declares a format of logs: `Format`, and `Container` for files that are not a sequence of records."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from entropy_sentinel.core.external_files import Stream
from entropy_sentinel.logs.envelopes import Envelope
from entropy_sentinel.logs.layouts import Layout
from entropy_sentinel.logs.log_record import BadRecord, PlacedRecord, Record

if TYPE_CHECKING:
    from entropy_sentinel.logs.reader_base import Reader


@dataclass(frozen=True)
class Container:
    """A kind of file that is not a sequence of records, such as an archive.

    `recognises` tests the first bytes of a file: at least 8 kB, or the whole file if it is shorter. `records` yields
    the records, given the stream, the file's name and the size of the longest allowed record in bytes. If a folder is
    given, files with this `suffix` are read.
    """

    recognises: Callable[[bytes], bool]
    records: Callable[[Stream, str, int], Iterator[PlacedRecord | BadRecord]]
    suffix: str


@dataclass(frozen=True)
class Format:
    """A format of logs; `recognises` tests one record, and `load` imports and returns the class that reads records.

    `request` says what to ask of the server, or to set, so that it writes the log-probabilities.

    The class is a subclass of `Reader` (`logs.reader_base`). `form` tells it where the parts stand, if it reads
    several formats. Formats with the same class and no `form` share one reader per file, for example the chunks and the
    whole replies of a server.

    `marks` are names of the fields that show the format, for messages about records of no known format. `containers`
    are kinds of files with such records that are not a sequence of JSON, CSV or Parquet records. If the format has
    `labels`, its reader sets them, and its logs can also be used as label files.
    """

    name: str
    meaning: str
    request: str
    load: "Callable[[], Callable[..., Reader]]"
    recognises: Callable[[Record], bool]
    marks: tuple[str, ...] = ()
    form: Layout | Envelope | None = None
    containers: tuple[Container, ...] = ()
    labels: bool = False


def make_layout_format(name: str, meaning: str, request: str, layout: Layout) -> Format:
    """The format of a server's replies whose parts stand where `layout` says; it needs no reader of its own."""
    marks = (*layout.needs, *layout.steps[:1], *layout.text[:1])
    return Format(
        name,
        meaning,
        request,
        load=_load_layout_reader,
        recognises=layout.recognises,
        marks=marks,
        form=layout,
    )


def make_envelope_format(name: str, meaning: str, request: str, envelope: Envelope) -> Format:
    """The format of records that have a server's reply where `envelope` says; it needs no reader of its own."""
    marks = (*envelope.needs, *envelope.reply[:1])
    return Format(
        name,
        meaning,
        request,
        load=load_envelope_reader,
        recognises=envelope.recognises,
        marks=marks,
        form=envelope,
    )


def _load_layout_reader() -> "Callable[..., Reader]":
    from entropy_sentinel.logs.layout_reader import LayoutReader

    return LayoutReader


def load_envelope_reader() -> "Callable[..., Reader]":
    """Import and return the reader of envelopes."""
    from entropy_sentinel.logs.envelope_reader import EnvelopeReader

    return EnvelopeReader
