"""An engine without a model: a character is a token, and what follows a context is a function of the context."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from entropy_sentinel.schemas.generation_schema import TOP_K
from entropy_sentinel.study.engines.beam_searching import BeamSearcher
from entropy_sentinel.study.engines.engine_interface import (
    Beams,
    Continuation,
    NextToken,
    RenderedPrompt,
    refused_context,
    refused_continuation,
)

VOCABULARY = 500


class FakeEngine:
    """Tokens are characters by their code, below 500; `merges` are texts that are one token, by its id.

    Characters of `unknown` have no token. Stops with KeyboardInterrupt after so many contexts as `stop_after` says. A
    prompt is the first `prompt` characters of what is said last. Token 0 ends a response.
    """

    provenance = {"engine": "fake", "engine_version": "1", "logprobs_mode": "raw_logprobs"}
    vocabulary = VOCABULARY

    def __init__(
        self,
        merges: dict[str, int] | None = None,
        unknown: str = "",
        stop_after: int | None = None,
        longest: int = 10**6,
        prompt: int | None = 5,
    ) -> None:
        self.merges, self.unknown = merges or {}, unknown
        self.stop_after, self.longest, self.prompt = stop_after, longest, prompt
        self.contexts: list[list[int]] = []

    def next_tokens(self, contexts: Iterable[Sequence[int]]) -> Iterator[tuple[int, NextToken]]:
        for number, context in enumerate(contexts):
            if len(self.contexts) == self.stop_after:
                raise KeyboardInterrupt
            self.contexts.append(list(context))
            too_long = len(context) > self.longest
            yield number, refused_context("too long") if too_long else distribution(context)

    def continuations(self, asked: Iterable[tuple[Sequence[int], Sequence[int]]]) -> Iterator[tuple[int, Continuation]]:
        for number, (context, tokens) in enumerate(asked):
            self.contexts.append([*context, *tokens])
            if len(context) + len(tokens) > self.longest:
                yield number, refused_continuation("too long")
                continue
            befores = [[*context, *tokens[:place]] for place in range(len(tokens))]
            result = [every(before)[token] for before, token in zip(befores, tokens, strict=True)]
            yield number, Continuation(np.array(result, dtype=np.float32))

    def beams(
        self, contexts: Iterable[Sequence[int]], width: int, max_tokens: int, stop: Sequence[str] = ()
    ) -> Iterator[tuple[int, Beams]]:
        search = BeamSearcher(self.next_tokens, self.token_texts, frozenset({0}), width, max_tokens, tuple(stop))
        return search.search(contexts)

    def under_way(self) -> list[int]:
        return []

    def prompts(self, chats: Sequence[Any]) -> list[RenderedPrompt]:
        message = [chat if isinstance(chat, str) else chat[-1]["content"] for chat in chats]
        return [RenderedPrompt(ids := [ord(one) for one in text[: self.prompt]], prompt_hash(ids)) for text in message]

    def token_ids(self, texts: Sequence[str]) -> list[list[int] | None]:
        return [None if set(text) & set(self.unknown) or not text else self._ids(text) for text in texts]

    def token_texts(self, responses: Sequence[Sequence[int]]) -> list[list[str]]:
        texts = {number: text for text, number in self.merges.items()}
        return [[texts.get(id_) or ("" if id_ == 0 else chr(id_)) for id_ in ids] for ids in responses]

    def _ids(self, text: str) -> list[int]:
        result, place = [], 0
        while place < len(text):
            merged = max((one for one in self.merges if text.startswith(one, place)), key=len, default=text[place])
            result.append(self.merges.get(merged, ord(merged[0])))
            place += len(merged)
        return result


def every(context: Sequence[int]) -> np.ndarray:
    """The log-probabilities of all tokens after a context, (VOCABULARY,), drawn by a generator that it seeds."""
    seed = int.from_bytes(hashlib.sha256(str(list(context)).encode()).digest()[:8])
    logits = np.random.default_rng(seed).normal(size=VOCABULARY) * 3
    result: np.ndarray = logits - np.log(np.exp(logits).sum())
    return result


def distribution(context: Sequence[int]) -> NextToken:
    """What follows a context."""
    logprobs = every(context)
    top = np.argsort(-logprobs)[:TOP_K]
    return NextToken(top.astype(np.uint32), logprobs[top].astype(np.float32), context=len(context), cached=0)


def prompt_hash(ids: Sequence[int]) -> str:
    """As the vLLM engine writes it."""
    return hashlib.sha256(np.asarray(ids, dtype="<u4").tobytes()).hexdigest()[:16]
