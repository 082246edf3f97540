"""Find the replies of servers inside of other values: at any depth, in lists, and in JSON text.

A reply is what some reader understands: an object with `choices`, with an `output` of messages, or with the steps of a
declared layout. A list of choices or of such messages is one reply. What a reply contains is not searched again.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from entropy_sentinel.logs.layouts import are_pieces, find_layout_by_steps
from entropy_sentinel.logs.step_forms import are_steps
from entropy_sentinel.logs.value_paths import to_object

# Deeper than in any record of a tracing tool; a text of JSON counts as well.
_MAX_DEPTH = 12
# Fields about the prompt, whose log-probabilities are not those of a response, and fields of requests.
_IGNORED_FIELDS = {
    *("prompt_logprobs", "input_token_logprobs", "top_logprobs"),
    *("request", "request_body", "inputs", "input", "modelInput"),
}
_CHOICE_FIELDS = ("finish_reason", "finishReason")


def find_replies(value: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """Yield the replies in a value, in their order; `depth` is how many values are around it."""
    value = to_object(value)
    if depth > _MAX_DEPTH or not value:
        return
    if isinstance(value, list):
        yield from _search_list(value, depth)
    elif isinstance(value, Mapping):
        if is_reply(value):
            yield value
        elif _is_choice(value):
            yield {"choices": [value]}
        else:
            for name, part in value.items():
                if name not in _IGNORED_FIELDS and isinstance(part, Mapping | list | str):
                    yield from find_replies(part, depth + 1)


def is_reply(value: Mapping[str, Any]) -> bool:
    """Whether an object is a server's reply, with or without log-probabilities."""
    return (
        _contains_any(value.get("choices"), _is_part_of_choices)
        or has_messages(value)
        or find_layout_by_steps(value) is not None
    )


def _search_list(parts: Sequence[Any], depth: int) -> Iterator[Mapping[str, Any]]:
    """Yield the replies in a list: one in pieces, its choices, its messages, or any in its parts."""
    if are_pieces(parts):
        # Joining needs NumPy, which must not be imported when the command line starts.
        from entropy_sentinel.logs.stream_bodies import join_records

        if (reply := join_records(parts)) is not None:
            yield reply
    elif all(map(_is_choice, parts)):
        yield {"choices": parts}
    elif any(map(is_message, parts)):
        yield {"output": parts}
    else:
        for part in parts:
            if isinstance(part, Mapping | list | str):
                yield from find_replies(part, depth + 1)


def _contains_any(parts: Any, is_one: Any) -> bool:
    """Whether a value is a list with a part for which the function `is_one` returns True."""
    return isinstance(parts, list) and any(map(is_one, parts))


def _is_part_of_choices(part: Any) -> bool:
    """Whether a part of `choices` is a choice of a reply, by the fields that only these have."""
    return isinstance(part, Mapping) and bool({"message", "text", "logprobs", "token_ids"} & set(part))


def _is_choice(part: Any) -> bool:
    """Whether a value is a choice of a reply: a message, or steps, with what only choices have."""
    return (
        isinstance(part, Mapping)
        and isinstance(part.get("message"), Mapping)
        and (any(name in part for name in _CHOICE_FIELDS) or are_steps(part.get("logprobs")))
    )


def has_messages(reply: Mapping[str, Any]) -> bool:
    """Whether an object has an `output` with messages of the Responses API."""
    return _contains_any(reply.get("output"), is_message)


def is_message(item: Any) -> bool:
    """Whether a value is a message of the Responses API."""
    return (
        isinstance(item, Mapping)
        and item.get("type") == "message"
        and isinstance(item.get("content"), list)
        and any(
            isinstance(part, Mapping) and part.get("type") in ("output_text", "refusal") for part in item["content"]
        )
    )
