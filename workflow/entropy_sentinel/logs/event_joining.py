"""Join typed events, such as those of the Responses API: an event opens a reply, others bring pieces, one closes it.

Pieces name an item of the reply and not the reply itself. The item belongs to the reply that has no item yet; if there
are several, only the closing event can say whose it is, by the items of its output.

| State of a reply | Event | Next state |
|---|---|---|
| none | an event with the reply so far | open, without an item |
| open, without an item | a piece of a new item, and no other reply is without one | open, with this item |
| open | a piece of a new item, every reply has an item, and no other one is open | open, with this item, too |
| several could have it, or none | a piece of a new item | the item is pooled; only closing events can tell its reply |
| none, or open | its closing event | closed, with the pooled items that its output names |
| open | its closing event, which names none of the pooled items, and it has none | closed and refused: mixed |
| open | the end of the file | closed, interrupted; the pooled items are refused if several streams are mixed in them |
"""

from collections.abc import Mapping
from functools import cached_property
from itertools import islice
from typing import Any

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.logs.parsed_response import parse_id
from entropy_sentinel.logs.partial_reply import PartialReply
from entropy_sentinel.logs.stream_declarations import Events, Stream
from entropy_sentinel.logs.stream_joiner import Joiner
from entropy_sentinel.logs.stream_pieces import PartialChoice


class PartialEvents(PartialReply):
    """A reply of events so far; its choices are by the item's id and the positions of the piece."""

    # How many replies are mixed in it, and how many of them were closed.
    n_mixed: int = 0
    n_closed: int = 0

    @property
    def has_ended(self) -> bool:
        """Whether its closing event came."""
        return self.has_closed

    has_closed: bool = False

    @cached_property
    def whole_values(self) -> dict[Any, dict[str, Any]]:
        """The values of events that have them whole, by field; by the item and the positions of the pieces."""
        return {}

    def build_reply(self) -> dict[str, Any]:
        """The reply with the texts and log-probabilities of its items.

        Those in the `output` of the final event are preferred (`join_pieces`).

        Raises InputError if it is not known which pieces belong to it.
        """
        if self.n_mixed:
            raise InputError(
                f"{self.n_mixed} streams are mixed, and {self.n_pieces} pieces do not tell to which they belong"
            )
        if any(choice.n_unreadable for choice in self.choices.values()):
            raise InputError(f"the stream {str(self.key)[:100]!r} has an unreadable chunk")
        return self.join_pieces()

    def join_pieces(self) -> dict[str, Any]:
        """The pieces so far as a reply that was not streamed."""
        output = self.fields.get("output")
        if not self.choices or (output is not None and not isinstance(output, list)):
            return dict(self.fields)
        items = [dict(item) if isinstance(item, Mapping) else item for item in output or ()]
        # In the order of the positions in the output and in the content of an item.
        for (item_id, number, position), choice in sorted(self.choices.items(), key=lambda pair: pair[0][1:]):
            whole = self.whole_values.get((item_id, number, position)) or {}
            whole = choice.join_pieces() | {name: value for name, value in whole.items() if value}
            _fill_content(_find_item(items, item_id, number), position, whole)
        return {**self.fields, "output": items}


def _find_item(items: list[Any], item_id: Any, number: int) -> dict[str, Any]:
    """The item with an id, or the message at its position (some servers change the id), or a new one."""
    messages = [item for item in items if isinstance(item, dict) and item.get("type") == "message"]
    for item in messages:
        if item.get("id") == item_id:
            return item
    if number < len(items) and any(items[number] is item for item in messages):
        at_position: dict[str, Any] = items[number]
        return at_position
    items.append({"type": "message", "id": item_id, "content": []})
    added: dict[str, Any] = items[-1]
    return added


def _fill_content(item: dict[str, Any], position: int, piece: Mapping[str, Any]) -> None:
    """Add the text and the log-probabilities of a content of an item if they are missing."""
    content = item["content"] = list(item.get("content") or ())
    if position >= len(content):  # a large position must not take memory
        position = len(content)
        content.append({"type": "output_text"})
    part = content[position]
    if not isinstance(part, Mapping):
        return
    text = part.get("text") or part.get("refusal")
    if not text or text == piece.get("text"):  # other pieces are missing, or it is another content
        content[position] = {**part, **{name: value for name, value in piece.items() if value and not part.get(name)}}


def _parse_position(value: Any) -> int:
    """A position from 0; 0 for what is none."""
    return value if type(value) is int and value >= 0 else 0


