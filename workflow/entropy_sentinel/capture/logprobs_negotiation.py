"""Which log-probabilities to add to a request: those that its server gives, by kind of request.

A server may refuse log-probabilities of some requests only (llama.cpp does for tools in a stream), limit the number of
alternatives, or fail once for another reason. So a refusal counts only for requests of the same kind, and for some
time. A limit that the server names is kept.
"""

import json
import logging
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from entropy_sentinel.capture.logprobs_requests import add_logprobs, cap_alternatives

log = logging.getLogger(__name__)

# Seconds until log-probabilities are requested again after a refusal; each further refusal multiplies them by four.
RETRY_S, LONGEST_RETRY_S = 60.0, 86_400.0
# Largest number of characters of a server's words in a log.
_LONGEST_WORDS = 200
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.]*\w)")


class RequestKind(NamedTuple):
    """The requests that a server is assumed to answer alike."""

    server: str
    path: str
    model: str
    stream: bool
    tools: bool

    @classmethod
    def from_body(cls, server: str, path: str, body: Mapping[str, Any]) -> "RequestKind":
        """The kind of a request with this body."""
        tools = bool(body.get("tools") or body.get("functions"))
        return cls(server, path, str(body.get("model")), bool(body.get("stream")), tools)

    def __str__(self) -> str:
        extras = []
        if self.tools:
            extras.append("tools")
        if self.stream:
            extras.append("stream")
        return f"{self.model} with {' and '.join(extras)}" if extras else self.model


@dataclass
class _ServerReaction:
    """What a server did with a kind of request.

    `most` is its limit of alternatives, `until` a monotonic time, and `failed` the number of requests with added
    log-probabilities that failed and were left to the client's retries.
    """

    most: int | None = None
    accepted: bool = False
    failed: int = 0
    refusals: int = 0
    until: float = 0.0
    why: str = ""


@dataclass
class LogprobsNegotiator:
    """Adds log-probabilities to requests, with at most `top_logprobs` alternatives per token."""

    top_logprobs: int
    clock: Callable[[], float] = time.monotonic
    reactions: dict[RequestKind, _ServerReaction] = field(default_factory=dict)

    def start_attempt(self, kind: RequestKind, body: dict[str, Any], retry: bool) -> "LogprobsAttempt":
        """What to send for a request with this body; `retry` says that the client repeats a request."""
        return LogprobsAttempt(self, kind, body, retry)

    def find_reaction(self, kind: RequestKind) -> _ServerReaction:
        """What is known of a kind of request."""
        return self.reactions.setdefault(kind, _ServerReaction())

    def choose_top(self, kind: RequestKind) -> int:
        """The number of alternatives to request; 0 while log-probabilities are not requested."""
        known = self.find_reaction(kind)
        return 0 if self.clock() < known.until else min(self.top_logprobs, known.most or self.top_logprobs)

    def record_refusal(self, kind: RequestKind, why: str) -> None:
        """Record that a server refuses log-probabilities, so that they are not requested for some time."""
        known = self.find_reaction(kind)
        wait = min(RETRY_S * 4**known.refusals, LONGEST_RETRY_S)
        known.refusals, known.until, known.why = known.refusals + 1, self.clock() + wait, why
        message = "%s: its server refuses log-probabilities (%s); they are requested again in %d s"
        log.warning(message, kind, why, wait)

    def record_limit(self, kind: RequestKind, most: int) -> None:
        """Record that a server gives at most so many alternatives."""
        self.find_reaction(kind).most = most
        log.warning("%s: its server gives at most %d alternatives per token", kind, most)


class LogprobsAttempt:
    """One request: what is sent instead of it, until the server answers or the request is sent as it was.

    Attributes:
        body: The body to send.
        why: Why it has no log-probabilities that capture would have requested; else "".
    """

    def __init__(self, asking: LogprobsNegotiator, kind: RequestKind, body: dict[str, Any], retry: bool) -> None:
        """Begin with the log-probabilities that the server is known to give, or else all."""
        self._asking, self._kind, self._plain = asking, kind, body
        self._known = known = asking.find_reaction(kind)
        self._top = cap_alternatives(kind.path, asking.choose_top(kind) or asking.top_logprobs)
        self._refusal: str | None = None
        self.body, self.why = self._with(self._top), ""
        if not self.has_added_logprobs:
            return
        if retry and known.failed:
            known.failed -= 1
            self.body, self.why = body, "the request was repeated after an error"
        elif not asking.choose_top(kind):
            self.body, self.why = body, known.why

    @property
    def has_added_logprobs(self) -> bool:
        """Whether the body has log-probabilities that the request does not have."""
        return self.body != self._plain

    def goes_on(self, status: int) -> bool:
        """Whether to send another body after this HTTP status, because the added fields may have caused it.

        A busy server (429) that is known to give log-probabilities is left to the client's own retries.
        """
        if self.has_added_logprobs and status == 429 and self._known.accepted:
            self._known.failed += 1
            return False
        return self.has_added_logprobs and status >= 400

    def change(self, status: int, answer: bytes) -> None:
        """Take the next body: with the limit that the server's answer names, or without log-probabilities."""
        words, is_first = _extract_message(answer), self._refusal is None
        self._refusal = f"HTTP {status}" + (f": {words}" if words else "")
        limit = find_limit(words, self._top) if is_first else None
        refused, self.body = self.body, self._plain
        if limit is not None and (limited := self._with(limit)) != refused:
            self.body, self._top = limited, limit

    def end(self, status: int) -> None:
        """Record what the answer to the last body shows."""
        if status >= 400:
            return  # the error has another reason than log-probabilities
        known = self._known
        if self.has_added_logprobs:
            known.accepted, known.refusals = True, 0
            if self._refusal is not None:
                self._asking.record_limit(self._kind, self._top)
        elif self._refusal is not None:
            self.why = self._refusal
            self._asking.record_refusal(self._kind, self.why)

    def _with(self, top_logprobs: int) -> dict[str, Any]:
        return add_logprobs(self._plain, self._kind.path, top_logprobs)


def _extract_message(answer: bytes) -> str:
    """The message in a server's answer."""
    text = answer.decode(errors="replace")
    try:
        message = json.loads(text)
    except ValueError:
        message = text
    for name in ("error", "message", "detail"):
        if isinstance(message, Mapping) and name in message:
            message = message[name]
    return " ".join(str(message).split())[:_LONGEST_WORDS]


def find_limit(words: str, asked: int) -> int | None:
    """The largest number below `asked` in words about log-probabilities, which is the server's limit."""
    if "logprob" not in words.lower():
        return None
    numbers = [int(number) for number in _NUMBER.findall(words)]
    return max((number for number in numbers if 0 < number < asked), default=None)
