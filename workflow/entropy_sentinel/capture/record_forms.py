"""The written records of a reply: the reply without secrets and unneeded bytes, or only its features."""

import json
from collections.abc import Mapping
from typing import Any, Literal, get_args

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.secrets import is_secret_name, may_count, without_keys
from entropy_sentinel.features.feature_computation import compute_features
from entropy_sentinel.features.feature_files import CAPTURED
from entropy_sentinel.logs.log_stream import read_replies

Keep = Literal["texts", "features"]
HIDDEN = "***"
# The fields of tool calls whose text is JSON, and the end of the names of lists of token numbers.
_ARGUMENTS, _IDS = "arguments", "token_ids"
_PROMPT_IDS = f"prompt_{_IDS}"
# What a name hides.
_NOTHING, _TEXTS, _ALL = 0, 1, 2


def ending(keep: str, name: str = "keep") -> str:
    """The ending of the log files for this `keep`.

    Raises:
        InputError: If `keep` is not a `Keep`; the error calls it `name`.
    """
    if keep not in get_args(Keep):
        raise InputError(f"{name}: must be {' or '.join(get_args(Keep))}, got '{keep}'")
    return CAPTURED if keep == "features" else ".jsonl.gz"


def kept(record: Mapping[str, Any], keep: str) -> list[dict[str, Any]]:
    """The records to write: the reply without secrets, or the features of each response in it."""
    safe = safe_record(record)
    return [safe] if keep == "texts" else compute_features(read_replies(safe)).to_dicts()


def safe_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of `record` with `***` for secrets, and tokens without their bytes.

    Secrets are the values of names such as `api_key`, at any depth and in the arguments of tool calls, and providers'
    keys in texts and names. A key in an answer could be put together from its tokens, so tokens of such a choice lose
    their texts and numbers. The numbers of a prompt's tokens are left out.
    """
    return {name: _safe(name, value) for name, value in record.items() if name != _PROMPT_IDS}


def _safe(name: str, value: Any, hidden: int = _NOTHING) -> Any:
    """A safe value of this name; `hidden` says what a name around it hides."""
    if hidden != _ALL and is_secret_name(name):
        # A number of tokens is no secret; a password may be a number.
        hidden = _TEXTS if may_count(name) else _ALL
    if isinstance(value, Mapping):
        if "logprobs" in value or _IDS in value:
            return _choice(value)
        return _of_names(value, hidden)
    if isinstance(value, list | tuple):
        return [_safe(name, below, hidden) for below in value]
    if isinstance(value, str):
        return HIDDEN if hidden else _arguments(value) if name == _ARGUMENTS else without_keys(value)
    return HIDDEN if hidden == _ALL and type(value) in (int, float) else value


def _of_names(value: Mapping[str, Any], hidden: int = _NOTHING) -> dict[str, Any]:
    """The safe values of a mapping by their names, which may contain keys."""
    safe = {}
    for name, below in value.items():
        if name != _PROMPT_IDS:
            safe[without_keys(str(name))] = _safe(str(name), below, hidden)
    return safe


def _arguments(text: str) -> str:
    """The arguments of a tool call, a JSON text, without secrets."""
    try:
        given = json.loads(text)
    except ValueError:
        return without_keys(text)
    safe = _safe("", given)
    return text if safe == _plain(given) else json.dumps(safe)


def _choice(choice: Mapping[str, Any]) -> dict[str, Any]:
    """A safe choice of a reply, or a safe content part of the Responses API."""
    rest = {name: value for name, value in choice.items() if name not in ("logprobs", _IDS)}
    safe = _of_names(rest)
    hidden = safe != _plain(rest)
    if _IDS in choice and not hidden:
        safe[_IDS] = choice[_IDS]
    if "logprobs" in choice:
        safe["logprobs"] = _logprobs(choice["logprobs"], hidden)
    return safe


def _plain(value: Any) -> Any:
    """A value in the types that `_safe` returns."""
    if isinstance(value, Mapping):
        return {str(name): _plain(below) for name, below in value.items() if name != _PROMPT_IDS}
    if isinstance(value, list | tuple):
        return [_plain(below) for below in value]
    return value


def _logprobs(logprobs: Any, hidden: bool) -> Any:
    """Safe log-probabilities of a choice: lists of steps, or the parallel lists of text completions."""
    if isinstance(logprobs, list | tuple):
        return [_step(step, hidden) for step in logprobs]
    if not isinstance(logprobs, Mapping):
        return logprobs
    if "token_logprobs" in logprobs:
        return _of_text_completion(logprobs, hidden)
    return {name: _logprobs(steps, hidden) for name, steps in logprobs.items()}


def _step(step: Any, hidden: bool) -> Any:
    if not isinstance(step, Mapping):
        return step
    kept = _entry(step, hidden)
    if "top_logprobs" in step:
        kept["top_logprobs"] = [_entry(entry, hidden) for entry in step["top_logprobs"] or ()]
    return kept


def _entry(entry: Mapping[str, Any], hidden: bool) -> dict[str, Any]:
    """A token and its log-probability. Written out for speed: a reply has thousands, and a service waits."""
    kept = {"token": HIDDEN if hidden else entry["token"], "logprob": entry["logprob"]}
    if "token_id" in entry and not hidden:
        kept["token_id"] = entry["token_id"]
    return kept


def _of_text_completion(logprobs: Mapping[str, Any], hidden: bool) -> dict[str, Any]:
    if not hidden:
        return dict(logprobs)
    alternatives = []
    for step in logprobs.get("top_logprobs") or []:
        if step:  # a mapping, so names must differ
            alternatives.append({str(rank): value for rank, value in enumerate(step.values())})
        else:
            alternatives.append(step)
    return {
        **logprobs,
        "tokens": [HIDDEN] * len(logprobs["token_logprobs"]),
        "top_logprobs": alternatives,
    }
