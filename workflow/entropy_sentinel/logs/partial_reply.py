"""A streamed reply so far, and whether the pieces in it are those of one stream."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.logs.stream_declarations import Stream
from entropy_sentinel.logs.stream_pieces import PartialChoice, merge_fields
from entropy_sentinel.logs.value_paths import find_value, look_up

# A part of a record: the position of a choice, and its piece.
Parts = Sequence[tuple[Any, Mapping[str, Any]]]
# The key of the only reply in a body.
BODY = "the reply"
_REMEDY = "log the id of each reply, or one stream after the other"


@dataclass
class PartialReply:
    """A streamed reply so far.

    Attributes:
        stream: Its declaration.
        key: What its pieces share; null if they have no key.
        place: The place of its first piece.
        fingerprint: A number that tells its first piece apart from others.
        fields: The fields of the reply outside its choices.
        choices: Its choices by position.
        abandoned_replies: Replies without a key that were left open before this one. They were interrupted, unless the
            streams turn out to be mixed.
        last_number: The number of tokens so far, as the last piece states it.
        n_gaps: The number of pieces whose number is not the next one.
        surplus: How many more tokens the reply has than the server counted; negative for fewer.
        is_rest: Whether tokens that it lacks are in the reply before it.
        only_record: Its record, if it is only one.
    """

    stream: Stream
    key: Any = None
    place: str = ""
    fingerprint: int = 0
    fields: dict[str, Any] = field(default_factory=dict)
    choices: dict[Any, PartialChoice] = field(default_factory=dict)
    abandoned_replies: list["PartialReply"] = field(default_factory=list)
    last_number: int | None = None
    n_gaps: int = 0
    surplus: int = 0
    is_rest: bool = False
    only_record: Mapping[str, Any] | None = None

    @property
    def has_unique_key(self) -> bool:
        """Whether an id tells the reply apart from all others, or it is alone."""
        return self.key == BODY or (self.key is not None and self.stream.key_is_id)

    @property
    def has_ended(self) -> bool:
        """Whether each choice has ended."""
        return bool(self.choices) and all(choice.n_ends for choice in self.choices.values())

    @property
    def n_pieces(self) -> int:
        """The number of pieces."""
        return sum(choice.n_pieces for choice in self.choices.values())

    def add(self, record: Mapping[str, Any], parts: Parts) -> None:
        """Add the parts of a record to their choices."""
        stream = self.stream
        self.only_record = None if self.choices else record
        if stream.choices:
            merge_fields(self.fields, record, leave_out=(stream.choices,), keep=stream.first)
        number = read_token_number(stream, record)
        if number is not None:
            before = 0 if self.last_number is None else self.last_number
            # The first number is 0 or 1.
            is_next = number in (before, before + 1) if self.last_number is None else number == before + 1
            self.n_gaps += not is_next if stream.consecutive else number < before
            self.last_number = number
        for index, part in parts:
            choice = self.choices.get(index)
            if choice is None:
                choice = self.choices[index] = PartialChoice(stream)
            choice.add(part)

    def count_streams(self) -> int:
        """How many streams are mixed in this reply, at least; 1 if it is only its own."""
        n = 1
        if self.has_unique_key:
            return n
        for choice in self.choices.values():
            # A stream has one end of a choice, and one first field, unless the server repeats that in each piece.
            n = max(n, choice.n_ends, 0 if choice.always_begins else choice.n_begins)
        if self.n_gaps:
            n = max(n, 1 + len(self.abandoned_replies))
        return max(n, 2) if self.surplus > 0 or self.is_rest else n

    def build_reply(self) -> dict[str, Any]:
        """The reply in the form of one that was not streamed.

        Raises InputError if a piece was unreadable or is missing, or if streams are mixed.
        """
        self._check_pieces()
        return self.join_pieces()

    def _check_pieces(self) -> None:
        """Raise InputError for a stream whose pieces are incomplete, or could be those of several streams."""
        if any(choice.n_unreadable for choice in self.choices.values()):
            raise InputError(f"the stream {str(self.key)[:100]!r} has an unreadable chunk")
        stream = self.stream
        n = self.count_streams()
        n_pieces = self.n_pieces
        if n > 1:
            n_pieces += sum(reply.n_pieces for reply in self.abandoned_replies)
            raise InputError(
                f"{n} streams without an id are mixed in {n_pieces} pieces, which cannot be told apart; {_REMEDY}"
            )
        if self.n_gaps:
            raise InputError(f"the stream lacks pieces: the number of {self.n_gaps} of its pieces is not the next one")
        has_marks = self.key is not None or self.has_ended or stream.begin or stream.flag or stream.order
        if n_pieces > 1 and not has_marks:
            raise InputError(f"{n_pieces} pieces without an id and an end cannot be told apart; {_REMEDY}")

    def join_pieces(self) -> dict[str, Any]:
        """The pieces so far as a reply that was not streamed."""
        stream = self.stream
        if not stream.choices:
            (choice,) = self.choices.values()
            return choice.join_pieces()
        choices = []
        for index in sorted(self.choices):
            choices.append({stream.index: index, **self.choices[index].join_pieces()})
        whole = {**self.fields, stream.choices: choices}
        if isinstance(whole.get("object"), str):
            whole["object"] = whole["object"].removesuffix(".chunk")
        return whole

    def count_surplus(self, previous_surplus: int) -> None:
        """Compare the tokens with the number that the server counted, after `previous_surplus` of the reply before."""
        stream = self.stream
        if not stream.count or self.has_unique_key or not self.has_ended:
            return
        whole = self.join_pieces()
        counted = look_up(whole, stream.count)
        steps = find_value(whole, stream.steps)
        if type(counted) is int and (isinstance(steps, list) or previous_surplus):
            self.surplus = len(steps or ()) - counted
            self.is_rest = self.surplus < 0 < previous_surplus


def read_token_number(stream: Stream, record: Mapping[str, Any]) -> int | None:
    """The number of tokens so far that a piece states."""
    number = look_up(record, stream.order) if stream.order else None
    return number if type(number) is int else None
