"""The written records of a reply: the reply without secrets and unneeded bytes, or only its features."""

import json
from collections.abc import Mapping
from typing import Any, Literal, get_args

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.secrets import is_secret_name, mask_keys, may_count
from entropy_sentinel.features.feature_computation import compute_features
from entropy_sentinel.features.feature_files import CAPTURED
from entropy_sentinel.logs.log_stream import read_replies

Keep = Literal["texts", "features"]
HIDDEN = "***"
# The fields of tool calls whose text is JSON, and the end of the names of lists of token numbers.
_ARGUMENTS_FIELD, _IDS = "arguments", "token_ids"
_PROMPT_IDS = f"prompt_{_IDS}"
# What a name hides.
_HIDE_NOTHING, _HIDE_TEXTS, _HIDE_ALL = 0, 1, 2


def choose_suffix(keep: str, name: str = "keep") -> str:
    """The ending of the log files for this `keep`.

    Raises:
        InputError: If `keep` is not a `Keep`; the error calls it `name`.
    """
    if keep not in get_args(Keep):
        raise InputError(f"{name}: must be {' or '.join(get_args(Keep))}, got '{keep}'")
    return CAPTURED if keep == "features" else ".jsonl.gz"


def select_records(record: Mapping[str, Any], keep: str) -> list[dict[str, Any]]:
    """The records to write: the reply without secrets (`keep` texts), or the features of each response in it."""
    safe = hide_secrets(record)
    return [safe] if keep == "texts" else compute_features(read_replies(safe)).to_dicts()


def hide_secrets(record: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of `record` with `***` for secrets, and tokens without their bytes.

    Secrets are the values of names such as `api_key`, at any depth and in the arguments of tool calls, and providers'
    keys in texts and names. A key in an answer could be put together from its tokens, so tokens of such a choice lose
    their texts and numbers. The numbers of a prompt's tokens are left out.
    """
    return {name: _hide_value(name, value) for name, value in record.items() if name != _PROMPT_IDS}


def _hide_value(name: str, value: Any, hiding: int = _HIDE_NOTHING) -> Any:
    """A value of this name without secrets; `hiding`, a `_HIDE_...`, says what a name of a mapping around it hides."""
    if hiding != _HIDE_ALL and is_secret_name(name):
        # A number of tokens is no secret; a password may be a number.
        hiding = _HIDE_TEXTS if may_count(name) else _HIDE_ALL
    if isinstance(value, Mapping):
        if "logprobs" in value or _IDS in value:
            return _hide_in_choice(value)
        return _hide_in_mapping(value, hiding)
    if isinstance(value, list | tuple):
        return [_hide_value(name, below, hiding) for below in value]
    if isinstance(value, str):
        if hiding:
            return HIDDEN
        return _hide_in_arguments(value) if name == _ARGUMENTS_FIELD else mask_keys(value)
    return HIDDEN if hiding == _HIDE_ALL and type(value) in (int, float) else value


def _hide_in_mapping(value: Mapping[str, Any], hiding: int = _HIDE_NOTHING) -> dict[str, Any]:
    """A mapping without secrets in its values and names."""
    safe = {}
    for name, below in value.items():
        if name != _PROMPT_IDS:
            safe[mask_keys(str(name))] = _hide_value(str(name), below, hiding)
    return safe


def _hide_in_arguments(text: str) -> str:
    """The arguments of a tool call, a JSON text, without secrets."""
    try:
        arguments = json.loads(text)
    except ValueError:
        return mask_keys(text)
    safe = _hide_value("", arguments)
    if safe == _to_plain_types(arguments):
        return text  # as it was written
    return json.dumps(safe)


def _hide_in_choice(choice: Mapping[str, Any]) -> dict[str, Any]:
    """A choice of a reply, or a content part of the Responses API, without secrets and unneeded bytes."""
    rest = {name: value for name, value in choice.items() if name not in ("logprobs", _IDS)}
    safe = _hide_in_mapping(rest)
    # A key in the answer was masked: its tokens would still spell it.
    hides_texts = safe != _to_plain_types(rest)
    if _IDS in choice and not hides_texts:
        safe[_IDS] = choice[_IDS]
    if "logprobs" in choice:
        safe["logprobs"] = _hide_in_logprobs(choice["logprobs"], hides_texts)
    return safe


def _to_plain_types(value: Any) -> Any:
    """A value in the types that `_hide_value` returns, so that a comparison of both shows whether that hid anything."""
    if isinstance(value, Mapping):
        return {str(name): _to_plain_types(below) for name, below in value.items() if name != _PROMPT_IDS}
    if isinstance(value, list | tuple):
        return [_to_plain_types(below) for below in value]
    return value


def _hide_in_logprobs(logprobs: Any, hides_texts: bool) -> Any:
    """Log-probabilities of a choice with only the fields that a log may hold.

    With `hides_texts`, also without the texts and ids of tokens. Chat completions have lists of steps, text completions
    parallel lists.
    """
    if isinstance(logprobs, list | tuple):
        return [_hide_in_step(step, hides_texts) for step in logprobs]
    if not isinstance(logprobs, Mapping):
        return logprobs
    if "token_logprobs" in logprobs:
        return _hide_in_text_completion(logprobs, hides_texts)
    return {name: _hide_in_logprobs(steps, hides_texts) for name, steps in logprobs.items()}


def _hide_in_step(step: Any, hides_texts: bool) -> Any:
    """A step and its alternatives, each with only the fields that a log may hold (see `_hide_in_entry`)."""
    if not isinstance(step, Mapping):
        return step
    safe = _hide_in_entry(step, hides_texts)
    if "top_logprobs" in step:
        safe["top_logprobs"] = [_hide_in_entry(entry, hides_texts) for entry in step["top_logprobs"] or ()]
    return safe


def _hide_in_entry(entry: Mapping[str, Any], hides_texts: bool) -> dict[str, Any]:
    """A token's text, id and log-probability; with `hides_texts`, only its log-probability.

    Written out for speed: a reply has thousands, and a service waits.
    """
    safe = {"token": HIDDEN if hides_texts else entry["token"], "logprob": entry["logprob"]}
    if "token_id" in entry and not hides_texts:
        safe["token_id"] = entry["token_id"]
    return safe


def _hide_in_text_completion(logprobs: Mapping[str, Any], hides_texts: bool) -> dict[str, Any]:
    """The parallel lists of a text completion; with `hides_texts`, without the texts of tokens."""
    if not hides_texts:
        return dict(logprobs)
    alternatives = []
    for step in logprobs.get("top_logprobs") or []:
        if step:  # a mapping of log-probabilities by token; ranks replace the tokens, because its names must differ
            alternatives.append({str(rank): value for rank, value in enumerate(step.values())})
        else:
            alternatives.append(step)
    return {
        **logprobs,
        "tokens": [HIDDEN] * len(logprobs["token_logprobs"]),
        "top_logprobs": alternatives,
    }
