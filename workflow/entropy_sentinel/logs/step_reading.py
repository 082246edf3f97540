"""Read log-probabilities in the forms in which servers and their clients write them.

- A list of steps: objects with a log-probability, and perhaps the token and its alternatives. Lists of such lists, one
  for each part of a text, are joined.
- An object with lists of steps: `content`, `refusal` and `reasoning_content`.
- An object with parallel lists: `token_logprobs`, `top_logprobs`, `tokens`; or Gemini's `chosenCandidates` and
  `topCandidates`.

Fields may be in camel case or in snake case. The alternatives of a step are numbers, objects, pairs of a token and its
value, or objects with the value by token.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.printable import describe_json
from entropy_sentinel.logs.parsed_response import Trace, build_trace
from entropy_sentinel.logs.step_forms import (
    CANDIDATES,
    CHOSEN,
    LOGPROB_NAMES,
    NUMBERS,
    PARTS,
    SAMPLED_LISTS,
    TOKEN_LISTS,
    TOKEN_NAMES,
    TOP_CHOSEN,
    TOP_NAMES,
    is_step,
    join_parts,
    read_first,
)


class Steps(NamedTuple):
    """The trace of a response, null without log-probabilities, and its tokens as text, [] if any is missing."""

    trace: Trace | None
    tokens: list[str]


NO_STEPS = Steps(None, [])


def read_steps(logprobs: Any) -> Steps:
    """The trace and the tokens in a choice's log-probabilities; no trace if there are none.

    Raises InputError if they have such a form, but a value is missing or not a number.
    """
    if isinstance(logprobs, list):
        return _parse_steps(_split_chunks(join_parts(logprobs)))
    if not isinstance(logprobs, Mapping):
        return NO_STEPS
    parts = [logprobs.get(name) for name in PARTS]
    if any(part is not None for part in parts):
        steps: list[Any] = []
        for part in parts:
            steps += _to_list(part)
        return _parse_steps(steps)
    if isinstance(sampled := read_first(logprobs, SAMPLED_LISTS), list):
        top = _to_list(read_first(logprobs, TOP_NAMES)) or [None] * len(sampled)
        tokens = _to_list(read_first(logprobs, TOKEN_LISTS))
        return Steps(build_trace(sampled, list(map(read_entries, top))), _validate_texts(tokens))
    if isinstance(chosen := read_first(logprobs, CHOSEN), list):
        top = _to_list(read_first(logprobs, TOP_CHOSEN)) or [None] * len(chosen)
        entries = [entry.get(CANDIDATES) if isinstance(entry, Mapping) else entry for entry in top]
        return Steps(
            build_trace([read_logprob(step) for step in chosen], list(map(read_entries, entries))), _read_texts(chosen)
        )
    return NO_STEPS


def _split_chunks(steps: list[Any]) -> list[Any]:
    """A step for each token of chunks, which have a text and a list of numbers, as Cohere writes them."""
    if not all(isinstance(step, Mapping) and isinstance(step.get("logprobs"), list) for step in steps):
        return steps
    split = []
    for step in steps:
        texts = {"token": step.get("text")} if len(step["logprobs"]) == 1 else {}
        split += [{"logprob": logprob, **texts} for logprob in step["logprobs"]]
    return split


def read_trace(steps: Sequence[Any]) -> Trace:
    """The log-probabilities of steps; a step may lack its alternatives."""
    try:  # as most servers write them
        sampled = [step["logprob"] for step in steps]
    except (KeyError, TypeError):
        sampled = [_read_sampled(step) for step in steps]
    return build_trace(sampled, [read_entries(_read_top(step)) for step in steps])


def _parse_steps(steps: list[Any]) -> Steps:
    """The trace and the tokens of a list of steps."""
    return Steps(read_trace(steps), _read_texts(steps))


def _read_top(step: Any) -> Any:
    """The alternatives of a step as they are written; None if it has none."""
    if not isinstance(step, Mapping):
        return None
    top = step.get("top_logprobs")
    return read_first(step, TOP_NAMES) if top is None else top


def _read_sampled(step: Any) -> Any:
    """The log-probability of a step's token, which some clients keep only among the alternatives, by token."""
    if not isinstance(step, Mapping) or is_step(step):
        return read_logprob(step)
    token, values = read_first(step, TOKEN_NAMES), _index_by_token(_read_top(step))
    if values is None or not isinstance(token, str):
        return _read_only_value(step)
    if token not in values:
        raise InputError(
            f"the sampled token {token[:40]!r} is not among its alternatives, which alone have log-probabilities; "
            "request more alternatives, or log the server's whole reply"
        )
    return values[token]


