"""Questions by token ids to a server's `/completions`: next tokens, given tokens, and the tokens of texts.

A vLLM server supports prompts of token ids, tokens written as ids (`return_tokens_as_token_ids`), and prompts that come
back in the reply (`echo`).
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.llm_client.chat_client import ChatClient
from entropy_sentinel.llm_client.request_results import Refusal, ServerReply
from entropy_sentinel.schemas.generation_schema import TOP_K
from entropy_sentinel.study.engines.api_servers import parse_token_ids
from entropy_sentinel.study.engines.engine_interface import (
    Continuation,
    NextToken,
    refused_context,
    refused_continuation,
)

_Question = TypeVar("_Question")

# Contexts per call of the client, which must know their number.
_BATCH_SIZE = 1024


class ApiContexts:
    """Requests by token ids to a model behind a server; the ledger has its calls under `account`.

    Raises ConfigError if the server does not take token ids, or does not return them.
    """

    def __init__(self, client: ChatClient, account: str) -> None:
        self._client, self._account = client, account

    def next_tokens(self, contexts: Iterable[Sequence[int]]) -> Generator[tuple[int, NextToken], None, None]:
        """Yield (number of the context, NextToken): the likeliest next tokens after each context, as they finish."""
        for number, context, reply in self._replies(contexts, partial(_build_request, logprobs=TOP_K)):
            if isinstance(reply, Refusal):
                yield number, refused_context(reply.reason)
            else:
                yield number, _parse_next_token(self._client.name, reply, len(context))

    def continuations(
        self, pairs: Iterable[tuple[Sequence[int], Sequence[int]]]
    ) -> Generator[tuple[int, Continuation], None, None]:
        """Yield (number of the pair, Continuation): log-probabilities of its tokens after its context, as they end."""

        def request(pair: tuple[Sequence[int], Sequence[int]]) -> dict[str, Any]:
            context, tokens = pair
            return _build_request([*context, *tokens], echo=True, logprobs=1)

        for number, (context, tokens), reply in self._replies(pairs, request):
            if isinstance(reply, Refusal):
                yield number, refused_continuation(reply.reason)
            else:
                yield number, _parse_continuation(self._client.name, reply, [*context, *tokens], len(tokens))

    def token_ids(self, texts: Sequence[str], special: bool = False) -> list[list[int] | None]:
        """The token ids of each text; None for a text that the server refuses.

        With `special`, they begin with the special tokens with which the model's prompts begin.
        """
        ids: dict[int, list[int] | None] = {}
        request = partial(_build_request, echo=True, logprobs=1, add_special_tokens=special)
        with closing(self._replies(texts, request)) as replies:
            for number, _, reply in replies:
                ids[number] = None if isinstance(reply, Refusal) else _parse_prompt_ids(self._client.name, reply)
        return [ids[number] for number in range(len(texts))]

    def token_texts(self, responses: Sequence[Sequence[int]]) -> list[list[str]]:
        """The texts of each response's tokens; empty for a response that the server refuses, or that has no tokens."""
        texts: list[list[str]] = [[] for _ in responses]
        nonempty = [number for number, ids in enumerate(responses) if len(ids)]

        def request(number: int) -> dict[str, Any]:
            return _build_request(responses[number], echo=True, logprobs=1, return_tokens_as_token_ids=False)

        for _, number, reply in self._replies(nonempty, request):
            if not isinstance(reply, Refusal):
                # The last is the token that the server has generated after the echoed prompt.
                texts[number] = reply["tokens"][:-1]
        return texts

    def _replies(
        self, questions: Iterable[_Question], request: Callable[[_Question], dict[str, Any]]
    ) -> Generator[tuple[int, _Question, Mapping[str, Any] | Refusal], None, None]:
        """Yield (number, question, reply) for the request of each question, `_BATCH_SIZE` per call of the client."""
        waiting, n_asked = iter(questions), 0
        while batch := list(islice(waiting, _BATCH_SIZE)):
            requests = [request(question) for question in batch]
            with closing(self._client.ask(requests, _extract_last_step, account=self._account)) as replies:
                for position, reply in replies:
                    yield n_asked + position, batch[position], reply
            n_asked += len(batch)


