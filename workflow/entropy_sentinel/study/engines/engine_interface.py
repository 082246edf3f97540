"""The interface of an engine, and its results: for vLLM in this process, servers behind an API, and your own."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from entropy_sentinel.core.errors import EntropySentinelError
from entropy_sentinel.schemas.generation_schema import REFUSED, TOP_K

_Answer = TypeVar("_Answer")
Chat = Sequence[Mapping[str, str]]
# A chat, which the engine puts into the model's template, or plain text, which the model continues.
Asked = Chat | str


def canonicalize_prompt(question: Asked) -> str | dict[str, str] | list[dict[str, str]]:
    """The form of a prompt that is hashed; for a single user message, this is only its text."""
    if isinstance(question, str):
        return {"text": question}
    is_single_message = len(question) == 1 and question[0]["role"] == "user"
    return question[0]["content"] if is_single_message else [dict(message) for message in question]


@dataclass(frozen=True)
class Response:
    """One response of T tokens and its trace. `n_counted` is the number of tokens of a response without a trace."""

    prompt_hash: str
    prompt_tokens: int
    text: str
    finish_reason: str
    token_logprobs: np.ndarray | None  # (T,) float32, nats
    top_logprobs: np.ndarray | None  # (T, TOP_K) float32, nats, largest first
    tokens: np.ndarray | None = None  # (T,) str
    token_ids: np.ndarray | None = None  # (T,) uint32
    top_token_ids: np.ndarray | None = None  # (T, TOP_K) uint32
    top_tokens: np.ndarray | None = None  # (T, TOP_K) str
    displaced_steps: int = 0
    n_counted: int = 0

    @property
    def n_tokens(self) -> int:
        """T, or else the server's count; 0 if unknown."""
        return self.n_counted if self.token_logprobs is None else len(self.token_logprobs)


def refused(reason: str, prompt_hash: str, prompt_tokens: int = 0) -> Response:
    """The response to a refused request, for example one whose prompt is too long.

    It has no text and no tokens. Its `finish_reason` is `refused: ` and the reason: one short line with the request
    and the limit. Its features and label are null. A failure of all requests (no server, a wrong key) is an
    error instead.
    """
    return Response(
        prompt_hash=prompt_hash,
        prompt_tokens=prompt_tokens,
        text="",
        finish_reason=REFUSED + " ".join(reason.split()),
        token_logprobs=np.zeros(0, dtype=np.float32),
        top_logprobs=np.zeros((0, TOP_K), dtype=np.float32),
    )


@dataclass(frozen=True)
class RenderedPrompt:
    """A rendered prompt: its token ids, and its `prompt_hash` in the traces of this engine."""

    token_ids: Sequence[int]
    hash: str


@dataclass(frozen=True)
class NextToken:
    """The 20 most likely next tokens after a context, likeliest first.

    Both arrays are empty if the engine refuses the context, for example because it is too long; then `refused` says
    why. `cached` of the `context` tokens came from the engine's cache; null if the engine does not say.
    """

    token_ids: np.ndarray  # (TOP_K,) uint32
    logprobs: np.ndarray  # (TOP_K,) float32, nats
    context: int = 0
    cached: int | None = None
    refused: str = ""


def refused_context(reason: str) -> NextToken:
    """The result for a context that the engine refuses."""
    return NextToken(np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.float32), refused=" ".join(reason.split()))


@dataclass(frozen=True)
class Continuation:
    """The log-probability of each given token after a context, given all tokens before it.

    Empty if the engine refuses the tokens; then `refused` says why.
    """

    logprobs: np.ndarray  # (n,) float32, nats
    refused: str = ""


def refused_continuation(reason: str) -> Continuation:
    """The result for a continuation that the engine refuses."""
    return Continuation(np.zeros(0, dtype=np.float32), refused=" ".join(reason.split()))


