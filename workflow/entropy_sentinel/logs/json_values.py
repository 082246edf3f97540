"""Read JSON objects from a stream: on any lines, in arrays, or as server-sent events, and only one in memory at a time.

An unreadable value becomes a BadRecord, and reading continues with the next line.
"""

import codecs
import json
import re
import zlib
from collections.abc import Iterator
from typing import Any

from entropy_sentinel.core.external_files import Stream
from entropy_sentinel.logs.log_record import BadRecord, PlacedRecord, check_record, describe_excess

_BLOCK = 1 << 20
# What may stand between JSON values: white space, commas, a byte order mark.
_SEPARATORS = re.compile("[ \\t\\r\\n,\ufeff]*")
# Fields of server-sent events, the end of a stream of them, and a length that no JSON word exceeds.
_DONE = "[DONE]"
_EVENT_FIELDS = (_DONE, "data:", "event:", "id:", "retry:", ":")
_LONGEST_WORD = 16
# Bytes that are not UTF-8, as Python's `surrogateescape` decodes them.
_ESCAPED_BYTES = re.compile("[\udc80-\udcff]")
# Arrays within arrays around a record; more of them are no log, and each takes memory.
_MAX_DEPTH = 100
# The end of a line in JSON Lines and server-sent events: U+2028 and U+0085 may stand within JSON.
_LINE_END = re.compile(r"\r\n?|\n")
# Lines of a server's text log, which users often try first.
_SERVER_LOG = ("Generated response ", "Received request ")
# The content of the record at the end of a stream.
END: dict[str, Any] = {_DONE: True}


def read_json_records(stream: Stream, name: str, longest: int) -> Iterator[PlacedRecord | BadRecord]:
    """Yield the objects among the JSON values of a stream: objects and arrays (of arrays) of objects, on any lines.

    Values may be the `data:` fields of server-sent events. What cannot be read is a bad record, and reading continues
    with the next line.
    """
    return _JsonStream(stream, name, longest).records()


