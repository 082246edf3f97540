"""Read one chat completion without a log's machinery: the usual reply of a client, within a request.

The general readers take any reply, convert it to plain JSON and count what they read, which takes a hundred times the
time of the arithmetic. This reader takes only replies of the one usual shape, and leaves every other to them.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel

from entropy_sentinel.logs.format_registry import find_format
from entropy_sentinel.logs.in_memory_logs import MEMORY_NAME
from entropy_sentinel.logs.model_names import strip_prefix
from entropy_sentinel.logs.parsed_response import MAX_VALUES, parse_finish_reason, replace_surrogates
from entropy_sentinel.logs.response_keys import make_numbered_id
from entropy_sentinel.logs.trace_frames import sort_steps

_FORMAT = "openai"
_STREAM_FIELDS = {"delta", "prompt_filter_results"}
_UNSUPPORTED_TRACES = ("refusal", "reasoning_content")


class Completion(NamedTuple):
    """A response, with the values that `Logs` reads; the model is null if the reply names none."""

    model: str | None
    item_id: str
    finish_reason: str
    sampled: np.ndarray  # (T,) float32
    top: np.ndarray  # (T, k) float32, largest first


def read_completion(reply: Any) -> Completion | None:
    """The response in a reply; null for a reply of any other shape, such as one without log-probabilities."""
    try:
        return _parse_completion(reply)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        return None


def _parse_completion(reply: Any) -> Completion | None:
    """The content of a chat completion of the usual form, for speed; None for any other reply."""
    body = _read_fields(reply)
    if body.get("object") != "chat.completion" or not isinstance(body["choices"], list) or len(body["choices"]) != 1:
        return None
    choice = _read_fields(body["choices"][0])
    message, logprobs = _read_fields(choice["message"]), _read_fields(choice["logprobs"])
    # The reply as dicts down to its steps, which is as far as formats look to recognise it.
    outline = {**body, "choices": [{**choice, "message": message, "logprobs": logprobs}]}
    steps = logprobs["content"]
    text = message.get("content")
    model, item_id, usage = body.get("model"), body.get("id"), body.get("usage")
    is_unusual = (
        not _STREAM_FIELDS.isdisjoint((*body, *choice))
        or "text" in choice
        or choice.get("token_ids") is not None
        or any(logprobs.get(name) for name in _UNSUPPORTED_TRACES)
        or not isinstance(steps, list)
        or not steps
        or type(text) not in (str, type(None))
        or type(model) not in (str, type(None))
        or type(item_id) not in (str, type(None))
        or item_id == ""
        or not _is_count(None if usage is None else _read_fields(usage).get("prompt_tokens"))
    )
    if is_unusual or (format := find_format(outline)) is None or format.name != _FORMAT:
        return None
    trace = _parse_steps(steps)
    if trace is None:
        return None
    sampled, top = trace
    return Completion(
        model=None if model is None else replace_surrogates(strip_prefix(model)),
        item_id=make_numbered_id(MEMORY_NAME, 0) if item_id is None else replace_surrogates(item_id),
        finish_reason=parse_finish_reason(choice.get("finish_reason")),
        sampled=sampled,
        top=sort_steps(top)[0],
    )


def _parse_steps(steps: list[Any]) -> tuple[np.ndarray, np.ndarray] | None:
    """The log-probabilities of the sampled tokens, (T,), and of the alternatives, (T, k), both float32.

    Null if steps differ in k, or a value is no number.
    """
    if isinstance(steps[0], dict):
        tokens = [step["token"] for step in steps]
        sampled = [step["logprob"] for step in steps]
        top = [step["top_logprobs"] for step in steps]
        flat = [entry["logprob"] for entries in top for entry in entries]
    elif isinstance(steps[0], BaseModel):
        tokens = [step.token for step in steps]
        sampled = [step.logprob for step in steps]
        top = [step.top_logprobs for step in steps]
        flat = [entry.logprob for entries in top for entry in entries]
    else:
        return None
    widths = set(map(len, top))
    types = {*map(type, sampled), *map(type, flat)}
    if len(widths) != 1 or not flat or not types <= {int, float} or {*map(type, tokens)} != {str}:
        return None
    with np.errstate(over="ignore"):  # -1e300 becomes -inf
        values = np.array(flat, dtype=np.float32).reshape(len(steps), -1)
        return np.array(sampled, dtype=np.float32), values


def _is_count(value: Any) -> bool:
    """Whether a value is null or a number of tokens that a frame can hold."""
    return value is None or (type(value) is int and 0 <= value <= MAX_VALUES["prompt_tokens"])


def _read_fields(part: Any) -> Mapping[str, Any]:
    """The fields of an object of a reply; raises TypeError for anything else."""
    if type(part) is dict:
        return part
    if isinstance(part, BaseModel):
        return {**part.__dict__, **(part.__pydantic_extra__ or {})}
    raise TypeError(f"must be an object, is {type(part).__name__}")
