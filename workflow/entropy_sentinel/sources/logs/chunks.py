"""Join the chunks of streamed replies: chats, text completions and the Responses API.

Chunks belong together by id, choice and order. A finish reason does not end a reply, because some servers send tokens
or further chunks after it. A reply ends with `[DONE]`, with the first chunk of another id, with a new `role` after a
finish reason, or with the file.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from entropy_sentinel.frames.errors import InputError

CLOSING = ("response.completed", "response.incomplete", "response.failed")
# The event of the Responses API with a piece of a text, and of its log-probabilities.
_DELTA = "response.output_text.delta"
_TEXTS = ("content", "refusal", "reasoning_content", "reasoning")
_LISTS = ("content", "refusal", "reasoning_content", "tokens", "token_logprobs", "top_logprobs", "text_offset")
# Number of ended replies whose ids are kept, to recognise chunks that come too late.
_ENDED = 1000


def is_chunk(record: Mapping[str, Any]) -> bool:
    """Return whether a record is a chunk of a chat or a text completion, or an addition without a part of a reply."""
    choices = record.get("choices")
    if not isinstance(choices, list):
        return False
    if record.get("object") == "chat.completion.chunk" or "prompt_filter_results" in record:
        return True
    parts = [part for part in choices if isinstance(part, Mapping)]
    fields = set[str]().union(*parts)
    if "delta" in fields:
        return True
    if parts and not fields & {"message", "text"}:
        return any(name.startswith("content_filter") for name in fields)
    is_text = record.get("object") == "text_completion"
    return is_text and any("text" in part and part.get("finish_reason") is None for part in parts)


def add_part(choice: dict[str, Any], part: Mapping[str, Any]) -> None:
    """Add a chunk's part of a choice to the earlier parts.

    Args:
        choice: The choice so far, at first `{}`, in the form of a reply that was not streamed. A choice without a
            `finish_reason` has not ended.
        part: An entry of a chunk's `choices`.

    Raises:
        InputError: If the log-probabilities are of another form.
    """
    choice["finish_reason"] = part.get("finish_reason") or choice.get("finish_reason")
    if "text" in part:
        choice["text"] = choice.get("text", "") + (part["text"] or "")
    if "delta" in part:
        _add_delta(choice.setdefault("message", {"role": "assistant"}), part["delta"] or {})
    if isinstance(part.get("token_ids"), list):
        choice.setdefault("token_ids", []).extend(part["token_ids"])
    logprobs = part.get("logprobs") or {}
    if not isinstance(logprobs, Mapping):
        raise InputError(
            f"the `logprobs` of a chunk must be an object with `content`, was {type(logprobs).__name__}; request "
            "`logprobs: true` and `top_logprobs`, which the server may give only without a stream"
        )
    for name in _LISTS:
        if steps := logprobs.get(name):
            choice.setdefault("logprobs", {}).setdefault(name, []).extend(steps)


def _add_delta(message: dict[str, Any], delta: Mapping[str, Any]) -> None:
    for name in _TEXTS:
        if delta.get(name):
            message[name] = message.get(name, "") + delta[name]
    for call in delta.get("tool_calls") or ():
        _add_call(message.setdefault("tool_calls", []), call)
    if called := delta.get("function_call"):
        message["function_call"] = _longer(message.get("function_call") or {}, called)


def _add_call(calls: list[dict[str, Any]], part: Mapping[str, Any]) -> None:
    """Add a piece of a tool call to the calls; pieces of one call have one index, or else belong to the last call."""
    index = part.get("index")
    call = None
    if index is not None:
        call = next((call for call in calls if call.get("index") == index), None)
    elif calls and not part.get("id"):
        call = calls[-1]
    if call is None:
        calls.append(call := {})
    function = _longer(call.get("function") or {}, part.get("function") or {})
    call |= {name: value for name, value in part.items() if value is not None}
    if function:
        call["function"] = function


def _longer(function: Mapping[str, Any], part: Any) -> dict[str, Any]:
    """Return a call's name and arguments with a further piece of the arguments."""
    if not isinstance(part, Mapping):
        return dict(function)
    arguments = (function.get("arguments") or "") + (part.get("arguments") or "")
    return {**function, **{name: value for name, value in part.items() if value}, "arguments": arguments}


