"""Ask a second model the questions that the watched model was asked, once each, at temperature 0."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from entropy_sentinel.judges.answer_matching import explain_missing_answer
from entropy_sentinel.llm_client.chat_client import ChatClient
from entropy_sentinel.llm_client.optional_parameters import OptionalParameters
from entropy_sentinel.llm_client.request_results import Refusal, ServerReply, mask_secrets

# Part of a reply's cache key. Raise it when the cached content changes.
_CACHE_VERSION = "opinion 1"

# The messages of a request, with their roles and contents.
Conversation = Sequence[Mapping[str, str]]


@dataclass(frozen=True)
class Opinion:
    """The answer of a second model, or the reason why there is none."""

    answer: str | None
    reason: str | None = None


class SecondModel:
    """A chat model behind an API."""

    def __init__(self, model: str, max_tokens: int, temperature: float, server: Mapping[str, Any]) -> None:
        """Prepare requests to the model at `server`, which has the arguments of `ChatClient`; sends nothing yet."""
        self._max_tokens = max_tokens
        self._client = ChatClient("judge", model, **server, identity={"kept": _CACHE_VERSION})
        self._optional = OptionalParameters(self._client, {"temperature": temperature})

    @property
    def counts(self) -> Mapping[str, int]:
        """The numbers of replies so far: `answered`, `cached`, `refused`."""
        return self._client.counts

    @property
    def spent_usd(self) -> float:
        """The cost of the answered requests; 0 without prices."""
        return self._client.ledger.sums().spent

    @property
    def takes_temperature(self) -> bool:
        """Whether the temperature is sent; reasoning models take none."""
        return self._optional.accepted is not False

    def iterate_opinions(self, conversations: Sequence[Conversation]) -> Iterator[tuple[int, Opinion]]:
        """Yield (position in `conversations`, opinion) as the replies come; equal conversations are asked once.

        Raises the errors of `ChatClient.ask`, after the opinions that were paid for.
        """
        positions: dict[str, list[int]] = {}
        for position, messages in enumerate(conversations):
            positions.setdefault(json.dumps(list(messages)), []).append(position)
        requests = [{"messages": json.loads(messages), "max_tokens": self._max_tokens} for messages in positions]
        positions_of = list(positions.values())
        for number, reply in self._optional.ask(requests, _select_content):
            opinion = _make_opinion(reply)
            yield from ((position, opinion) for position in positions_of[number])


def _select_content(reply: ServerReply) -> dict[str, Any]:
    """What is cached of a reply: model, text, finish reason and numbers of tokens."""
    return {
        "model": mask_secrets(str(getattr(reply.parsed, "model", None) or "")),
        "text": reply.text,
        "finish_reason": reply.finish_reason,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
    }


def _make_opinion(reply: Any) -> Opinion:
    """The answer in a reply as it is kept, or why there is none."""
    if isinstance(reply, Refusal):
        return Opinion(None, f"the second model's server refuses: {reply.reason}")
    if not isinstance(reply, dict) or not all(isinstance(reply.get(name), str) for name in ("text", "finish_reason")):
        return Opinion(None, "the second model's cached reply is damaged: delete it from the cache, and ask again")
    if reason := explain_missing_answer(reply["text"], reply["finish_reason"]):
        return Opinion(None, reason)
    return Opinion(reply["text"].strip())
