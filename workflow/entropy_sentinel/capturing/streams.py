"""A stream of server-sent events as the one reply that it is."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

_CLOSING = ("response.completed", "response.incomplete", "response.failed")
_TEXTS = ("content", "refusal", "reasoning_content", "reasoning")
_LISTS = ("content", "refusal", "tokens", "token_logprobs", "top_logprobs", "text_offset")


def joined(body: bytes) -> dict[str, Any] | None:
    """Return the reply whose chunks are in `body`, or None if there is none.

    A choice whose stream was left early has no `finish_reason`.
    """
    reply: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    for event in _events(body):
        if event.get("type") in _CLOSING:
            return dict(event["response"])
        if "choices" not in event:
            continue
        reply |= {name: value for name, value in event.items() if name != "choices" and value is not None}
        for part in event["choices"]:
            add_part(choices.setdefault(part.get("index", 0), {}), part)
    if not choices:
        return None
    object_ = str(reply.get("object", "")).removesuffix(".chunk")
    return {**reply, "object": object_, "choices": [{"index": index, **choices[index]} for index in sorted(choices)]}


def _events(body: bytes) -> Iterator[dict[str, Any]]:
    """The JSON objects of the stream; the last one may be cut off."""
    for line in body.split(b"\n"):
        data = line.removeprefix(b"data:").strip()
        if line.startswith(b"data:") and data != b"[DONE]":
            try:
                yield json.loads(data)
            except ValueError:
                return


def add_part(choice: dict[str, Any], part: Mapping[str, Any]) -> None:
    """Add a part of a choice, as a chunk has it, to what came before it."""
    choice["finish_reason"] = part.get("finish_reason") or choice.get("finish_reason")
    if "text" in part:
        choice["text"] = choice.get("text", "") + part["text"]
    if delta := part.get("delta"):
        message = choice.setdefault("message", {"role": "assistant"})
        for name in _TEXTS:
            if delta.get(name):
                message[name] = message.get(name, "") + delta[name]
        if calls := delta.get("tool_calls"):
            message["tool_calls"] = [*message.get("tool_calls", ()), *calls]
    for name in _LISTS:
        if (steps := (part.get("logprobs") or {}).get(name)) is not None:
            choice.setdefault("logprobs", {}).setdefault(name, []).extend(steps)
