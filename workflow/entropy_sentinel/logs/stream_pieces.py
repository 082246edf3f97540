"""Put the pieces of a streamed choice together, as `streams` declares them."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.printable import describe_json
from entropy_sentinel.logs.stream_declarations import Join, Part, Stream
from entropy_sentinel.logs.value_paths import look_up, to_snake_case


class _Pieces:
    """The pieces of one value so far."""

    def __init__(self, part: Part) -> None:
        self._part = part
        # Pieces that follow each other. As long as each piece repeats the ones before it, the last one and their
        # lengths are kept in place of the pieces. `_lengths` is None once a piece does not begin with the one before
        # it.
        self._pieces: list[Any] = []
        self._last: Any = None
        self._lengths: list[int] | None = [] if part.join is Join.EITHER else None

    def add(self, piece: Any) -> None:
        """Add a piece, in the way in which the pieces of this value are joined; raises InputError for another form."""
        join = self._part.join
        if join is Join.ENTRY:
            self._pieces.append(piece)
        elif join is Join.CALLS:
            if not isinstance(piece, list) or not all(isinstance(call, Mapping) for call in piece):
                raise InputError(f"`{self._part.path}` must be a list of objects, got {describe_json(piece)}"[:200])
            for call in piece:
                _add_call(self._pieces, call)
        elif join is Join.CALL:
            self._pieces = [_extend_call(self._pieces[0] if self._pieces else {}, piece)]
        elif not isinstance(piece, str | list):
            raise InputError(
                f"the pieces of `{self._part.path}` must be texts or lists, got {describe_json(piece)}"[:200]
            )
        elif self._pieces and type(piece) is not type(self._pieces[0]):
            raise InputError(f"the pieces of `{self._part.path}` are texts and lists")
        elif join is Join.REPEAT:
            self._pieces = [piece]
        elif self._lengths is None:
            self._pieces.append(piece)
        elif piece:
            self._add_repeating(piece, self._lengths)

    def _add_repeating(self, piece: Any, lengths: list[int]) -> None:
        """Add a piece after pieces of these lengths that each repeat the ones before, as this one may do too."""
        if self._last is None or piece[: len(self._last)] == self._last:
            lengths.append(len(piece))
            self._last = piece
        else:
            self._pieces = [*self._split_pieces(lengths), piece]
            self._last = None
            self._lengths = None

    def _split_pieces(self, lengths: list[int]) -> list[Any]:
        """The pieces, each of which repeats the ones before it."""
        return [self._last[:length] for length in lengths]

    @property
    def is_list(self) -> bool:
        """Whether the pieces are lists."""
        example = self._last if self._lengths else next(iter(self._pieces), None)
        return isinstance(example, list)

    @property
    def may_repeat(self) -> bool:
        """Whether each piece repeats the ones before it."""
        return bool(self._lengths)

    def repeats(self, has_ended: bool, counted: Any) -> bool:
        """Whether each piece is longer than the one before it and repeats it.

        The last piece of a reply that has ended may be equal to the one before it, unless the server counted both:
        `counted` is the number of tokens that it reports.
        """
        lengths = self._lengths or []
        rising = lengths[:-1] if has_ended and counted != sum(lengths) else lengths
        return bool(lengths) and all(n < following for n, following in pairwise(rising))

    def build_value(self, repeats: bool) -> Any:
        """The whole value; `repeats` tells whether pieces that may repeat the ones before them do so."""
        if self._lengths:
            return self._last if repeats else _concatenate_pieces(self._split_pieces(self._lengths))
        if self._part.join is Join.CALL:
            return self._pieces[0]
        if self._part.join in (Join.ENTRY, Join.CALLS):
            return list(self._pieces)
        return _concatenate_pieces(self._pieces)


def _concatenate_pieces(pieces: Sequence[Any]) -> Any:
    """The pieces, all texts or all lists, as one text or list."""
    if not pieces or isinstance(pieces[0], str):
        return "".join(pieces)
    return [entry for piece in pieces for entry in piece]


def _add_call(calls: list[Any], part: Mapping[str, Any]) -> None:
    """Add a piece of a tool call, `part`; pieces of one call have one index, or else belong to the last call."""
    index = part.get("index")
    call = None
    if index is not None:
        call = next((call for call in calls if call.get("index") == index), None)
    elif calls and not part.get("id"):
        call = calls[-1]
    if call is None:
        calls.append(call := {})
    function = _extend_call(call.get("function") or {}, part.get("function") or {})
    call |= {name: value for name, value in part.items() if value is not None}
    if function:
        call["function"] = function


def _extend_call(function: Mapping[str, Any], part: Any) -> dict[str, Any]:
    """A call's name and arguments with a further piece of the arguments."""
    if not isinstance(part, Mapping):
        return dict(function)
    arguments = (function.get("arguments") or "") + (part.get("arguments") or "")
    return {**function, **{name: value for name, value in part.items() if value}, "arguments": arguments}


