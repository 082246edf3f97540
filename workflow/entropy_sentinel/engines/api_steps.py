"""The steps of a reply, token by token, as a chat's answer has them and as a text's continuation has them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# How a vLLM server writes a token where it is asked for ids: texts of several tokens can be the same.
_ID = re.compile(r"token_id:(\d+)")


@dataclass(frozen=True)
class Steps:
    """T steps of a reply: the sampled tokens, their log-probabilities, and those of the most likely tokens of each."""

    tokens: list[str]
    sampled: list[float]
    top: list[list[float]]


def of_chat(choice: Any) -> Steps:
    """The steps of an answer to a chat."""
    content = getattr(getattr(choice, "logprobs", None), "content", None) or []
    return Steps(
        [step.token for step in content],
        [step.logprob for step in content],
        [[entry.logprob for entry in step.top_logprobs] for step in content],
    )


def of_text(choice: Any) -> Steps:
    """The steps of what continues a plain text."""
    found: Any = getattr(choice, "logprobs", None)
    tokens = getattr(found, "tokens", None) or []
    top = getattr(found, "top_logprobs", None) or [{}] * len(tokens)
    sampled = list(found.token_logprobs) if tokens else []
    return Steps(list(tokens), sampled, [list((one or {}).values()) for one in top])


def ids_of(tokens: Sequence[str]) -> list[int] | None:
    """The ids of tokens that a server has written as such; None where it has written texts."""
    found = [_ID.fullmatch(token) for token in tokens]
    return [int(match[1]) for match in found if match] if found and all(found) else None
