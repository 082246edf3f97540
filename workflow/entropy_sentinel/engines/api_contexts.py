"""What a server says by token ids at `/completions`: of what follows a context, and how it takes texts apart.

OpenAI's form of the request has all of it, and a vLLM server does it: prompts of token ids, tokens written as ids
(`return_tokens_as_token_ids`) and prompts that come back in the reply (`echo`).
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from entropy_sentinel.chat.client import ChatClient
from entropy_sentinel.chat.reply import Refusal, Reply
from entropy_sentinel.engines.api_servers import ids_of
from entropy_sentinel.engines.engine import Continuation, NextToken, refused_context, refused_continuation
from entropy_sentinel.frames.errors import ConfigError
from entropy_sentinel.frames.generation import TOP_K

_Thing = TypeVar("_Thing")

# Contexts that are taken at a time: the client wants to know how many there are.
_AT_A_TIME = 1024


def next_tokens(
    client: ChatClient, contexts: Iterable[Sequence[int]], account: str
) -> Generator[tuple[int, NextToken], None, None]:
    """See `Engine.next_tokens`. ConfigError where the server does not take token ids, or returns none or too few."""
    for number, context, reply in _replies(client, contexts, _next_request, account):
        if isinstance(reply, Refusal):
            yield number, refused_context(reply.reason)
        else:
            yield number, _next_token(client.name, reply, len(context))


def continuations(
    client: ChatClient, pairs: Iterable[tuple[Sequence[int], Sequence[int]]], account: str
) -> Generator[tuple[int, Continuation], None, None]:
    """See `Engine.continuations`. ConfigError where the server does not give the prompt back by token ids."""
    for number, (context, tokens), reply in _replies(client, pairs, _continuation_request, account):
        if isinstance(reply, Refusal):
            yield number, refused_continuation(reply.reason)
        else:
            yield number, _continuation(client.name, reply, [*context, *tokens], len(tokens))


def _replies(
    client: ChatClient, things: Iterable[_Thing], request: Callable[[_Thing], dict[str, Any]], account: str
) -> Generator[tuple[int, _Thing, Mapping[str, Any] | Refusal], None, None]:
    """The replies to a request for each of many things, some of these at a time: (number, thing, reply)."""
    waiting, done = iter(things), 0
    while some := list(islice(waiting, _AT_A_TIME)):
        with closing(client.ask([request(thing) for thing in some], _kept, account=account)) as replies:
            for position, reply in replies:
                yield done + position, some[position], reply
        done += len(some)


def token_ids(client: ChatClient, texts: Sequence[str], account: str, special: bool) -> list[list[int] | None]:
    """The token ids of texts, with the `special` tokens that a prompt begins with, or without any."""
    by_position = {}
    requests = [_request(text, echo=True, logprobs=1, add_special_tokens=special) for text in texts]
    with closing(client.ask(requests, _kept, account=account)) as replies:
        for position, reply in replies:
            by_position[position] = None if isinstance(reply, Refusal) else _ids(client.name, reply)
    return [by_position[position] for position in range(len(texts))]


def token_texts(client: ChatClient, responses: Sequence[Sequence[int]], account: str) -> list[list[str]]:
    """The texts of the tokens of each response; none of one that the server refuses, or that has no tokens."""
    by_position = dict[int, list[str]]()
    given = {position: ids for position, ids in enumerate(responses) if len(ids)}
    for _, position, reply in _replies(client, given, lambda position: _text_request(given[position]), account):
        by_position[position] = [] if isinstance(reply, Refusal) else reply["tokens"][:-1]
    return [by_position.get(position, []) for position in range(len(responses))]


def _next_request(context: Sequence[int]) -> dict[str, Any]:
    return _request(list(context), logprobs=TOP_K)


def _continuation_request(pair: tuple[Sequence[int], Sequence[int]]) -> dict[str, Any]:
    context, tokens = pair
    return _request([*context, *tokens], echo=True, logprobs=1)


def _text_request(ids: Sequence[int]) -> dict[str, Any]:
    return _request(list(ids), echo=True, logprobs=1, return_tokens_as_token_ids=False)


def _request(prompt: str | list[int], logprobs: int, echo: bool = False, **extra: Any) -> dict[str, Any]:
    """A request for one token after a prompt. LiteLLM takes no ids for most servers: they go around it."""
    body = {"return_tokens_as_token_ids": True, **extra} | ({} if isinstance(prompt, str) else {"prompt": prompt})
    request = {"prompt": prompt if isinstance(prompt, str) else "", "max_tokens": 1, "temperature": 0}
    return {**request, "logprobs": logprobs, **({"echo": True} if echo else {}), "extra_body": body}


def _kept(reply: Reply) -> dict[str, Any]:
    """The tokens of a reply, those of an echoed prompt among them, and what was likely in place of the last."""
    logprobs: Any = getattr(reply.choice, "logprobs", None)
    tokens, top = getattr(logprobs, "tokens", None) or [], getattr(logprobs, "top_logprobs", None) or [{}]
    sampled = list(getattr(logprobs, "token_logprobs", None) or [])
    return {
        "tokens": list(tokens),
        "logprobs": sampled,
        "top": dict(top[-1] or {}),
        "prompt_tokens": reply.prompt_tokens,
    }


def _ids(name: str, reply: Mapping[str, Any]) -> list[int]:
    """The ids of an echoed prompt, without the token that followed it."""
    if (ids := ids_of(reply["tokens"])) is None:
        raise ConfigError(f"{name}: {_NO_IDS}")
    return ids[:-1]


def _next_token(name: str, reply: Mapping[str, Any], length: int) -> NextToken:
    """The 20 most likely tokens, where the server has understood the context and names tokens by their ids."""
    if reply["prompt_tokens"] not in (0, length):
        raise ConfigError(
            f"{name}: the server read a context of {length} token ids as {reply['prompt_tokens']} tokens: it does not "
            f"take token ids at /completions; {_INSTEAD}"
        )
    top = sorted(reply["top"].items(), key=lambda entry: -entry[1])[:TOP_K]
    if len(top) < TOP_K:
        raise ConfigError(f"{name}: the server returned {len(top)} log-probabilities per token, {TOP_K} are needed")
    if (ids := ids_of([token for token, _ in top])) is None:
        raise ConfigError(f"{name}: {_NO_IDS}")
    logprobs = np.array([logprob for _, logprob in top], dtype=np.float32)
    return NextToken(np.array(ids, dtype=np.uint32), logprobs, context=length)


def _continuation(name: str, reply: Mapping[str, Any], ids: Sequence[int], n: int) -> Continuation:
    """The log-probabilities of the last `n` of the `ids` that were sent, where the server gives these back."""
    if _ids(name, reply) != list(ids):
        raise ConfigError(
            f"{name}: the server does not give a prompt of {len(ids)} token ids back as it was sent (echo): it does "
            f"not take token ids at /completions; {_INSTEAD}"
        )
    return Continuation(np.array(reply["logprobs"][len(ids) - n : len(ids)], dtype=np.float32))


_INSTEAD = "run the model by 'id' or 'path', serve it with vLLM, or leave the family out of run.features"
_NO_IDS = f"the server writes tokens as text, not as ids (return_tokens_as_token_ids); {_INSTEAD}"
