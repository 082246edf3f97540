"""Servers' own formats, declared: where the tokens, their log-probabilities and the alternatives of a response stand.

A path has names and numbers joined by dots, such as `details.tokens` or `choices.0`. `[*]` is every entry of a list,
and `*` also every value of an object. Of several paths, the first with a value counts. A format with another structure
has a reader of its own.
Clients in Python rename the fields of some servers, so a field `logProbability` may be `log_probability`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from entropy_sentinel.core.extensions import load_declarations
from entropy_sentinel.core.registry_entries import is_built_in
from entropy_sentinel.logs.step_forms import LOGPROB_NAMES, TOP_NAMES, are_steps
from entropy_sentinel.logs.stream_declarations import (
    CHUNKS,
    RESPONSES,
    Stream,
)
from entropy_sentinel.logs.value_paths import Paths, find_value, look_up

# The place of a value in a step: a name, or a position in a list.
Key = str | int


@dataclass(frozen=True)
class Layout:
    """Where the parts of a response stand in a record of one server.

    Attributes:
        steps: Paths of the list of sampled tokens in a response, whose steps are objects or lists, or of an object in
            any form that `steps` reads.
        logprob: The place of the sampled token's log-probability in a step; null if a step is the number itself.
        token: The place of the token's text in a step; null if `tokens` has it. Usual names of both also count.
        token_id: The place of the token's id in a step.
        tokens: Path of the list of tokens' texts in a response.
        top: Path in a step of its alternatives; null if `all_top` has them, or for the usual names.
        all_top: Path in a response of the list with an entry per step.
        entries: Path in an entry of `all_top` of the list of alternatives.
        top_logprob: The place of the log-probability in an alternative.
        responses: Path in a record of a list of responses; null if the record is one response.
        text, thinking, finish: Paths in a response.
        item_id, model, time, prompt_tokens, error: Paths in a record.
        parts: Whether `text` may be a list of objects with a `text` or `content`.
        stream: Where the pieces of a streamed response have their parts; the whole response has this layout.
        displaces: As in `Reply`.
        needs: Paths of fields that a record must have besides its steps.
        sign: Paths of a field that only this server's replies have, also if log-probabilities were not requested. Like
            `needs` and `requests`, it may state the field's value and a further field: `type=message&content`.
        requests: Paths of fields by which records are recognised that are requests, and that precede their replies.
        any_record: Whether any record with readable steps has this layout, so that other formats come first.
    """

    steps: Paths
    text: Paths
    logprob: Key | None = "logprob"
    token: Key | None = "token"
    token_id: Key | None = None
    tokens: str | None = None
    top: str | None = None
    all_top: str | None = None
    entries: str | None = None
    top_logprob: Key = "logprob"
    responses: str | None = None
    thinking: Paths = ()
    finish: Paths = ("finish_reason",)
    item_id: Paths = ("id",)
    model: Paths = ("model",)
    time: Paths = ()
    prompt_tokens: Paths = ()
    error: Paths = ("error",)
    parts: bool = False
    stream: Stream | None = None
    displaces: bool = False
    needs: Paths = ()
    sign: Paths = ()
    requests: Paths = ()
    any_record: bool = False

    def recognises(self, record: Mapping[str, Any]) -> bool:
        """Whether a record has this layout: its steps, a piece of its stream, or its `sign`."""
        return (
            self.has_steps(record)
            or (self.stream is not None and self.stream.is_piece(record))
            or any(map(partial(_has_sign, record), (*self.sign, *self.requests)))
        )

    @property
    def has_usual_steps(self) -> bool:
        """Whether `steps` reads the steps: the log-probability and the alternatives of a step have usual names."""
        usual_top = self.all_top is None and (self.top is None or self.top in TOP_NAMES)
        return usual_top and self.logprob in LOGPROB_NAMES and self.tokens is None

    def is_request(self, record: Mapping[str, Any]) -> bool:
        """Whether a record is a request, whose reply comes next."""
        return any(_has_sign(record, sign) for sign in self.requests)

    def has_steps(self, record: Mapping[str, Any]) -> bool:
        """Whether a record has the list of sampled tokens of this layout."""
        if not all(_has_sign(record, sign) for sign in self.needs):
            return False
        part: Any = record
        if self.responses is not None:
            parts = look_up(record, self.responses)
            part = parts[0] if isinstance(parts, list) and parts else None
        steps = [find_value(part, [path]) for path in self.steps]
        if self.any_record:
            return any(map(are_steps, steps))
        return any(isinstance(value, list) or are_steps(value) for value in steps)


def _has_sign(record: Mapping[str, Any], sign: str) -> bool:
    """Whether a record has a value at each path of a sign, or the value that follows the path's `=`."""
    for part in sign.split("&"):
        path, _, must = part.partition("=")
        value = find_value(record, [path])
        if value is None or must not in ("", value):
            return False
    return True


def find_layout(record: Mapping[str, Any]) -> Layout | None:
    """The layout of a server's reply; None if no layout has its steps."""
    return next((layout for layout in load_layouts() if layout.recognises(record)), None)


def find_layout_by_steps(record: Mapping[str, Any]) -> Layout | None:
    """The layout whose steps a record has; None if there is none."""
    return next((layout for layout in load_layouts() if layout.has_steps(record)), None)


def find_stream(record: Mapping[str, Any]) -> Stream | None:
    """The declared stream that a record is a piece of; None if there is none."""
    streams = (CHUNKS, RESPONSES, *(layout.stream for layout in load_layouts()))
    return next((stream for stream in streams if stream is not None and stream.is_piece(record)), None)


def are_pieces(records: Sequence[Any]) -> bool:
    """Whether records are the pieces of a stream, and the first of them is not its last."""
    first_one = records[0] if len(records) > 1 else None
    if not isinstance(first_one, Mapping) or (stream := find_stream(first_one)) is None:
        return False
    return stream.is_unfinished(first_one)


@cache
def load_layouts() -> list[Layout]:
    """The layouts of all declared formats, those of extensions first. The catalogue imports this."""
    formats = load_declarations("formats")
    forms = [formats[name].form for name in sorted(formats, key=partial(is_built_in, "formats"))]
    return [form for form in forms if isinstance(form, Layout)]
