"""Records in JSON: lines, server-sent events, documents and arrays. No more than one record is held at a time."""

import codecs
import gzip
import io
import json
from collections.abc import Iterator

from entropy_sentinel.sources.logs.record import BadRecord, Found, checked, too_long

_BLOCK = 1 << 20
_WHITE = b" \t\r\n"
_MARK = b"\xef\xbb\xbf"  # with which some programs begin a file in UTF-8
# Lines of a server's own text log, which people try first.
_SERVER_LOG = (b"Generated response ", b"Received request ")

Stream = io.BufferedReader | gzip.GzipFile


def json_records(stream: Stream, name: str, longest: int) -> Iterator[Found | BadRecord]:
    """An array; or lines; or documents, where the first line is the beginning of one."""
    beginning = stream.peek(1).removeprefix(_MARK).lstrip()
    if beginning.startswith(b"["):
        yield from _documents(b"", stream, name, longest)
        return
    first = stream.readline(longest + 1).removeprefix(_MARK)
    if first.strip().endswith((b"{", b"[", b",")) and len(first) <= longest:
        yield from _documents(first, stream, name, longest)
    else:
        yield from _lines(first, stream, name, longest)


def _lines(first: bytes, stream: Stream, name: str, longest: int) -> Iterator[Found | BadRecord]:
    """JSON Lines and server-sent events: of the latter, `data:` is the record, and all other fields go."""
    number, line = 1, first
    while line:
        content = line.strip()
        if len(line) > longest:
            _skip_line(line, stream)
            yield BadRecord(f"{name}: line {number}", too_long(longest))
        elif not content:
            number += _skip_blank(stream)
        else:
            if content.startswith(b"data:"):
                content = content.removeprefix(b"data:").strip()
            if content and content != b"[DONE]" and not content.startswith((b":", b"event:", b"id:", b"retry:")):
                yield _record(content, f"{name}: line {number}")
        number, line = number + 1, stream.readline(longest + 1)


def _skip_line(begun: bytes, stream: Stream) -> None:
    """Go to the end of a line, by the block."""
    while begun and not begun.endswith(b"\n"):
        begun = stream.readline(_BLOCK)


def _skip_blank(stream: Stream) -> int:
    """Go over the blank lines that follow, by the block; how many they were."""
    count = 0
    while ahead := stream.peek(1):
        blank = ahead[: len(ahead) - len(ahead.lstrip(_WHITE))]
        whole = blank.rfind(b"\n") + 1
        count += blank.count(b"\n")
        stream.read(whole)
        if whole < len(ahead):
            break
    return count


def _record(content: bytes, where: str) -> Found | BadRecord:
    if any(mark in content for mark in _SERVER_LOG) and not content.startswith(b"{"):
        return BadRecord(where, "is of a server's text log, which has no log-probabilities: log the replies as JSON")
    try:
        found = json.loads(content.decode())
    except json.JSONDecodeError as error:
        return BadRecord(where, f"must be a JSON object: {error.msg}, column {error.colno}")
    except (ValueError, RecursionError) as error:  # not UTF-8, a number of 5,000 digits; nested too deep
        return BadRecord(where, f"must be a JSON object: {error}")
    return checked(found, where)


def _documents(first: bytes, stream: Stream, name: str, longest: int) -> Iterator[Found | BadRecord]:
    """Objects one after the other, or in an array, over any number of lines; no more than one is held at a time.

    After an error in one there is no telling where the next begins, so the rest of the file is one bad record.
    """
    decoder, text, number = json.JSONDecoder(), codecs.getincrementaldecoder("utf-8")("replace"), 1
    waiting, block = text.decode(first), _BLOCK
    while True:
        waiting = waiting.lstrip(" \t\r\n,\ufeff" if number > 1 else " \t\r\n\ufeff[")
        try:
            found, end = decoder.raw_decode(waiting) if waiting else (None, 0)
        except (ValueError, RecursionError) as error:
            if waiting.startswith("]"):
                return
            if len(waiting) > longest:
                yield BadRecord(f"{name}: entry {number}", f"{too_long(longest)}, and so is all that follows")
                return
            more = stream.read(min(block, longest + 1))
            if not more:
                yield BadRecord(f"{name}: entry {number}", f"must be a JSON object: {error}")
                return
            waiting, block = waiting + text.decode(more), 2 * block
            continue
        if end:
            yield checked(found, f"{name}: entry {number}")
            number, waiting, block = number + 1, waiting[end:], _BLOCK
        elif more := stream.read(block):
            waiting = text.decode(more)
        else:
            return