def _read_only_value(step: Mapping[str, Any]) -> Any:
    """The log-probability in a step that is only that of the sampled token, by its id: `{"42": -0.1}`."""
    by_id = all(str(key).isdecimal() and type(value) in NUMBERS for key, value in step.items())
    if by_id and len(step) > 1:
        raise InputError(
            f"a step has the log-probabilities of {len(step)} tokens, but does not say which was sampled; log the "
            "sampled tokens, or request OpenAI's form"
        )
    return next(iter(step.values())) if by_id and step else read_logprob(step)


def _index_by_token(top: Any) -> dict[str, Any] | None:
    """The values of alternatives by token, if they are written so; a list may have such an object."""
    if isinstance(top, list) and len(top) == 1:
        top = top[0]
    if not isinstance(top, Mapping) or is_step(top):
        return None
    return dict(zip(map(str, top), read_entries(top), strict=False))


def read_logprob(step: Any) -> Any:
    """The log-probability in a step or an alternative; raises InputError if it has none."""
    if isinstance(step, Mapping):
        for name in LOGPROB_NAMES:
            if name in step:
                return step[name]
    raise InputError(f"a step must have '{LOGPROB_NAMES[0]}', got {describe_json(step)}"[:200])


def read_entries(step: Any) -> list[Any]:
    """The log-probabilities of a step's alternatives.

    By token, null means that the step lacks the token, because a table of dicts has every token in every step.
    """
    if isinstance(step, Mapping):
        step = [entry for entry in step.values() if entry is not None]
    values = _to_list(step)
    kinds = set(map(type, values))
    if kinds <= NUMBERS:
        return values
    if kinds == {dict} and all("logprob" in entry for entry in values):
        return [entry["logprob"] for entry in values]
    entries: list[Any] = []
    for entry in values:
        if isinstance(entry, Mapping):
            # An object without a log-probability has the values by token.
            entries += [read_logprob(entry)] if is_step(entry) else read_entries(entry)
        else:
            entries.append(_read_pair(entry) if isinstance(entry, list | tuple) else entry)
    return entries


def _to_list(value: Any) -> list[Any]:
    """A list of steps or alternatives, [] for null; raises InputError for any other value."""
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise InputError(f"log-probabilities and their alternatives must be lists, got {describe_json(value)}"[:200])
    return value if isinstance(value, list) else list(value)


def _read_pair(pair: Sequence[Any]) -> Any:
    """The log-probability in a pair of a token, or its id, and the value, in either order."""
    if len(pair) == 2 and isinstance(pair[1], str):
        return pair[0]
    is_id = len(pair) == 2 and (isinstance(pair[0], str) or (type(pair[0]) is int and pair[0] >= 0))
    return pair[1] if is_id else list(pair)


def _read_texts(steps: Iterable[Any]) -> list[str]:
    """The tokens of steps as text; [] if any is missing."""
    return _validate_texts([read_first(step, TOKEN_NAMES) if isinstance(step, Mapping) else None for step in steps])


def _validate_texts(tokens: Sequence[Any]) -> list[str]:
    """The tokens if all are texts, else []."""
    return list(tokens) if all(isinstance(token, str) for token in tokens) else []