def _build_request(prompt: str | Sequence[int], logprobs: int, echo: bool = False, **extra: Any) -> dict[str, Any]:
    """A request for one token after a prompt, a text or token ids, with `logprobs` alternatives per token.

    With `echo`, the reply has the prompt's tokens, too. Ids are in `extra_body`: LiteLLM refuses them for most servers.
    """
    request: dict[str, Any] = {"prompt": "", "max_tokens": 1, "temperature": 0, "logprobs": logprobs}
    body = {"return_tokens_as_token_ids": True, **extra}
    if isinstance(prompt, str):
        request["prompt"] = prompt
    else:
        body["prompt"] = list(prompt)
    if echo:
        request["echo"] = True
    return {**request, "extra_body": body}


def _extract_last_step(reply: ServerReply) -> dict[str, Any]:
    """What is kept of a reply: its `tokens`, including an echoed prompt, their `logprobs`, and `prompt_tokens`.

    `top` has the log-probabilities of the alternatives to the last token by their text, or by their id as text.
    """
    logprobs: Any = getattr(reply.choice, "logprobs", None)
    top = getattr(logprobs, "top_logprobs", None) or [{}]
    return {
        "tokens": list(getattr(logprobs, "tokens", None) or []),
        "logprobs": list(getattr(logprobs, "token_logprobs", None) or []),
        "top": dict(top[-1] or {}),
        "prompt_tokens": reply.prompt_tokens,
    }


def _parse_prompt_ids(name: str, reply: Mapping[str, Any]) -> list[int]:
    """The ids of an echoed prompt, without the token after it."""
    if (ids := parse_token_ids(reply["tokens"])) is None:
        raise ConfigError(f"{name}: {_NO_IDS}")
    return ids[:-1]


def _parse_next_token(name: str, reply: Mapping[str, Any], length: int) -> NextToken:
    """The 20 most likely tokens after a context of `length` token ids.

    `name` is the config's key of the server, for errors. Raises ConfigError if it ignored the ids or returned none.
    """
    if reply["prompt_tokens"] not in (0, length):  # 0: the server does not count them
        raise ConfigError(
            f"{name}: the server read a context of {length} token ids as {reply['prompt_tokens']} tokens: it does not "
            f"take token ids at /completions; {_REMEDY}"
        )
    top = sorted(reply["top"].items(), key=lambda entry: -entry[1])[:TOP_K]
    if len(top) < TOP_K:
        raise ConfigError(f"{name}: the server returned {len(top)} log-probabilities per token, {TOP_K} are needed")
    tokens, logprobs = zip(*top, strict=True)
    if (ids := parse_token_ids(tokens)) is None:
        raise ConfigError(f"{name}: {_NO_IDS}")
    return NextToken(np.array(ids, dtype=np.uint32), np.array(logprobs, dtype=np.float32), context=length)


def _parse_continuation(name: str, reply: Mapping[str, Any], ids: Sequence[int], n_tokens: int) -> Continuation:
    """The log-probabilities of the last `n_tokens` of `ids`; raises ConfigError if the server does not echo them."""
    if _parse_prompt_ids(name, reply) != list(ids):
        raise ConfigError(
            f"{name}: the server does not return a prompt of {len(ids)} token ids as it was sent (echo): it does "
            f"not take token ids at /completions; {_REMEDY}"
        )
    return Continuation(np.array(reply["logprobs"][len(ids) - n_tokens : len(ids)], dtype=np.float32))


_REMEDY = "run the model by 'id' or 'path', serve it with vLLM, or leave the family out of run.features"
_NO_IDS = f"the server writes tokens as text, not as ids (return_tokens_as_token_ids); {_REMEDY}"
