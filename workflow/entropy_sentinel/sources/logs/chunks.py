"""Join the chunks of a streamed reply into its choices."""

from collections.abc import Mapping
from typing import Any

CLOSING = ("response.completed", "response.incomplete", "response.failed")
_TEXTS = ("content", "refusal", "reasoning_content", "reasoning")
_LISTS = ("content", "refusal", "tokens", "token_logprobs", "top_logprobs", "text_offset")


def add_part(choice: dict[str, Any], part: Mapping[str, Any]) -> None:
    """Add a chunk's part of a choice to the earlier parts.

    Args:
        choice: The choice so far, at first `{}`, in the form of a reply that was not streamed. A choice without a
            `finish_reason` has not ended.
        part: An entry of a chunk's `choices`.
    """
    choice["finish_reason"] = part.get("finish_reason") or choice.get("finish_reason")
    if "text" in part:
        choice["text"] = choice.get("text", "") + part["text"]
    if "delta" in part:
        _add_delta(choice.setdefault("message", {"role": "assistant"}), part["delta"] or {})
    logprobs = part.get("logprobs") or {}
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
    last = calls[-1] if calls and index is None and not part.get("id") else None
    call = next((call for call in calls if index is not None and call.get("index") == index), last)
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
