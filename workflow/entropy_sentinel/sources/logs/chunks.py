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
    if calls := delta.get("tool_calls"):
        message["tool_calls"] = [*message.get("tool_calls", ()), *calls]
    if delta.get("function_call"):
        message["function_call"] = True
