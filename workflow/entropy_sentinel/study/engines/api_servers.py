"""Replies of servers: their steps, token by token, and the differences between kinds of servers.

llama.cpp and Ollama identify themselves in `system_fingerprint`. All others are treated as vLLM or a provider.
"""

import json
import logging
import re
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.schemas.generation_schema import TOP_K
from entropy_sentinel.study.items.table_import import find_impossible_step

# How a vLLM server writes a token as an id: several tokens can have the same text.
_ID = re.compile(r"token_id:(\d+)")
# Traces have ids in 32 bits.
_LARGEST_ID = 2**32 - 1


@dataclass(frozen=True)
class Steps:
    """T steps of a reply: the sampled tokens, their log-probabilities, and those of the most likely tokens of each.

    `top_tokens` are the texts of the most likely tokens, or their ids as text. `ids` are of the sampled tokens if the
    server returns them beside the texts, as llama.cpp does; else None.
    """

    tokens: list[str]
    sampled_logprobs: list[float]
    top_logprobs: list[list[float]]
    top_tokens: list[list[str]]
    ids: list[int] | None = None


def read_chat_steps(choice: Any) -> Steps:
    """The steps of an answer to a chat."""
    return _read_content_steps(getattr(getattr(choice, "logprobs", None), "content", None) or [])


def read_text_steps(choice: Any) -> Steps:
    """The steps of a continuation of plain text: OpenAI's lists, or llama.cpp's, which are as for a chat."""
    logprobs: Any = getattr(choice, "logprobs", None)
    if content := getattr(logprobs, "content", None):
        return _read_content_steps(content)
    tokens = getattr(logprobs, "tokens", None) or []
    # For each step the log-probabilities of the most likely tokens by their text; a server may give none.
    top = [step or {} for step in getattr(logprobs, "top_logprobs", None) or [{}] * len(tokens)]
    return Steps(
        tokens=list(tokens),
        sampled_logprobs=list(logprobs.token_logprobs) if tokens else [],
        top_logprobs=[list(step.values()) for step in top],
        top_tokens=[list(step) for step in top],
    )


def parse_token_ids(tokens: Sequence[str]) -> list[int] | None:
    """The ids of tokens that a server has written as ids; None if it has written texts."""
    ids = []
    for token in tokens:
        match = _ID.fullmatch(token)
        if match is None:
            return None
        ids.append(int(match[1]))
    return ids or None


def sort_top_texts(kept: Mapping[str, Any]) -> np.ndarray | None:
    """The texts of the most likely tokens of a kept reply, (T, TOP_K), likeliest first; None without them."""
    if "top_tokens" not in kept:
        return None
    rows = []
    for logprobs, texts in zip(kept["top_logprobs"], kept["top_tokens"], strict=True):
        likeliest = sorted(zip(logprobs, texts, strict=True), key=itemgetter(0), reverse=True)[:TOP_K]
        rows.append([text for _, text in likeliest])
    return np.array(rows, dtype=object).reshape(-1, TOP_K)


def _read_content_steps(content: Sequence[Any]) -> Steps:
    """The steps of `content`, one entry per token: LiteLLM's objects, or the server's dicts."""
    top, top_tokens = [], []
    for step in content:
        entries = _get_field(step, "top_logprobs") or []
        top.append([_get_field(entry, "logprob") for entry in entries])
        top_tokens.append([_get_field(entry, "token") for entry in entries])
    ids = [_get_field(step, "id") for step in content]
    has_ids = bool(ids) and all(type(number) is int and 0 <= number <= _LARGEST_ID for number in ids)
    return Steps(
        tokens=[_get_field(step, "token") for step in content],
        sampled_logprobs=[_get_field(step, "logprob") for step in content],
        top_logprobs=top,
        top_tokens=top_tokens,
        ids=ids if has_ids else None,
    )


def _get_field(entry: Any, name: str) -> Any:
    """A field of an entry that is a dict or an object; None without it."""
    return entry.get(name) if isinstance(entry, Mapping) else getattr(entry, name, None)


log = logging.getLogger(__name__)

_TIMEOUT_S = 10
# Values that leave the distribution unchanged after temperature and top_p, which every request sets.
_NEUTRAL = {"top_k": 0, "min_p": 0, "repeat_penalty": 1, "presence_penalty": 0, "frequency_penalty": 0}
# The keys of these that a study can set.
_SETTABLE = ("top_k", "min_p")


def find_sampling_problem(address: str, sampling: Mapping[str, object]) -> str | None:
    """How the server's own settings change the study's sampling, with the remedy; None if they do not.

    `address` is the base URL, `http://localhost:8080/v1`. If the server does not say, the result is None.
    """
    differences = {}
    for name, value in _fetch_server_sampling(address).items():
        if name not in sampling and value != _NEUTRAL[name]:
            differences[name] = value
    if not differences:
        return None
    options = " ".join(f"--{name.replace('_', '-')} {_NEUTRAL[name]}" for name in differences)
    values = ", ".join(f"{name} {value}" for name, value in differences.items())
    remedy = ""
    if differences.keys() <= set(_SETTABLE):  # the study's sampling has these keys, too
        settings = ", ".join(f"{name}: {value}" for name, value in differences.items())
        remedy = f", or set it for this model: `sampling: {{{settings}}}`"
    return f"llama.cpp would sample with {values}, not set by the study; start llama-server with {options}{remedy}"


