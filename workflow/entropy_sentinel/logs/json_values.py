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
from entropy_sentinel.logs.log_record import BadRecord, PlacedRecord, checked, too_long

_BLOCK = 1 << 20
# What may stand between JSON values: white space, commas, a byte order mark.
_BETWEEN = re.compile("[ \\t\\r\\n,\ufeff]*")
# Fields of server-sent events, the end of a stream of them, and a length that no JSON word exceeds.
_DONE = "[DONE]"
_FIELDS = (_DONE, "data:", "event:", "id:", "retry:", ":")
_LONGEST_WORD = 16
# Bytes that are not UTF-8, as Python's `surrogateescape` decodes them.
_ESCAPED = re.compile("[\udc80-\udcff]")
# Arrays within arrays around a record; more of them are no log, and each takes memory.
_DEEPEST = 100
# The end of a line in JSON Lines and server-sent events: U+2028 and U+0085 may stand within JSON.
_LINE_END = re.compile(r"\r\n?|\n")
# Lines of a server's text log, which users often try first.
_SERVER_LOG = ("Generated response ", "Received request ")
# The content of the record at the end of a stream.
END: dict[str, Any] = {_DONE: True}


def json_records(stream: Stream, name: str, longest: int) -> Iterator[PlacedRecord | BadRecord]:
    """Yield the objects among the JSON values of a stream: objects and arrays (of arrays) of objects, on any lines.

    Values may be the `data:` fields of server-sent events. What cannot be read is a bad record, and reading continues
    with the next line.
    """
    return _Values(stream, name, longest).records()


class _Values:
    """The text of a stream, read in blocks, and the place in it."""

    def __init__(self, stream: Stream, name: str, longest: int) -> None:
        self._stream, self._name, self._longest = stream, name, longest
        self._decoder = json.JSONDecoder()
        # Bytes that are not UTF-8 become lone surrogates, so that only their record is bad.
        self._bytes = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._text, self._at, self._block, self._is_read = "", 0, _BLOCK, False
        # The number of the line at a position up to which lines are counted.
        self._line, self._counted, self._ends_with_return = 1, 0, False
        self._damage: Exception | None = None
        self._has_other_bytes = False
        # The line of each array around the place, and the number of its entries so far.
        self._arrays: list[list[int]] = []

    def records(self) -> Iterator[PlacedRecord | BadRecord]:
        while self._skip_between():
            here = self._text[self._at]
            if here == "]":
                self._at += 1
                if self._arrays:
                    self._arrays.pop()
            elif here == "[" and not self._begins(_DONE):
                if len(self._arrays) == _DEEPEST:
                    self._arrays = []
                    yield BadRecord(self._where(), f"is nested in more than {_DEEPEST} arrays; its line was skipped")
                    self._to_next_line(self._at)
                else:
                    self._arrays.append([self._number(), 0])
                    self._at += 1
            elif here in "deir:[" and (field := next(filter(self._begins, _FIELDS), None)):
                if field == _DONE:
                    yield PlacedRecord(self._where(), END)
                self._at += len(field)
                if field != "data:":
                    self._to_next_line(self._at)
            else:
                if self._arrays:
                    self._arrays[-1][1] += 1
                yield self._value()
        if self._arrays:
            self._arrays[-1][1] += 1
            yield BadRecord(self._where(), "the file ends within an array, so it may be truncated")

    def _value(self) -> PlacedRecord | BadRecord:
        """The value that begins here, and go to its end; after an error, to the next line."""
        where, begin = self._where(), self._at
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                begin = self._at
                if len(self._text) - begin > self._longest:
                    self._to_next_line(begin)
                    return BadRecord(where, too_long(self._longest))
                if not self._is_read and (
                    error.pos >= len(self._text) - _LONGEST_WORD or error.msg.startswith("Unterminated")
                ):
                    self._fill()
                    continue
                return self._bad(where, error)
            except (ValueError, RecursionError) as error:  # a number of 5,000 digits; nested too deep
                self._to_next_line(begin)
                return BadRecord(where, f"must be a JSON object: {error}")
            size, content = end - self._at, self._text[self._at : end] if self._has_other_bytes else ""
            self._at, self._block = end, _BLOCK
            if size > self._longest:
                return BadRecord(where, too_long(self._longest))
            if _ESCAPED.search(content):
                return BadRecord(where, "must be in UTF-8, has other bytes")
            return checked(value, where)

    def _bad(self, where: str, error: json.JSONDecodeError) -> BadRecord:
        """What is wrong with the value that begins here, and go to the next line that may begin a value."""
        begin = self._at
        found = _LINE_END.search(self._text, begin)
        line_end = found.start() if found else -1
        line = self._text[begin : None if line_end < 0 else line_end]
        self._to_next_line(begin)
        if any(mark in line for mark in _SERVER_LOG) and not line.startswith("{"):
            problem = "is from a server's text log, which has no log-probabilities; log the replies as JSON"
            return BadRecord(where, problem)
        if line_end >= 0 and error.pos > line_end + 1:  # a document of several lines, whose inner lines are indented
            while self._at < len(self._text) and self._text[self._at] not in "{[d":
                self._to_next_line(self._at)
        return BadRecord(where, f"must be a JSON object: {error.msg}, column {error.pos - begin + 1}")

    def _skip_between(self) -> bool:
        """Go to the next character that is neither white nor a comma; return False at the end.

        What is skipped is forgotten, so that any amount of it needs the memory of a block.
        """
        while True:
            match = _BETWEEN.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if len(self._text) - self._at > _LONGEST_WORD:
                return True
            if self._is_read:
                return self._at < len(self._text)
            self._block = _BLOCK
            self._fill()

    def _begins(self, word: str) -> bool:
        return self._text.startswith(word, self._at)

    def _to_next_line(self, begin: int) -> None:
        """Go to the line after the one at position `begin`; only a block of it is kept in memory."""
        self._at = begin
        while (end := _LINE_END.search(self._text, self._at)) is None or end.end() == len(self._text):
            if self._is_read:
                self._at = len(self._text)
                return
            # A carriage return at the end may be half of a line's end.
            self._at = len(self._text) if end is None else end.start()
            self._block = _BLOCK
            self._fill()
        self._at = end.end()

    def _fill(self) -> None:
        """Read a further block, twice as large as the last one within a value, and forget what was read."""
        more = self._read(min(self._block, self._longest + 1))
        self._is_read, self._block = not more, 2 * self._block
        self._number()
        text = self._bytes.decode(more, final=not more)
        self._has_other_bytes = self._has_other_bytes or _ESCAPED.search(text) is not None
        if not self._text:
            text = text.removeprefix("\ufeff")
        self._text, self._at, self._counted = self._text[self._at :] + text, 0, 0

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

    def _number(self) -> int:
        """The number of the line here, from 1."""
        part = self._text[self._counted : self._at]
        # A line feed after a carriage return does not end another line.
        n_pairs = part.count("\r\n") + (part.startswith("\n") and self._ends_with_return)
        self._line += part.count("\n") + part.count("\r") - n_pairs
        self._ends_with_return = part.endswith("\r") if part else self._ends_with_return
        self._counted = self._at
        return self._line

    def _where(self) -> str:
        """The place: the line, or the entry of an array, with the array's line unless it is the first."""
        if not self._arrays:
            return f"{self._name}: line {self._number()}"
        begun, number = self._arrays[-1]
        return f"{self._name}: {f'line {begun}, ' if begun > 1 else ''}entry {number}"