@dataclass
class _Choice:
    """A choice so far, and how many of its chunks have a role, have a finish reason, and could not be added."""

    whole: dict[str, Any] = field(default_factory=dict)
    chunks: int = 0
    roles: int = 0
    finishes: int = 0
    broken: int = 0

    @property
    def always_has_role(self) -> bool:
        """Whether the server repeats the role in each chunk, so that a role says nothing."""
        return self.chunks > 1 and self.roles == self.chunks


@dataclass
class PartialReply:
    """The fields of a reply so far, and its choices by index."""

    fields: dict[str, Any] = field(default_factory=dict)
    choices: dict[int, _Choice] = field(default_factory=dict)

    @property
    def finished(self) -> bool:
        """Whether each choice has a finish reason."""
        return all(choice.whole.get("finish_reason") is not None for choice in self.choices.values())

    def whole(self) -> dict[str, Any]:
        """Return the reply in the form of one that was not streamed.

        Raises InputError if one of its chunks was unreadable, or if streams without ids are mixed in it.
        """
        choices = self.choices.values()
        if any(choice.broken for choice in choices):
            raise InputError(f"the stream {str(self.fields.get('id'))[:100]!r} has an unreadable chunk")
        mixed = 0
        for choice in choices:
            mixed = max(mixed, choice.finishes, 0 if choice.always_has_role else choice.roles)
        if mixed > 1 and not self.fields.get("id"):
            raise InputError(
                f"{mixed} streams without an id are mixed, so their chunks cannot be told apart; log the id of each "
                "reply, or one stream after the other"
            )
        whole = []
        for index in sorted(self.choices):
            fields = {"index": index, **self.choices[index].whole}
            whole.append(fields if "text" in fields else {"message": {}, **fields})
        return {**self.fields, "object": str(self.fields.get("object") or "").removesuffix(".chunk"), "choices": whole}


