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
from enum import Enum
from typing import Any, NamedTuple

from entropy_sentinel.capture.logprobs_requests import add_logprobs, cap_alternatives

log = logging.getLogger(__name__)

# Seconds until log-probabilities are requested again after a refusal; each further refusal multiplies them by four.
RETRY_S, LONGEST_RETRY_S = 60.0, 86_400.0
# Largest number of characters of a server's words in a log.
_LONGEST_WORDS = 200
# A whole number that is no part of a word, a version or a decimal number.
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

    Attributes:
        limit: Its limit of alternatives; None if it named none.
        accepted: Whether it gave log-probabilities.
        n_failed: Requests with added log-probabilities that failed and were left to the client's retries.
        refusals: Refusals in a row.
        retry_at: The monotonic time from which log-probabilities are requested again.
        why: The last refusal in its words.
    """

    limit: int | None = None
    accepted: bool = False
    n_failed: int = 0
    refusals: int = 0
    retry_at: float = 0.0
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

    def get_reaction(self, kind: RequestKind) -> _ServerReaction:
        """What the server did with a kind of request so far; the object is kept, so changes to it are remembered."""
        return self.reactions.setdefault(kind, _ServerReaction())

    def choose_top(self, kind: RequestKind) -> int:
        """The number of alternatives to request; 0 while log-probabilities are not requested, after a refusal."""
        reaction = self.get_reaction(kind)
        if self.clock() < reaction.retry_at:
            return 0
        return min(self.top_logprobs, reaction.limit or self.top_logprobs)

    def record_refusal(self, kind: RequestKind, why: str) -> None:
        """Record that a server refuses log-probabilities, so that they are not requested for some time."""
        reaction = self.get_reaction(kind)
        wait = min(RETRY_S * 4**reaction.refusals, LONGEST_RETRY_S)
        reaction.refusals += 1
        reaction.retry_at = self.clock() + wait
        reaction.why = why
        message = "%s: its server refuses log-probabilities (%s); they are requested again in %d s"
        log.warning(message, kind, why, wait)

    def record_limit(self, kind: RequestKind, limit: int) -> None:
        """Record that a server gives at most so many alternatives."""
        self.get_reaction(kind).limit = limit
        log.warning("%s: its server gives at most %d alternatives per token", kind, limit)


class AttemptState(Enum):
    """What was sent last for a request."""

    PLAIN = "the client's own body"
    ADDED = "log-probabilities added, as many as the server is known to give"
    LIMITED = "log-probabilities added, as many as the server's answer allows"
    REFUSED = "the client's own body, after the server refused the added log-probabilities"


class LogprobsAttempt:
    """One request: the bodies that are sent for it, until an answer is passed to the client.

    | State | Answer | Next state | What is remembered of the server |
    |---|---|---|---|
    | start | none is needed: the request sets them itself, repeats a failed one, or they are refused | PLAIN | |
    | start | | ADDED | |
    | PLAIN | any | end | |
    | ADDED | below 400 | end | it gives log-probabilities |
    | LIMITED | below 400 | end | it gives log-probabilities, and its limit |
    | ADDED, LIMITED | 429 if it is known to give them: the client repeats the request itself | end | a failure |
    | ADDED | another error, which names a smaller limit | LIMITED | |
    | ADDED, LIMITED | another error | REFUSED | |
    | REFUSED | below 400 | end | its refusal, in its words |
    | REFUSED | an error, which has another reason than log-probabilities | end | |

    Attributes:
        body: The body to send.
        why: Why it has no log-probabilities that capture would have requested; else "".
    """

    def __init__(self, negotiator: LogprobsNegotiator, kind: RequestKind, body: dict[str, Any], is_retry: bool) -> None:
        """Start with the log-probabilities that the server is known to give, or else all."""
        self._negotiator, self._kind, self._request = negotiator, kind, body
        self._reaction = negotiator.get_reaction(kind)
        top = negotiator.choose_top(kind)  # 0 for some time after a refusal
        # Also after a refusal: the extended body shows whether the request sets log-probabilities itself.
        self._top = cap_alternatives(kind.path, top or negotiator.top_logprobs)
        self._state = AttemptState.PLAIN
        self.body = body
        self._refusal = self.why = ""
        extended = self._add_logprobs(self._top)
        if extended == body:
            return  # the request sets log-probabilities itself
        if is_retry and self._reaction.n_failed:
            # The added log-probabilities may have caused the error. Each retry accounts for one failure that was left
            # to the client.
            self._reaction.n_failed -= 1
            self.why = "the request was repeated after an error"
        elif not top:
            self.why = self._reaction.why
        else:
            self._state = AttemptState.ADDED
            self.body = extended

    @property
    def has_added_logprobs(self) -> bool:
        """Whether the body has log-probabilities that the request does not have."""
        return self._state in (AttemptState.ADDED, AttemptState.LIMITED)

    def is_refusal(self, status: int) -> bool:
        """Whether the added log-probabilities may have caused this HTTP status, so that another body is sent."""
        # A server that gave log-probabilities before has too many requests: the client repeats this one itself.
        is_busy = status == 429 and self._reaction.accepted
        return self.has_added_logprobs and status >= 400 and not is_busy

    def next_body(self, status: int, answer: bytes) -> dict[str, Any]:
        """The body to send after a refusal (`is_refusal`) with this HTTP status and answer."""
        self._change_body(status, _extract_message(answer))
        return self.body

    def record_final_status(self, status: int) -> None:
        """Remember what the HTTP status of the answer that is passed to the client shows of the server."""
        if self.has_added_logprobs and status >= 400:
            self._reaction.n_failed += 1
        elif self.has_added_logprobs:
            self._reaction.accepted = True
            self._reaction.refusals = 0
            if self._state is AttemptState.LIMITED:
                self._negotiator.record_limit(self._kind, self._top)
        elif self._state is AttemptState.REFUSED and status < 400:
            self.why = self._refusal
            self._negotiator.record_refusal(self._kind, self.why)

    def _change_body(self, status: int, words: str) -> None:
        """Set the body to send after a refusal: fewer alternatives if its `words` name a limit, else the client's."""
        self._refusal = f"HTTP {status}" + (f": {words}" if words else "")
        limit = find_limit(words, self._top) if self._state is AttemptState.ADDED else None
        limited = self.body if limit is None else self._add_logprobs(limit)
        if limit is None or limited == self.body:
            self._state = AttemptState.REFUSED
            self.body = self._request
        else:
            self._state = AttemptState.LIMITED
            self.body = limited
            self._top = limit

    def _add_logprobs(self, top_logprobs: int) -> dict[str, Any]:
        """The client's body with log-probabilities and so many alternatives, unless it sets them itself."""
        return add_logprobs(self._request, self._kind.path, top_logprobs)


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
    """The server's limit of alternatives: the largest number in its `words` below `asked`, the requested number.

    None if there is none, or if the words are not about log-probabilities.
    """
    if "logprob" not in words.lower():
        return None
    numbers = [int(number) for number in _NUMBER.findall(words)]
    return max((number for number in numbers if 0 < number < asked), default=None)
