"""Join the pieces of streamed replies of any server, as `stream_declarations` declares them.

A reply is in one of these states. Its key is what its pieces share: an id, or else a model or a slot, or nothing.
An open reply is in `Joiner._open_replies`, one that has ended also in `_ended_keys`; of a closed one
`_closed_fingerprints` has the first piece.

| State | Event | Next state |
|---|---|---|
| none | a piece | open; ended if it has the end of each of its choices |
| none | a piece whose key is the id of a closed reply | open if it is that reply's first piece again; else refused |
| open | a piece | open; ended with the end of the last choice |
| open | a piece that begins to count its tokens again | another reply opens; this one was interrupted, or is mixed |
| open | `[DONE]` if no other reply is open, the end of the file | closed, interrupted |
| ended | usage, another finish reason, the same choice again in other words | ended |
| ended | a piece with the first field, or the first piece again | closed, and another reply opens |
| ended | `[DONE]`, a piece with a new key, the end of the file; at once if nothing may follow the end | closed |
| closed | without a problem | a response |
| closed | several streams are mixed in it, or it lacks pieces | refused, with their number |

An id tells streams apart. Without one, streams are mixed if several pieces have the first field or the end, if the
numbers of pieces do not follow each other after a reply was left, or if there are more tokens than the server counted.
Pieces that have neither a key nor an end nor another mark cannot be told apart, and are refused.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.printable import describe_json
from entropy_sentinel.logs.parsed_response import find_id, parse_id
from entropy_sentinel.logs.partial_reply import BODY, PartialReply, Parts, read_token_number
from entropy_sentinel.logs.stream_declarations import Stream
from entropy_sentinel.logs.stream_pieces import merge_fields
from entropy_sentinel.logs.value_paths import find_value, look_up

# Number of closed replies whose ids are kept, to recognise pieces that come too late.
_MAX_CLOSED = 1000


class Joiner:
    """Joins the pieces of a file's streams in the order of their arrival; replies with different keys may be mixed."""

    def __init__(self, stream: Stream, is_one_reply: bool = False) -> None:
        """Start a file, or the body of one reply (`is_one_reply`), whose pieces belong together whatever their ids."""
        self._stream, self._is_one_reply = stream, is_one_reply
        self._open_replies: dict[Any, PartialReply] = {}
        # The open replies that have ended, and the first pieces of those that were closed.
        self._ended_keys: dict[Any, None] = {}
        self._closed_fingerprints: dict[Any, int] = {}
        # By key, how many tokens of another reply the last one has.
        self._surplus: dict[Any, int] = {}

    def has_open_reply(self, record: Mapping[str, Any]) -> bool:
        """Whether a reply with this record's key is open."""
        return self._read_key(record) in self._open_replies

    def add(self, record: Mapping[str, Any], place: str = "") -> list[PartialReply]:
        """Add a piece, a chunk of a stream; return the replies that it closes.

        Raises InputError for a piece of a closed reply, or of another form.
        """
        key = self._read_key(record)
        stream = self._stream
        parts = list(self._iterate_parts(record))
        reply = self._open_replies.get(key)
        if not parts:  # such as the usage at the end, or the results of a content filter
            if reply is not None:
                merge_fields(reply.fields, record, leave_out=(stream.choices,), keep=stream.first)
            return []
        closed = self._close_ended(key, parts) if reply is None else self._close_replaced(reply, record, parts)
        reply = self._open_replies.get(key)
        if reply is None:
            reply = self._open_replies[key] = PartialReply(stream, key, place, self._fingerprint(parts))
        elif self._is_abandoned(reply, record):
            reply = self._open_replies[key] = self._replace_abandoned(reply, place)
        reply.add(record, parts)
        if reply.has_ended:
            # Nothing may follow, or nothing would show where the next reply begins.
            if not stream.goes_on or (key is None and not stream.begin):
                closed += self._close(key)
            else:
                self._ended_keys[key] = None
        return closed

    def end_stream(self) -> list[PartialReply]:
        """The replies that `[DONE]` closes: those that have ended, or else the only one."""
        keys = list(self._ended_keys)
        if not keys and len(self._open_replies) == 1:
            keys = list(self._open_replies)
        return [closed for key in keys for closed in self._close(key)]

    def close_all(self) -> list[PartialReply]:
        """The replies that the file's end closes."""
        return [closed for key in list(self._open_replies) for closed in self._close(key)]

    def _read_key(self, record: Mapping[str, Any]) -> Any:
        """What the pieces of a reply share: an id, or else a tuple of texts; None without any."""
        if self._is_one_reply:
            return BODY
        if self._stream.key_is_id:
            return find_id(record, self._stream.key)
        shared = tuple(parse_id(find_value(record, [path])) for path in self._stream.key)
        return shared if any(shared) else None

    def _iterate_parts(self, record: Mapping[str, Any]) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield the number of the choice and the piece of it, for each piece in a record."""
        stream = self._stream
        if not stream.choices:
            yield 0, record
            return
        for part in record.get(stream.choices) or ():
            if not isinstance(part, Mapping):
                raise InputError(f"the choices of a chunk must be objects, got {describe_json(part)}"[:200])
            if any(part.get(root) is not None for root in stream.roots) or stream.is_last_piece(part):
                index = part.get(stream.index) or 0
                if type(index) is not int:
                    raise InputError(
                        f"the `{stream.index}` of a choice must be a whole number, got {describe_json(index)}"[:200]
                    )
                yield index, part

    def _close_ended(self, key: Any, parts: Parts) -> list[PartialReply]:
        """Close the replies that have ended, before a piece that opens another one.

        Raises InputError for a piece of a closed reply, unless it is the first one again, of a reply logged twice.
        """
        was_closed = key is not None and key in self._closed_fingerprints
        if was_closed and self._closed_fingerprints[key] != self._fingerprint(parts):
            raise InputError(f"a chunk of the reply {str(key)[:100]!r} comes after its end")
        return [closed for ended_key in list(self._ended_keys) for closed in self._close(ended_key)]

    def _close_replaced(self, reply: PartialReply, record: Mapping[str, Any], parts: Parts) -> list[PartialReply]:
        """Close an open reply if a piece with its key begins another one."""
        if any(self._begins_reply(reply, index, part) for index, part in parts) or self._is_whole_again(
            reply, record, parts
        ):
            return self._close(reply.key)
        # Replies that were left open before are complete once this one has gone on after its first piece.
        if self._is_abandoned(reply, record) and reply.n_pieces > 1 and not reply.n_gaps:
            interrupted = reply.abandoned_replies
            reply.abandoned_replies = []
            return interrupted
        return []

    def _begins_reply(self, reply: PartialReply, index: Any, part: Mapping[str, Any]) -> bool:
        """Whether a piece of an open reply begins another reply with its key.

        It does after the end of its choice, if it has the field that only first pieces have, such as the role, which
        some servers repeat in each piece. Without an id and such a field, only the end separates two replies.
        """
        choice = reply.choices.get(index)
        stream = self._stream
        if choice is None or not choice.n_ends:
            return False
        may_be_logged_twice = reply.has_unique_key and stream.goes_on
        if may_be_logged_twice and reply.fingerprint == self._fingerprint([(index, part)]):
            return True
        if stream.is_last_piece(part):  # another finish reason, which some servers send
            return False
        has_first_field = stream.is_first_piece(part) and not choice.always_begins
        only_ends_separate = not reply.has_unique_key and not choice.n_begins
        return has_first_field or only_ends_separate

    def _is_whole_again(self, reply: PartialReply, record: Mapping[str, Any], parts: Parts) -> bool:
        """Whether a record is another whole reply with the id of one that was whole in one record, too.

        Pieces that all have an end count the tokens of all pieces so far.
        """
        stream = self._stream
        if reply.only_record is None or not reply.has_ended:
            return False
        if not any(stream.is_last_piece(part) and stream.has_content(part) for _, part in parts):
            return False
        counted = look_up(record, stream.count) if stream.count else None
        before, steps = find_value(reply.only_record, stream.steps), find_value(record, stream.steps)
        if type(counted) is int and isinstance(before, list) and isinstance(steps, list):
            return len(before) + len(steps) > counted
        return True

    def _is_abandoned(self, reply: PartialReply, record: Mapping[str, Any]) -> bool:
        """Whether a piece begins to count again, so that the open reply was left before its end."""
        number = read_token_number(self._stream, record)
        if number is None or reply.last_number is None or number > reply.last_number or reply.n_gaps:
            return False
        steps = find_value(record, self._stream.steps)
        # A first piece counts no more than its own tokens.
        n_own_steps = len(steps) if isinstance(steps, list) else 1
        return number <= max(1, n_own_steps)

    def _replace_abandoned(self, reply: PartialReply, place: str) -> PartialReply:
        """A new reply in place of one that was left open; it keeps those that were, until they are closed with it."""
        earlier = reply.abandoned_replies
        reply.abandoned_replies = []
        earlier.append(reply)
        return PartialReply(self._stream, reply.key, place, abandoned_replies=earlier)

    def _fingerprint(self, parts: Parts) -> int:
        """A hash that tells a piece apart from others: of its texts, and of the first and last entries of its lists."""
        if not self._stream.goes_on:
            return 0  # the end of such a stream is clear
        marks: list[Any] = []
        for index, piece in parts:
            for part in self._stream.parts:
                value = find_value(piece, [part.path])
                marks.append((index, value if isinstance(value, str) else _outline_list(value)))
        return hash(repr(marks))

    def _close(self, key: Any) -> list[PartialReply]:
        """A reply that is closed, after those that were left open before it, unless they are mixed in it."""
        self._ended_keys.pop(key, None)
        reply = self._open_replies.pop(key)
        if reply.has_unique_key and self._stream.goes_on:
            self._closed_fingerprints[key] = reply.fingerprint
            if len(self._closed_fingerprints) > _MAX_CLOSED:
                del self._closed_fingerprints[next(iter(self._closed_fingerprints))]
        reply.count_surplus(self._surplus.pop(key, 0))
        if reply.surplus > 0:
            self._surplus[key] = reply.surplus
        return [reply] if reply.count_streams() > 1 else [*reply.abandoned_replies, reply]


def _outline_list(value: Any) -> Any:
    """The length, the first and the last entry of a list; None for anything else or an empty list."""
    return (len(value), value[0], value[-1]) if isinstance(value, list) and value else None