class Joiner:
    """Joins chunks in the order of their arrival; replies of several ids may be mixed."""

    def __init__(self) -> None:
        """Start a file."""
        self._open: dict[Any, PartialReply] = {}
        self._ended: dict[Any, None] = {}
        # Log-probabilities of texts of the Responses API, by item and part.
        self._steps: dict[tuple[Any, Any], list[Any]] = {}

    def has(self, record: Mapping[str, Any]) -> bool:
        """Return whether a reply with this record's id has begun."""
        return record.get("id") in self._open

    def add_chunk(self, chunk: Mapping[str, Any]) -> list[PartialReply]:
        """Add a chunk; return the replies that end before it.

        Raises InputError for a chunk of an ended reply, or of another form.
        """
        key = chunk.get("id") or None
        ended: list[PartialReply] = []
        parts = [part for part in chunk["choices"] if _has_content(part)]
        if not parts:  # such as the usage at the end, or the results of a content filter
            if (reply := self._open.get(key)) is not None:
                reply.fields |= _fields(chunk)
            return []
        if key not in self._open:
            if key in self._ended:
                raise InputError(f"a chunk of the reply {str(key)[:100]!r} comes after its end")
            for other, earlier in list(self._open.items()):
                if earlier.finished:
                    ended.append(self._close(other))
        elif any(self._begins(self._open[key], part, key) for part in parts):
            ended.append(self._close(key))
        reply = self._open.setdefault(key, PartialReply())
        reply.fields = _fields(chunk) | {name: value for name, value in reply.fields.items() if name != "usage"}
        for part in parts:
            choice = reply.choices.setdefault(part.get("index", 0), _Choice())
            choice.chunks += 1
            choice.roles += _has_role(part)
            choice.finishes += part.get("finish_reason") is not None
            # A choice is broken until the whole chunk is added, because a response must not lack a chunk.
            choice.broken += 1
            add_part(choice.whole, part)
            choice.broken -= 1
        return ended

    def done(self) -> list[PartialReply]:
        """Return the replies that end with `[DONE]`: all that have a finish reason, or the only one."""
        ended = [key for key, reply in self._open.items() if reply.finished or len(self._open) == 1]
        return list(map(self._close, ended))

    def rest(self) -> list[PartialReply]:
        """Return the replies that the file's end ends."""
        return list(map(self._close, list(self._open)))

    def add_event(self, event: Mapping[str, Any]) -> dict[str, Any] | None:
        """Add an event of the Responses API; return the reply of a closing event.

        Texts get the log-probabilities of their pieces if the closing event has none.
        """
        if event.get("type") == _DELTA and event.get("logprobs"):
            self._steps.setdefault((event.get("item_id"), event.get("content_index")), []).extend(event["logprobs"])
        if event.get("type") not in CLOSING:
            return None
        reply = dict(event["response"])
        if isinstance(reply.get("output"), list):
            reply["output"] = [self._with_steps(item) for item in reply["output"]]
        return reply

    def _with_steps(self, item: Any) -> Any:
        if not isinstance(item, Mapping) or not isinstance(item.get("content"), list):
            return item
        parts = []
        for number, part in enumerate(item["content"]):
            steps = self._steps.pop((item.get("id"), number), None)
            lacks_steps = isinstance(part, Mapping) and not part.get("logprobs")
            parts.append({**part, "logprobs": steps} if steps and lacks_steps else part)
        return {**item, "content": parts}

    def _begins(self, reply: PartialReply, part: Mapping[str, Any], key: Any) -> bool:
        """Return whether a chunk with the id of an open reply begins another one."""
        choice = reply.choices.get(part.get("index", 0))
        if choice is None or choice.whole.get("finish_reason") is None:
            return False
        if part.get("finish_reason") is not None:  # another finish reason, which some servers send
            return False
        # Without an id and a role, only the finish reason separates two replies.
        return (_has_role(part) and not choice.always_has_role) or (key is None and not choice.roles)

    def _close(self, key: Any) -> PartialReply:
        if key is not None:
            self._ended[key] = None
            if len(self._ended) > _ENDED:
                del self._ended[next(iter(self._ended))]
        return self._open.pop(key)


def joined(text: str) -> dict[str, Any] | None:
    """Return the reply in the text of server-sent events, or None if there is none.

    A choice whose stream was left early has no `finish_reason`. Events after the first incomplete one are ignored.
    """
    joiner = Joiner()
    for event in _events(text):
        if isinstance(event.get("choices"), list):
            joiner.add_chunk(event)
        elif (reply := joiner.add_event(event)) is not None:
            return reply
    last = joiner.rest()[-1:]
    return last[0].whole() if last else None


def is_stream(text: str) -> bool:
    """Return whether a text is a stream of server-sent events."""
    return text.lstrip().startswith(("data:", "event:"))


def _events(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of the events, up to the first incomplete one."""
    for line in text.splitlines():
        data = line.removeprefix("data:").strip()
        if line.startswith("data:") and data != "[DONE]":
            try:
                event = json.loads(data)
            except ValueError:
                return
            if isinstance(event, dict):
                yield event


def _fields(chunk: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in chunk.items() if name != "choices" and value is not None}


def _has_content(part: Any) -> bool:
    if not isinstance(part, Mapping):
        raise InputError(f"the choices of a chunk must be objects, was {part!r}"[:200])
    return "delta" in part or "text" in part or part.get("finish_reason") is not None


def _has_role(part: Mapping[str, Any]) -> bool:
    return bool((part.get("delta") or {}).get("role"))