def _fetch_server_sampling(address: str) -> dict[str, Any]:
    """The server's own values for the keys of `_NEUTRAL`; empty if it does not report them."""
    props = f"{address.removesuffix('/v1')}/props"
    try:
        with urllib.request.urlopen(props, timeout=_TIMEOUT_S) as reply:
            settings = json.loads(reply.read())["default_generation_settings"]
        parameters = settings.get("params", settings)
        sampling = {}
        for name in _NEUTRAL:
            value = parameters.get(name)
            if isinstance(value, int | float):
                # As it was set, from the server's 32 bits: 0.05 for 0.05000000074505806.
                sampling[name] = float(f"{value:.6g}") if isinstance(value, float) else value
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        log.warning("%s does not report its sampling settings (%s); its own top_k and min_p may apply", props, error)
        return {}
    if "top_k" in sampling:
        sampling["top_k"] = max(sampling["top_k"], 0)  # below 0 it also keeps all tokens
    return sampling


@dataclass(frozen=True)
class ServerKind:
    """A kind of server: its name, its fingerprint, and `count_remedy`, if it returns too few log-probabilities.

    `ignored` has the keys of `sampling` that it ignores, with the remedies. `plain_text` says why it cannot continue
    plain text. If it `reports_sampling`, its own sampling is checked (`find_sampling_problem`).
    """

    name: str
    fingerprint: re.Pattern[str]
    count_remedy: str
    ignored: Mapping[str, str] = field(default_factory=dict)
    plain_text: str | None = None
    reports_sampling: bool = False


_GENERIC_KIND = ServerKind(
    "server",
    re.compile(""),
    f"start vLLM with --max-logprobs {TOP_K}, or choose a provider that returns top_logprobs={TOP_K}; one that gives "
    "none can still be used for text only, with api.logprobs: false",
)
_KINDS = (
    ServerKind(
        "llama.cpp",
        re.compile(r"b\d+-\S+"),
        "llama-server returns them in versions from 2025 on, and not for tokens of a draft model: update it, and start "
        "it without --model-draft and the other options for speculative decoding",
        {"repetition_penalty": "serve the model with vLLM if you need it: llama.cpp's repeat_penalty is different"},
        reports_sampling=True,
    ),
    ServerKind(
        "Ollama",
        re.compile("fp_ollama"),
        "Ollama returns them from version 0.12.11 on: update it",
        dict.fromkeys(("top_k", "min_p", "repetition_penalty"), "serve the model with llama.cpp or vLLM"),
        "it puts the model's chat template around plain text; serve the GGUF file with llama.cpp instead",
    ),
)


def identify_server(fingerprint: object) -> ServerKind:
    """The kind of server by the `system_fingerprint` of its reply."""
    return next((kind for kind in _KINDS if kind.fingerprint.fullmatch(str(fingerprint or ""))), _GENERIC_KIND)


def find_request_problem(kind: ServerKind, sampling: Mapping[str, object], is_chat: bool) -> str | None:
    """Why a server of this kind cannot answer as the study asks, with the remedy; None if it can."""
    if kind.plain_text and not is_chat:
        return f"{kind.name} cannot continue plain text: {kind.plain_text}"
    for key, remedy in kind.ignored.items():
        if key in sampling:
            return (
                f"{kind.name} ignores sampling.{key}, got {sampling[key]}; leave it out of this model's "
                f"sampling and of generation.sampling (null unsets it), or {remedy}"
            )
    return None


def find_count_problem(kind: ServerKind, steps: Steps) -> str | None:
    """Why replies with these steps have too few log-probabilities per token, with the remedy; None if they have enough.

    `kind` is the kind of server that sent them.
    """
    fewest = min(map(len, steps.top_logprobs), default=0)
    if fewest < TOP_K:
        returned = str(fewest) if steps.tokens else "no"
        return f"the server returned {returned} log-probabilities per token, {TOP_K} are needed; {kind.count_remedy}"
    return None


def find_logprobs_problem(steps: Steps) -> str | None:
    """Why these steps cannot be log-probabilities of a model; None if they can."""
    top = [sorted(step, reverse=True)[:TOP_K] for step in steps.top_logprobs]
    columns = {"token_logprobs": [steps.sampled_logprobs], "top_logprobs": [top]}
    schema = {"token_logprobs": pl.List(pl.Float32), "top_logprobs": pl.List(pl.Array(pl.Float32, TOP_K))}
    wrong = find_impossible_step(pl.DataFrame(columns, schema=schema, strict=False))
    if wrong is None:
        return None
    was = wrong.was[:3] if isinstance(wrong.was, list) else wrong.was
    return (
        f"the server returned log-probabilities that cannot be right: {wrong.column} {wrong.must}; step {wrong.step} "
        f"of a reply begins with {was}. They must be natural logarithms of the model's own probabilities, before "
        "temperature and sampling (llama.cpp: without post_sampling_probs); update the server"
    )
