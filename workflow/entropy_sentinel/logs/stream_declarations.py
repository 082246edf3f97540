"""Streams of servers, declared: what the pieces of a streamed reply belong to, and how they are put together.

`joining` joins the pieces of any stream. A path has names joined by dots; a name in camel case may be in snake case.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

from entropy_sentinel.logs.value_paths import Paths, find_value, look_up

# Values with which servers write that a choice has not ended.
_NO_END = (None, False, "", 0, "FINISH_REASON_UNSPECIFIED")


class Join(Enum):
    """How the pieces of a value are put together."""

    ADD = "each piece, a text or a list, follows the one before it"
    REPEAT = "each piece repeats everything before it, so the last one is the whole"
    EITHER = "as a setting of the server says: the pieces show it"
    ENTRY = "each piece is one entry of a list"
    CALLS = "each piece is a list of pieces of tool calls, told apart by their `index`"
    CALL = "each piece is an object with a piece of the `arguments`"


@dataclass(frozen=True)
class Part:
    """A value that comes in pieces.

    Attributes:
        path: Where a choice has a piece.
        to: Where the whole reply has the value; empty for the same place.
        join: How the pieces are put together.
        spare: Whether the value counts only if the last piece does not have the whole one.
    """

    path: str
    to: str = ""
    join: Join = Join.ADD
    spare: bool = False

    @property
    def target(self) -> str:
        """Where the whole reply has the value."""
        return self.to or self.path


@dataclass(frozen=True)
class Events:
    """Typed events, of which some have the reply so far, and some a piece of an item of the reply's `output`.

    Attributes:
        kind: The field with the type.
        adding: Types of events with a piece.
        whole: For values that come in pieces, the type of the event that has them whole.
        closing: Types of events with the whole reply, which may lack what came in pieces.
        reply: The field with the reply, in the closing events and in those that open it.
        item: The field with the id of the item to which a piece belongs; a piece does not name its reply.
        places: The fields with the positions of a piece in the output and in the content of the item.
    """

    kind: str
    adding: tuple[str, ...]
    whole: tuple[str, ...]
    closing: tuple[str, ...]
    reply: str
    item: str
    places: tuple[str, str]


@dataclass(frozen=True)
class Stream:
    """Where the pieces of a stream have their parts.

    Attributes:
        parts: The values that come in pieces.
        key: Paths of what the pieces of one reply share: its id, or else a model or a slot.
        key_is_id: Whether the key is the reply's id, so that no other reply has it.
        choices: The field with a piece's list of choices; empty if a piece is of one choice.
        index: The field with the position of a choice.
        begin: Path in a choice of a field that only its first piece has.
        end: Paths in a choice of a field that only its last piece has.
        flag: A field that is false in each piece and true in the last one, in place of `end`.
        order: Path of the number of tokens so far, which rises with each piece; a small one begins another reply.
        consecutive: Whether it rises by one.
        count: Path in the last piece of the number of the reply's tokens. It shows mixed streams without an id, and
            whether lists are repeated or added.
        steps: Paths in the whole reply of the list that has an entry for each of these tokens.
        goes_on: Whether further pieces may follow the end, such as the usage.
        first: Fields whose first value counts; for all others, the last one counts.
        moves: New names of fields of a choice in the whole reply.
        needs: Paths that a record must have to be a piece.
        any_of: Paths of which it must have one.
        recognises: A test of a record, in place of `needs`.
        events: The kinds of events, if they have types.
    """

    parts: tuple[Part, ...]
    key: Paths = ()
    key_is_id: bool = True
    choices: str = ""
    index: str = "index"
    begin: str = ""
    end: Paths = ()
    flag: str = ""
    order: str = ""
    consecutive: bool = False
    count: str = ""
    steps: Paths = ()
    goes_on: bool = False
    first: tuple[str, ...] = ()
    moves: tuple[tuple[str, str], ...] = ()
    needs: Paths = ()
    any_of: Paths = ()
    recognises: Callable[[Mapping[str, Any]], bool] | None = None
    events: Events | None = None

    def is_piece(self, record: Mapping[str, Any]) -> bool:
        """Whether a record is a piece of such a stream, or a whole reply that looks like the last piece."""
        if self.recognises is not None:
            return self.recognises(record)
        if self.flag and not isinstance(record.get(self.flag), bool):
            return False
        if self.choices and not record.get(self.choices):
            return False
        if self.any_of and find_value(record, self.any_of) is None:
            return False
        return all(find_value(record, [path]) is not None for path in self.needs)

    @cached_property
    def roots(self) -> frozenset[str]:
        """The fields of a choice that have its pieces."""
        return frozenset(part.path.split(".")[0] for part in self.parts)

    @cached_property
    def dropped_fields(self) -> frozenset[str]:
        """The fields of a piece that the whole reply does not have, because it has their content elsewhere."""
        moved = {part.path.split(".")[0] for part in self.parts if part.to}
        return frozenset(moved - {name for name, _ in self.moves})

    def is_first_piece(self, choice: Mapping[str, Any]) -> bool:
        """Whether a piece is the first one of its choice, as far as a field says it."""
        return bool(self.begin) and bool(look_up(choice, self.begin))

    def is_last_piece(self, choice: Mapping[str, Any]) -> bool:
        """Whether a piece is the last one of its choice."""
        if self.flag:
            return choice.get(self.flag) is True
        return any(_is_end(find_value(choice, [path])) for path in self.end)

    def has_content(self, choice: Mapping[str, Any]) -> bool:
        """Whether a piece has a text or other content."""
        return any(find_value(choice, [part.path]) for part in self.parts)

    def is_unfinished(self, record: Mapping[str, Any]) -> bool:
        """Whether a piece is not the last one, so that it cannot be a whole reply."""
        if self.events is not None:  # an event is never a whole reply
            return True
        parts = record.get(self.choices) if self.choices else [record]
        if not isinstance(parts, list):
            return False
        return not all(isinstance(part, Mapping) and self.is_last_piece(part) for part in parts)


def _is_end(value: Any) -> bool:
    """Whether the value of a field says that a choice has ended, such as a finish reason or an object."""
    return isinstance(value, Mapping) or value not in _NO_END


def is_chunk(record: Mapping[str, Any]) -> bool:
    """Whether a record is a chunk of a chat or a text completion, or an addition without a part of a reply."""
    choices = record.get("choices")
    if not isinstance(choices, list):
        return False
    if record.get("object") == "chat.completion.chunk" or "prompt_filter_results" in record:
        return True
    parts = [part for part in choices if isinstance(part, Mapping)]
    fields = set[str]().union(*parts)
    if "delta" in fields:
        return True
    if parts and not fields & {"message", "text"}:  # Azure sends the results of its filter as chunks
        return any(name.startswith("content_filter") for name in fields)
    is_text = record.get("object") == "text_completion"
    return is_text and any("text" in part and not part.get("finish_reason") for part in parts)


def _is_event(record: Mapping[str, Any]) -> bool:
    """Whether a record is an event of the Responses API."""
    return "choices" not in record and str(record.get("type", "")).startswith("response.")


def _has_end_field(record: Mapping[str, Any]) -> bool:
    """Whether a record of SGLang has a finish reason, which is null while the reply goes on."""
    about = record.get("meta_info")
    return isinstance(about, Mapping) and "finish_reason" in about and look_up(about, "completion_tokens") is not None


_LISTS = ("content", "refusal", "reasoning_content", "tokens", "token_logprobs", "top_logprobs", "text_offset")
CHUNKS = Stream(
    parts=(
        Part("text"),
        *(
            Part(f"delta.{name}", f"message.{name}")
            for name in ("content", "refusal", "reasoning_content", "reasoning")
        ),
        Part("delta.tool_calls", "message.tool_calls", Join.CALLS),
        Part("delta.function_call", "message.function_call", Join.CALL),
        Part("token_ids"),
        *(Part(f"logprobs.{name}") for name in _LISTS),
    ),
    key=("id",),
    choices="choices",
    begin="delta.role",
    end=("finish_reason",),
    count="usage.completion_tokens",
    steps=("choices.0.logprobs.content", "choices.0.logprobs.tokens"),
    goes_on=True,
    first=("id", "object", "created", "model", "system_fingerprint", "service_tier", "metadata"),
    moves=(("delta", "message"),),
    recognises=is_chunk,
)
RESPONSES = Stream(
    parts=(Part("delta", "text"), Part("logprobs")),
    key=("response.id",),
    recognises=_is_event,
    events=Events(
        kind="type",
        adding=("response.output_text.delta",),
        whole=("response.output_text.done",),
        closing=("response.completed", "response.incomplete", "response.failed"),
        reply="response",
        item="item_id",
        places=("output_index", "content_index"),
    ),
)
GEMINI_STREAM = Stream(
    parts=(
        Part("content.parts"),
        Part("logprobsResult.chosenCandidates"),
        Part("logprobsResult.topCandidates"),
    ),
    key=("responseId",),
    count="usageMetadata.candidatesTokenCount",
    steps=("candidates.0.logprobsResult.chosenCandidates",),
    choices="candidates",
    end=("finishReason",),
    goes_on=True,
    any_of=("candidates.0.content", "candidates.0.finishReason", "candidates.0.logprobsResult"),
)
OLLAMA_STREAM = Stream(
    parts=tuple(map(Part, ("message.content", "message.thinking", "response", "thinking", "logprobs"))),
    key=("model",),
    key_is_id=False,
    flag="done",
    any_of=("message.content", "response"),
    count="eval_count",
    steps=("logprobs",),
)
LLAMA_CPP_STREAM = Stream(
    parts=tuple(map(Part, ("content", "tokens", "completion_probabilities"))),
    key_is_id=False,
    flag="stop",
    any_of=("content",),
    order="tokens_predicted",
    count="tokens_predicted",
    steps=("completion_probabilities",),
)
SGLANG_STREAM = Stream(
    parts=(
        Part("text", join=Join.EITHER),
        Part("output_ids", join=Join.EITHER),
        Part("meta_info.output_token_logprobs", join=Join.EITHER),
        Part("meta_info.output_top_logprobs", join=Join.EITHER),
    ),
    key=("meta_info.id", "rid"),
    count="meta_info.completion_tokens",
    steps=("meta_info.output_token_logprobs",),
    end=("meta_info.finish_reason",),
    recognises=_has_end_field,
)
TGI_STREAM = Stream(
    parts=(
        Part("token", "details.tokens", Join.ENTRY),
        Part("top_tokens", "details.top_tokens", Join.ENTRY),
        Part("token.text", "generated_text", spare=True),
    ),
    end=("generated_text", "details"),
    order="index",
    consecutive=True,
    needs=("token.id", "token.text"),
)