class _JsonStream:
    """The text of a stream, read in blocks, and the place in it."""

    def __init__(self, stream: Stream, name: str, longest: int) -> None:
        self._stream, self._name, self._longest = stream, name, longest
        self._decoder = json.JSONDecoder()
        # Bytes that are not UTF-8 become lone surrogates, so that only their record is bad.
        self._byte_decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        # The text that was read and not yet forgotten, the place in it, and the size of the next block.
        self._text = ""
        self._position = 0
        self._block = _BLOCK
        self._has_reached_end = False
        # The number of the line at a position up to which lines are counted.
        self._line, self._counted_to, self._ends_with_return = 1, 0, False
        self._damage: Exception | None = None
        self._has_other_bytes = False
        # For each array around the place: its line, and the number of its entries so far.
        self._arrays: list[list[int]] = []

    def records(self) -> Iterator[PlacedRecord | BadRecord]:
        """Yield the JSON values of the text in order, those of an array one by one, and what cannot be read."""
        while self._skip_between():
            char = self._text[self._position]
            if char == "]":
                self._position += 1
                if self._arrays:
                    self._arrays.pop()
            elif char == "[" and not self._starts_with(_DONE):
                if len(self._arrays) == _MAX_DEPTH:
                    self._arrays = []
                    yield BadRecord(
                        self._describe_place(), f"is nested in more than {_MAX_DEPTH} arrays; its line was skipped"
                    )
                    self._skip_line(self._position)
                else:
                    self._arrays.append([self._count_lines(), 0])
                    self._position += 1
            # The letters with which the fields of server-sent events begin.
            elif char in "deir:[" and (field := next(filter(self._starts_with, _EVENT_FIELDS), None)):
                if field == _DONE:
                    yield PlacedRecord(self._describe_place(), END)
                self._position += len(field)
                if field != "data:":
                    self._skip_line(self._position)
            else:
                if self._arrays:
                    self._arrays[-1][1] += 1
                yield self._read_value()
        if self._arrays:
            self._arrays[-1][1] += 1
            yield BadRecord(self._describe_place(), "the file ends within an array, so it may be truncated")

    def _read_value(self) -> PlacedRecord | BadRecord:
        """Read the value that begins here, and go to its end; after an error, to the next line."""
        where = self._describe_place()
        begin = self._position
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._position)
            except json.JSONDecodeError as error:
                begin = self._position
                if len(self._text) - begin > self._longest:
                    self._skip_line(begin)
                    return BadRecord(where, describe_excess(self._longest))
                is_cut = error.pos >= len(self._text) - _LONGEST_WORD or error.msg.startswith("Unterminated")
                if is_cut and not self._has_reached_end:  # the value goes on in the next block
                    self._fill()
                    continue
                return self._skip_bad_value(where, error)
            except (ValueError, RecursionError) as error:  # a number of 5,000 digits; nested too deep
                self._skip_line(begin)
                return BadRecord(where, f"must be a JSON object: {error}")
            size = end - self._position
            content = self._text[self._position : end] if self._has_other_bytes else ""
            self._position = end
            self._block = _BLOCK
            if size > self._longest:
                return BadRecord(where, describe_excess(self._longest))
            if _ESCAPED_BYTES.search(content):
                return BadRecord(where, "must be in UTF-8, has other bytes")
            return check_record(value, where)

    def _skip_bad_value(self, where: str, error: json.JSONDecodeError) -> BadRecord:
        """Say what is wrong with the value that begins here, and go to the next line that may begin a value."""
        begin = self._position
        found = _LINE_END.search(self._text, begin)
        line_end = found.start() if found else -1
        line = self._text[begin : None if line_end < 0 else line_end]
        self._skip_line(begin)
        if any(mark in line for mark in _SERVER_LOG) and not line.startswith("{"):
            problem = "is from a server's text log, which has no log-probabilities; log the replies as JSON"
            return BadRecord(where, problem)
        if line_end >= 0 and error.pos > line_end + 1:  # a document of several lines, whose inner lines are indented
            while self._position < len(self._text) and self._text[self._position] not in "{[d":
                self._skip_line(self._position)
        return BadRecord(where, f"must be a JSON object: {error.msg}, column {error.pos - begin + 1}")

    def _skip_between(self) -> bool:
        """Go to the next character that is neither white nor a comma; return False at the end.

        What is skipped is forgotten, so that any amount of it needs the memory of a block.
        """
        while True:
            match = _SEPARATORS.match(self._text, self._position)
            self._position = match.end() if match else self._position
            if len(self._text) - self._position > _LONGEST_WORD:
                return True
            if self._has_reached_end:
                return self._position < len(self._text)
            self._block = _BLOCK
            self._fill()

    def _starts_with(self, word: str) -> bool:
        return self._text.startswith(word, self._position)

    def _skip_line(self, begin: int) -> None:
        """Go to the line after the one at position `begin`; only a block of it is kept in memory."""
        self._position = begin
        while (end := _LINE_END.search(self._text, self._position)) is None or end.end() == len(self._text):
            if self._has_reached_end:
                self._position = len(self._text)
                return
            # A carriage return at the end may be half of a line's end.
            self._position = len(self._text) if end is None else end.start()
            self._block = _BLOCK
            self._fill()
        self._position = end.end()

    def _fill(self) -> None:
        """Read a further block, twice as large as the last one within a value, and forget what was read."""
        block = self._read(min(self._block, self._longest + 1))
        self._has_reached_end = not block
        self._block = 2 * self._block
        self._count_lines()
        text = self._byte_decoder.decode(block, final=not block)
        self._has_other_bytes = self._has_other_bytes or _ESCAPED_BYTES.search(text) is not None
        if not self._text:
            text = text.removeprefix("\ufeff")
        self._text = self._text[self._position :] + text
        self._position = 0
        self._counted_to = 0

    def _read(self, size: int) -> bytes:
        """The next bytes; what precedes damage in a packed file is returned before its error is raised."""
        parts: list[bytes] = []
        while size > 0 and self._damage is None:
            try:
                part = self._stream.read1(size)
            except (OSError, EOFError, zlib.error) as error:
                self._damage = error
                break
            if not part:
                break
            parts.append(part)
            size -= len(part)
        if self._damage is not None and not parts:
            raise self._damage
        return b"".join(parts)

    def _count_lines(self) -> int:
        """The number of the line here, from 1."""
        part = self._text[self._counted_to : self._position]
        # A line feed after a carriage return does not end another line.
        n_pairs = part.count("\r\n") + (part.startswith("\n") and self._ends_with_return)
        self._line += part.count("\n") + part.count("\r") - n_pairs
        self._ends_with_return = part.endswith("\r") if part else self._ends_with_return
        self._counted_to = self._position
        return self._line

    def _describe_place(self) -> str:
        """The place: the line, or the entry of an array, with the array's line unless it is the first."""
        if not self._arrays:
            return f"{self._name}: line {self._count_lines()}"
        first_line, number = self._arrays[-1]
        line = f"line {first_line}, " if first_line > 1 else ""
        return f"{self._name}: {line}entry {number}"
