"""What an engine is and gives: the interface that vLLM in this process and a server behind an API share."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from entropy_sentinel.frames.errors import EntropySentinelError
from entropy_sentinel.frames.generation import REFUSED, TOP_K

_Answer = TypeVar("_Answer")
Chat = Sequence[Mapping[str, str]]
# A chat, around which the engine puts the model's template; or plain text, which the model goes on from as it is.
Asked = Chat | str


def spoken(question: Asked) -> str | dict[str, str] | list[dict[str, str]]:
    """What is asked as it is hashed: of a user's message alone the text."""
    if isinstance(question, str):
        return {"text": question}
    alone = len(question) == 1 and question[0]["role"] == "user"
    return question[0]["content"] if alone else [dict(message) for message in question]


@dataclass(frozen=True)
class Response:
    """One response and its trace; T tokens. `n_counted` are those of a response without a trace."""

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
        """T, or as the server counts it; 0 where nobody does."""
        return self.n_counted if self.token_logprobs is None else len(self.token_logprobs)


def refused(reason: str, prompt_hash: str, prompt_tokens: int = 0) -> Response:
    """The response to a request that the engine refuses for its own sake, such as one whose prompt is too long.

    Nothing was generated: no text, no tokens; `finish_reason` is `refused: ` and the reason, which is one short line
    with what was asked and what is possible. Features and labels are null with it. A failure that concerns all
    requests (no server, a wrong key) is an error instead.
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
class Prompt:
    """A rendered prompt: its token ids, and its `prompt_hash` in the traces of this engine."""

    token_ids: Sequence[int]
    hash: str


@dataclass(frozen=True)
class NextToken:
    """What the model says of the token that follows a context: the 20 most likely ones, the likeliest first.

    Both arrays are empty where the engine refuses the context for its own sake, such as one that is too long; `refused`
    says why, and is empty otherwise. `cached` of the `context` tokens were not computed again, where the engine tells.
    """

    token_ids: np.ndarray  # (TOP_K,) uint32
    logprobs: np.ndarray  # (TOP_K,) float32, nats
    context: int = 0
    cached: int | None = None
    refused: str = ""


def refused_context(reason: str) -> NextToken:
    """What follows a context that the engine refuses."""
    return NextToken(np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.float32), refused=" ".join(reason.split()))


@dataclass(frozen=True)
class Continuation:
    """What the model says of given tokens after a context: the log-probability of each, given all before it.

    Empty where the engine refuses them for their own sake; `refused` says why, and is empty otherwise.
    """

    logprobs: np.ndarray  # (n,) float32, nats
    refused: str = ""


def refused_continuation(reason: str) -> Continuation:
    """What is said of a continuation that the engine refuses."""
    return Continuation(np.zeros(0, dtype=np.float32), refused=" ".join(reason.split()))


@dataclass(frozen=True)
class Beam:
    """One sequence of a beam search. `finish_reason` is `stop`, or `length` where it was not at its end.

    The token, or the text, that ends it is one of `token_ids`, and counts in `logprob`; `text` is without.
    """

    token_ids: tuple[int, ...]
    text: str
    logprob: float  # of all its tokens together, nats
    finish_reason: str


@dataclass(frozen=True)
class Beams:
    """What a beam search has found after a context, the likeliest first; nothing where the engine refuses it."""

    found: tuple[Beam, ...]
    refused: str = ""


def in_order(answers: Iterable[tuple[int, _Answer]], n_asked: int, what: str) -> list[_Answer]:
    """What an engine says of `n_asked` things, in their order; EntropySentinelError where it has not answered all."""
    by_number = dict(answers)
    if len(by_number) < n_asked:
        raise EntropySentinelError(f"the engine answered {len(by_number)} of {n_asked} {what}")
    return [by_number[number] for number in range(n_asked)]


class Engine(Protocol):
    """What a model can be asked, and what must be known of it to ask by token ids.

    - `answer`: responses to chats, lists of messages with role and content, and to plain text that it goes on from.
    - `next_tokens`: the distribution of the token after given contexts.
    - `continuations`: the log-probabilities of given tokens after given contexts.
    - `beams`: the likeliest responses, by beam search.

    `provenance` says which engine it is and what kind of log-probabilities it gives. `vocabulary` is the number of
    tokens that the model chooses from, V. An engine that cannot be asked by token ids raises ConfigError with the
    reason.
    """

    @property
    def provenance(self) -> dict[str, Any]: ...

    @property
    def vocabulary(self) -> int: ...

    def answer(self, chats: Sequence[Asked], seeds: Sequence[int]) -> Generator[tuple[int, Response], None, None]:
        """Answer each chat or text with its own seed: (position in `chats`, response), in the order they are done.

        A request that the engine refuses for its own sake has a response, too: `refused`.
        """
        ...

    def under_way(self) -> Sequence[int]:
        """The tokens so far of each response under way, in any order; 0 where only a server knows.

        It may be asked in another thread than the one that waits for answers.
        """
        ...

    def next_tokens(self, contexts: Iterable[Sequence[int]]) -> Generator[tuple[int, NextToken], None, None]:
        """What follows each context of token ids: (number of the context, NextToken), in the order they are done.

        Contexts are taken a few hundred ahead. Those that begin alike belong together: an engine that keeps what it has
        computed of a prefix computes the rest alone. What it keeps is of one call, so that the result of a call does
        not depend on those before.
        """
        ...

    def continuations(
        self, pairs: Iterable[tuple[Sequence[int], Sequence[int]]]
    ) -> Generator[tuple[int, Continuation], None, None]:
        """How likely each continuation is after its context: (number, Continuation), in the order they are done.

        Both are token ids, at least one in a context. This is teacher forcing: each token is judged after the given
        ones before it, in one pass over all.
        """
        ...

    def beams(
        self, contexts: Iterable[Sequence[int]], width: int, max_tokens: int, stop: Sequence[str] = ()
    ) -> Generator[tuple[int, Beams], None, None]:
        """The `width` likeliest responses after each context that beam search finds: (number of the context, Beams).

        `width` is at most half of TOP_K. A response ends with an end token of the model, with one of the texts `stop`,
        or after `max_tokens`. engines/beams.py says how it is searched.
        """
        ...

    def prompts(self, chats: Sequence[Asked]) -> list[Prompt]:
        """Each prompt as `answer` would send it."""
        ...

    def token_ids(self, texts: Sequence[str]) -> list[list[int] | None]:
        """The token ids of each text by itself, without special ones; None where the vocabulary lacks a part."""
        ...

    def token_texts(self, responses: Sequence[Sequence[int]]) -> list[list[str]]:
        """The texts of the tokens of each response; of several that make a character the last has it."""
        ...
