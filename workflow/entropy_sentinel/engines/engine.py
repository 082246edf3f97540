"""What an engine is and gives: the interface that vLLM in this process and a server behind an API share."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from entropy_sentinel.frames.generation import REFUSED, TOP_K

Chat = Sequence[Mapping[str, str]]
# A chat, around which the engine puts the model's template; or plain text, which the model goes on from as it is.
Asked = Chat | str


def spoken(asked: Asked) -> str | dict[str, str] | list[dict[str, str]]:
    """What is asked as it is hashed: of a user's message alone the text."""
    if isinstance(asked, str):
        return {"text": asked}
    alone = len(asked) == 1 and asked[0]["role"] == "user"
    return asked[0]["content"] if alone else [dict(message) for message in asked]


@dataclass(frozen=True)
class Response:
    """One response and its trace; T tokens."""

    prompt_hash: str
    prompt_tokens: int
    text: str
    finish_reason: str
    token_logprobs: np.ndarray  # (T,) float32, nats
    top_logprobs: np.ndarray  # (T, TOP_K) float32, nats, largest first
    tokens: np.ndarray | None = None  # (T,) str
    token_ids: np.ndarray | None = None  # (T,) uint32
    top_token_ids: np.ndarray | None = None  # (T, TOP_K) uint32
    displaced_steps: int = 0


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


class Engine(Protocol):
    """What answers chats, lists of messages with role and content, and goes on from plain text.

    `provenance` says which engine it is and what kind of log-probabilities it gives.
    """

    @property
    def provenance(self) -> dict[str, Any]: ...

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
