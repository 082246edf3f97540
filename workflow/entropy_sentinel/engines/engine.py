"""What an engine is and gives: the interface that vLLM in this process and a server behind an API share."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


@dataclass(frozen=True)
class Response:
    """One response and its trace; T tokens."""

    prompt_hash: str
    prompt_tokens: int
    text: str
    finish_reason: str
    token_logprobs: np.ndarray  # (T,) float32, nats
    top_logprobs: np.ndarray  # (T, TOP_K) float32, nats, largest first
    trace_start: int = 0
    token_ids: np.ndarray | None = None  # (T,) uint32
    top_token_ids: np.ndarray | None = None  # (T, TOP_K) uint32
    displaced_steps: int = 0


class Engine(Protocol):
    """What answers user messages. `provenance` says which engine it is and what kind of log-probabilities it gives."""

    provenance: dict[str, Any]

    def answer(self, messages: Sequence[str], seeds: Sequence[int]) -> Iterator[tuple[int, Response]]:
        """Answer each message with its own seed: (position in `messages`, response), in the order they are done."""
        ...