@dataclass(frozen=True)
class Beam:
    """One sequence of a beam search. `finish_reason` is `stop`, or `length` if it was truncated.

    `token_ids` and `logprob` include the token or text that ends it; `text` does not.
    """

    token_ids: tuple[int, ...]
    text: str
    logprob: float  # of all its tokens together, nats
    finish_reason: str


@dataclass(frozen=True)
class Beams:
    """The sequences of a beam search after a context, likeliest first; none if the engine refuses the context."""

    beams: tuple[Beam, ...]
    refused: str = ""


def collect_answers(answers: Iterable[tuple[int, _Answer]], n_asked: int, subject: str) -> list[_Answer]:
    """An engine's `n_asked` answers in order; EntropySentinelError if one is missing."""
    by_number = dict(answers)
    if len(by_number) < n_asked:
        raise EntropySentinelError(f"the engine answered {len(by_number)} of {n_asked} {subject}")
    return [by_number[number] for number in range(n_asked)]


class Engine(Protocol):
    """A model that answers chats (lists of messages with role and content), and continues plain text.

    `provenance` states the engine (`engine`, `engine_version`) and the kind of its log-probabilities
    (`logprobs_mode`); it is read after the first answers.
    """

    @property
    def provenance(self) -> dict[str, Any]: ...

    def answer(self, chats: Sequence[Asked], seeds: Sequence[int]) -> Generator[tuple[int, Response], None, None]:
        """Yield (position in `chats`, response) for each chat or text with its own seed, as responses are finished.

        A refused request also has a response, `refused`.
        """
        ...

    def under_way(self) -> Sequence[int]:
        """The tokens so far of each unfinished response, in any order; 0 if only a server knows.

        Another thread may call this while one waits for answers.
        """
        ...


class TokenIdEngine(Engine, Protocol):
    """An engine whose model can be asked again about its responses, by token ids (`Model.ASKED_BY_TOKENS`).

    - `next_tokens`: the distribution of the token after given contexts.
    - `continuations`: the log-probabilities of given tokens after given contexts.
    - `beams`: the likeliest responses, by beam search.

    The other methods are those of the tokenizer. `vocabulary` is the number of tokens that the model chooses from, V.
    A method that one server or model cannot answer raises ConfigError with the reason.
    """

    @property
    def vocabulary(self) -> int: ...

    def next_tokens(self, contexts: Iterable[Sequence[int]]) -> Generator[tuple[int, NextToken], None, None]:
        """Yield (number of the context, NextToken) for each context of token ids, as they are finished.

        The engine reads a few hundred contexts ahead. Give contexts with a common prefix one after another: an engine
        with a prefix cache computes only the rest. It empties the cache for each call, so a result does not depend on
        earlier calls.
        """
        ...

    def continuations(
        self, pairs: Iterable[tuple[Sequence[int], Sequence[int]]]
    ) -> Generator[tuple[int, Continuation], None, None]:
        """Yield (number, Continuation) for each pair of a context and the token ids after it, as they are finished.

        A context has at least one token. This is teacher forcing: one pass gives the log-probability of each token
        after the given tokens before it.
        """
        ...

    def beams(
        self, contexts: Iterable[Sequence[int]], width: int, max_tokens: int, stop: Sequence[str] = ()
    ) -> Generator[tuple[int, Beams], None, None]:
        """Yield (number of the context, Beams): the `width` likeliest responses that beam search finds.

        `width` is at most half of TOP_K. A response ends with an end token of the model, with one of the texts `stop`,
        or after `max_tokens`. study/engines/beam_searching.py describes the search.
        """
        ...

    def prompts(self, chats: Sequence[Asked]) -> list[RenderedPrompt]:
        """Each prompt as `answer` would send it."""
        ...

    def token_ids(self, texts: Sequence[str]) -> list[list[int] | None]:
        """The token ids of each text, without special tokens; None if the vocabulary lacks a part of it."""
        ...

    def token_texts(self, responses: Sequence[Sequence[int]]) -> list[list[str]]:
        """The texts of each response's tokens; a character of several tokens belongs to the last of them."""
        ...
