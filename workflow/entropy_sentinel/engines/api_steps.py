"""The steps of a reply, token by token, as a chat's answer has them and as a text's continuation has them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# How a vLLM server writes a token where it is asked for ids: texts of several tokens can be the same.
_ID = re.compile(r"token_id:(\d+)")
# Traces have ids in 32 bits.
_MOST = 2**32 - 1


@dataclass(frozen=True)
class Steps:
    """T steps of a reply: the sampled tokens, their log-probabilities, and those of the most likely tokens of each.

    `top_tokens` are the texts of the most likely ones, or what stands for them. `ids` are of the sampled tokens, where
    a server says them beside the texts, as llama.cpp does; None elsewhere.
    """

    tokens: list[str]
    sampled: list[float]
    top: list[list[float]]
    top_tokens: list[list[str]]
    ids: list[int] | None = None


def of_chat(choice: Any) -> Steps:
    """The steps of an answer to a chat."""
    return _of_content(getattr(getattr(choice, "logprobs", None), "content", None) or [])


def of_text(choice: Any) -> Steps:
    """The steps of what continues a plain text: OpenAI's lists, or as for a chat, which is what llama.cpp returns."""
    found: Any = getattr(choice, "logprobs", None)
    if content := getattr(found, "content", None):
        return _of_content(content)
    tokens = getattr(found, "tokens", None) or []
    top = [one or {} for one in getattr(found, "top_logprobs", None) or [{}] * len(tokens)]
    sampled = list(found.token_logprobs) if tokens else []
    return Steps(list(tokens), sampled, [list(one.values()) for one in top], [list(one) for one in top])


def ids_of(tokens: Sequence[str]) -> list[int] | None:
    """The ids of tokens that a server has written as such; None where it has written texts."""
    found = [_ID.fullmatch(token) for token in tokens]
    return [int(match[1]) for match in found if match] if found and all(found) else None


def _of_content(content: Sequence[Any]) -> Steps:
    """The steps of `content`, one entry per token: objects of LiteLLM, or what the server sent."""
    ids = [_field(step, "id") for step in content]
    top = [_field(step, "top_logprobs") or [] for step in content]
    return Steps(
        [_field(step, "token") for step in content],
        [_field(step, "logprob") for step in content],
        [[_field(entry, "logprob") for entry in step] for step in top],
        [[_field(entry, "token") for entry in step] for step in top],
        ids if ids and all(type(one) is int and 0 <= one <= _MOST for one in ids) else None,
    )


def _field(entry: Any, name: str) -> Any:
    return entry.get(name) if isinstance(entry, Mapping) else getattr(entry, name, None)
