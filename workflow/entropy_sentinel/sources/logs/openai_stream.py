"""Chunks of streamed chat completions, joined by the id of the reply and the index of the choice.

Chunks of several streams may be mixed. A choice is whole with its finish reason; one that has none at the end of the
file was interrupted, and its finish reason is `unknown`.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.sources.logs import openai_replies, reader
from entropy_sentinel.sources.logs.reply import Reply

_TEXTS = ("content", "refusal", "reasoning_content", "reasoning")


class Reader(reader.Reader):
    """Many records per response."""

    def __init__(self) -> None:
        """Begin a file."""
        self._open: dict[tuple[Any, int], dict[str, Any]] = {}

    def replies(self, record: Mapping[str, Any]) -> Iterator[Reply]:
        """The responses that this chunk ends; the chunk that has the usage alone ends none."""
        ended = {}
        for choice in record["choices"]:
            key = (record.get("id"), choice.get("index", 0))
            so_far = self._open.setdefault(key, {"message": {}, "content": [], "refusal": [], "first": record})
            # Until all of the chunk is in it: without one of its chunks a response is not the one that was given.
            so_far["broken"] = so_far.get("broken", 0) + 1
            _add(so_far, choice)
            so_far["broken"] -= 1
            if choice.get("finish_reason") is not None:
                ended[key] = choice["finish_reason"]
        for key, finish_reason in ended.items():
            yield self._whole(key, finish_reason)

    def rest(self) -> Iterator[Callable[[], Reply]]:
        """The responses whose stream was interrupted."""
        for key in list(self._open):
            yield partial(self._whole, key, None)

    def _whole(self, key: tuple[Any, int], finish_reason: str | None) -> Reply:
        so_far = self._open.pop(key)
        if so_far["broken"]:
            raise InputError(f"the stream {str(key[0])[:100]!r} has a chunk that could not be read")
        logprobs = {name: so_far[name] or None for name in ("content", "refusal")}
        choice = {"finish_reason": finish_reason, "logprobs": logprobs}
        one = openai_replies.message_choice(choice, so_far["message"])
        one.item_id, one.model, one.sample = key[0], so_far["first"].get("model"), key[1]
        one.columns = self.columns(so_far["first"], openai_replies.facts_of(so_far["first"]))
        if finish_reason is None:
            one.facts = [*one.facts, "interrupted stream"]
        return one


def _add(so_far: dict[str, Any], choice: Mapping[str, Any]) -> None:
    message, delta = so_far["message"], choice.get("delta") or {}
    for name in _TEXTS:
        if delta.get(name):
            message[name] = message.get(name, "") + delta[name]
    if delta.get("tool_calls") or delta.get("function_call"):
        message["tool_calls"] = True
    logprobs = choice.get("logprobs") or {}
    for name in ("content", "refusal"):
        so_far[name] += logprobs.get(name) or ()