class EventJoiner(Joiner):
    """Joins the events of a file's streams."""

    def __init__(self, stream: Stream) -> None:
        """Start a file."""
        super().__init__(stream)
        assert stream.events is not None
        self._events: Events = stream.events
        # The reply of each item, null if it is not known, and the open replies without an item.
        self._reply_by_item: dict[Any, Any] = {}
        self._awaiting_item: dict[Any, None] = {}

    def has_open_reply(self, record: Mapping[str, Any]) -> bool:
        """Whether the reply with this id is open."""
        return parse_id(record.get("id")) in self._open_replies

    def drop_reply(self, record: Mapping[str, Any]) -> None:
        """Forget the open reply with the id of a record, which is the whole reply."""
        self._awaiting_item.pop(parse_id(record.get("id")), None)
        if (key := parse_id(record.get("id"))) is not None:
            self._open_replies.pop(key, None)

    def add(self, record: Mapping[str, Any], place: str = "") -> list[PartialReply]:
        """Add an event; return the reply that it closes, in a list, or an empty list."""
        kind = record.get(self._events.kind)
        if kind in self._events.closing:
            return [self._close_reply(record[self._events.reply], place)]
        body = record.get(self._events.reply)
        if isinstance(body, Mapping) and (key := parse_id(body.get("id"))) is not None:  # it opens or updates a reply
            if key not in self._open_replies:
                self._awaiting_item[key] = None
            self._open_reply(key, place).fields |= {name: value for name, value in body.items() if name != "status"}
        elif kind in (*self._events.adding, *self._events.whole):  # a piece of an item, or all of it
            item = parse_id(record.get(self._events.item))
            places = [_parse_position(record.get(name)) for name in self._events.places]
            reply = self._open_reply(self._find_owner(item), place)
            choice = reply.choices.setdefault((item, *places), PartialChoice(self._stream))
            if kind in self._events.whole:
                reply.whole_values[item, *places] = {
                    part.target: record.get(part.target) for part in self._stream.parts
                }
            else:
                choice.add({part.path: record.get(part.path) for part in self._stream.parts})
        return []

    def _open_reply(self, key: Any, place: str) -> PartialEvents:
        """The open reply with a key, which is opened if there is none.

        The key None is that of the pool, which has the items whose reply is not known.
        """
        reply = self._open_replies.get(key)
        if not isinstance(reply, PartialEvents):
            reply = self._open_replies[key] = PartialEvents(self._stream, key, place)
        return reply

    def _find_owner(self, item: Any) -> Any:
        """The key of the reply to which an item belongs; null if several may be meant, or none is open."""
        if item not in self._reply_by_item:
            n = len(self._awaiting_item)
            # Replies without an item, or else all open ones; of more than one it is not known which is meant.
            candidates = list(islice(self._awaiting_item or filter(None, self._open_replies), 2))
            self._reply_by_item[item] = owner = candidates[0] if len(candidates) == 1 else None
            self._awaiting_item.pop(owner, None)
            if len(candidates) > 1:
                pool = self._open_reply(None, "")
                pool.n_mixed = max(pool.n_mixed, n, 2)
        return self._reply_by_item[item]

    def _close_reply(self, body: Any, place: str) -> PartialReply:
        """The reply that the event with its whole `body` ends; it may not have begun in this log."""
        key = parse_id(body.get("id")) if isinstance(body, Mapping) else None
        self._awaiting_item.pop(key, None)
        reply = self._open_replies.pop(key, None) if key is not None else None
        if reply is None:
            reply = PartialEvents(self._stream, key, place)
        assert isinstance(reply, PartialEvents)
        reply.fields = body
        reply.has_closed = True
        pool = self._open_replies.get(None)
        if isinstance(pool, PartialEvents) and isinstance(body, Mapping):
            self._claim_choices(reply, pool, body)
        for item, *_ in reply.choices:
            self._reply_by_item.pop(item, None)
        return reply

    def _claim_choices(self, reply: PartialEvents, pool: PartialEvents, body: Mapping[str, Any]) -> None:
        """Move to a reply its choices among those of the pool, whose reply is not known."""
        output = body.get("output")
        ids = set()
        if isinstance(output, list):
            ids = {item.get("id") for item in output if isinstance(item, Mapping)}
        n_items = len({item for item, *_ in pool.choices})
        if not pool.n_mixed and n_items == 1 and len(self._open_replies) == 1:
            owned = list(pool.choices)
        elif ids or reply.choices:
            owned = [place for place in pool.choices if place[0] in ids]
        else:  # nothing says which are its own: they are mixed, and the last of the mixed replies empties the pool
            reply.choices = dict(pool.choices)
            reply.n_mixed = max(n_items, pool.n_mixed, 2)
            pool.n_closed += 1
            owned = list(pool.choices) if pool.n_closed >= reply.n_mixed else []
        for place in owned:
            reply.choices[place] = pool.choices.pop(place)
        if not pool.choices:
            del self._open_replies[None]

    def close_all(self) -> list[PartialReply]:
        """The replies whose closing event did not come."""
        replies = list(self._open_replies.values())
        self._open_replies = {}
        return replies

    def end_stream(self) -> list[PartialReply]:
        """An empty list: only closing events end replies."""
        return []


def make_joiner(stream: Stream, is_one_reply: bool = False) -> Joiner:
    """The joiner of a file's streams, or of the body of one reply (`is_one_reply`)."""
    return Joiner(stream, is_one_reply) if stream.events is None else EventJoiner(stream)