class PartialChoice:
    """A choice of a streamed reply so far."""

    def __init__(self, stream: Stream) -> None:
        """Start without pieces."""
        self._stream = stream
        self._moves = dict(stream.moves)
        self._pieces: dict[str, _Pieces] = {}
        self._fields: dict[str, Any] = {}
        # Pieces so far: all, those with the first field, those with the end, and those that could not be added.
        self.n_pieces, self.n_begins, self.n_ends, self.n_unreadable = 0, 0, 0, 0

    def add(self, piece: Mapping[str, Any]) -> None:
        """Add a piece; raise InputError if a part has another form."""
        stream = self._stream
        self.n_pieces += 1
        self.n_begins += stream.is_first_piece(piece)
        self.n_ends += stream.is_last_piece(piece)
        # A choice is unreadable until the whole piece is added, because a response must not lack a piece.
        self.n_unreadable += 1
        for part in stream.parts:
            value = _read_path(piece, part.path)
            if value is not None:
                self._pieces.setdefault(part.path, _Pieces(part)).add(value)
        merge_fields(self._fields, piece, self._moves, stream.dropped_fields, stream.first)
        self.n_unreadable -= 1

    @property
    def always_begins(self) -> bool:
        """Whether the server repeats the first field in each piece, so that it says nothing."""
        return self.n_pieces > 1 and self.n_begins == self.n_pieces

    def join_pieces(self) -> dict[str, Any]:
        """The choice in the form of one that was not streamed."""
        whole = dict(self._fields)
        # Whether a server's pieces repeat the ones before them is seen from lists rather than from texts.
        lists = [pieces for pieces in self._pieces.values() if pieces.is_list]
        count = look_up(whole, self._stream.count) if self._stream.count else None
        lists_repeat = all(pieces.repeats(bool(self.n_ends), count) for pieces in lists)
        for part in self._stream.parts:
            pieces = self._pieces.get(part.path)
            if pieces is None or (part.spare and look_up(whole, part.target) is not None):
                continue  # the last piece has the whole value
            repeats = pieces.may_repeat and lists_repeat
            if pieces.is_list or not lists:
                repeats = pieces.repeats(bool(self.n_ends), count)
            _set_path(whole, part.target, pieces.build_value(repeats))
        if not self._pieces:
            for target in self._moves.values():
                whole.setdefault(target, {})
        return whole


def _read_path(piece: Mapping[str, Any], path: str) -> Any:
    """The value at a path, or None; raises InputError if the value is within something else than an object."""
    value: Any = piece
    for name in path.split("."):
        if value is None:
            return None
        if not isinstance(value, Mapping):
            root, _, rest = path.rpartition(".")
            raise InputError(
                f"the `{root}` of a chunk must be an object with `{rest}`, got {type(value).__name__}; request "
                "alternatives too, such as `top_logprobs: 20`, which the server may give only without a stream"
            )
        value = value[name] if name in value else value.get(to_snake_case(name))
    return value


def merge_fields(
    fields: dict[str, Any],
    piece: Mapping[str, Any],
    moves: Mapping[str, str] | None = None,
    leave_out: Iterable[str] = (),
    keep: Sequence[str] = (),
) -> None:
    """Add the fields of a piece that are not null; the last value counts, except for fields to `keep`: there the first.

    `moves` has new names of fields.
    """
    for name, value in piece.items():
        if value is None or name in leave_out or (name in keep and name in fields):
            continue
        name = moves.get(name, name) if moves else name
        if isinstance(value, Mapping):
            earlier = fields.get(name)
            merged = dict(earlier) if isinstance(earlier, Mapping) else {}
            merged |= {field: content for field, content in value.items() if content is not None}
            value = merged
        fields[name] = value


def _set_path(record: dict[str, Any], path: str, value: Any) -> None:
    """Set the value at a path in a copy of each object on the way."""
    *way, name = path.split(".")
    for part in way:
        inner = record.get(part)
        record[part] = dict(inner) if isinstance(inner, Mapping) else {}
        record = record[part]
    record[name] = value
