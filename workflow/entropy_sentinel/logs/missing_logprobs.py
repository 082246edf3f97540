"""Look for the log-probabilities of a reply that has none where its format has them, before saying that there are none.

Another reply within the record, with the same text, may have them. Otherwise the reason names the field of the record
whose name says that it holds log-probabilities, and why it cannot be used.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.logs.nested_replies import find_replies
from entropy_sentinel.logs.openai_format import parse_responses
from entropy_sentinel.logs.parsed_response import NO_LOGPROBS, NotAResponse, Reply
from entropy_sentinel.logs.value_paths import to_object

_LOGPROB_NAME = re.compile("log_?prob", re.IGNORECASE)
_PROMPT_NAME = re.compile("prompt|input", re.IGNORECASE)
# Fields of requests, whose settings have such names.
_REQUEST_FIELDS = (
    "request",
    "inputs",
    "modelInput",
    "model_parameters",
    "invocation_params",
    "parameters",
    "generationConfig",
)
_MAX_DEPTH = 12


class _Field(NamedTuple):
    """A field with numbers: its path, and the numbers or what contains them."""

    path: str
    value: Any


def search_logprobs(reply: Reply, record: Mapping[str, Any]) -> None:
    """Complete a reply without log-probabilities from another one in its record, or name the unusable field."""
    fields = list(_find_fields(record))
    if not fields:
        return
    candidates = {}  # each log-probabilities once
    for candidate in _parse_nested_replies(record):
        if candidate.trace is not None and candidate.text.strip() in (reply.text.strip(), ""):
            candidates[candidate.trace.sampled.tobytes()] = candidate
    if len(candidates) == 1:
        [candidate] = candidates.values()
        reply.trace = candidate.trace
        reply.tokens = candidate.tokens
        reply.token_ids = candidate.token_ids
        reply.displaces = candidate.displaces
        reply.k = candidate.k
        reply.unusable = candidate.unusable
        return
    reply.unusable = f"{NO_LOGPROBS}: {_explain_fields(fields)}"


def describe_unused_field(record: Mapping[str, Any]) -> str | None:
    """Which field of a record seems to hold log-probabilities, and why it cannot be used; None if none does."""
    fields = list(_find_fields(record))
    return _explain_fields(fields) if fields else None


def _parse_nested_replies(record: Mapping[str, Any]) -> list[Reply]:
    """The responses of all replies within a record that can be read."""
    replies: list[Reply] = []
    for body in find_replies(record):
        try:
            responses, _ = parse_responses(body)
        except (InputError, NotAResponse):
            continue
        replies += responses
    return replies


def _find_fields(value: Any, path: str = "", depth: int = 0) -> Iterator[_Field]:
    """Yield the fields within a value that have numbers under the name of log-probabilities.

    `path` is that of the value in its record, and `depth` how many objects and lists are around it.
    """
    value = to_object(value)
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, list):
        for part in value:
            yield from _find_fields(part, f"{path}[*]", depth + 1)
    elif isinstance(value, Mapping):
        for name, part in value.items():
            where = f"{path}.{name}" if path else str(name)
            if name in _REQUEST_FIELDS:
                continue
            if _LOGPROB_NAME.search(str(name)) and _has_number(part):
                yield _Field(where, to_object(part) if isinstance(part, str) else part)
            elif isinstance(part, Mapping | list | str):
                yield from _find_fields(part, where, depth + 1)


def _has_number(value: Any) -> bool:
    """Whether a value is or contains a number that can be a log-probability; settings are whole and positive."""
    value = to_object(value)
    if isinstance(value, Mapping):
        return any(map(_has_number, value.values()))
    if isinstance(value, list):
        return any(map(_has_number, value[:3]))
    return type(value) is float or (type(value) is int and value < 0)


def _explain_fields(fields: list[_Field]) -> str:
    """What the most promising field has, and why it cannot be used."""
    answers = [field for field in fields if not _PROMPT_NAME.search(field.path)]
    # The first field of the answer with several values, or else the first of the answer, or else of the prompt.
    field = next((field for field in answers if isinstance(field.value, list | Mapping)), (answers or fields)[0])
    if not answers:
        return f"`{field.path}` has those of the prompt"
    if not isinstance(field.value, list | Mapping):
        return f"`{field.path}` is one number for the whole response, and every token needs one"
    if isinstance(field.value, list) and all(type(value) in (int, float) for value in field.value):
        return f"`{field.path}` has a number per token, but no alternatives to the tokens"
    return f"`{field.path}` has them in an unknown form; log the server's whole reply, or write a table"
