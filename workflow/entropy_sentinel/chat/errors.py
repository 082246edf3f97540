"""What the error of an API client means for the request, and how it is told."""

import json
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from entropy_sentinel.chat.text import masked

LONGEST_MESSAGE = 300

# What LiteLLM puts before a provider's own words: "litellm.NotFoundError: NotFoundError: OpenAIException - ".
_PREFIXES = re.compile(r"^([\w.]*(Error|Exception)(:| -)\s*)+")
# What Pydantic says of a reply that LiteLLM cannot read: of which object, which field, and what is wrong with it.
_UNREADABLE = re.compile(r"validation errors? for (\w+)\s+(\S+)\s+([^\[]+?)\s*\[type=")


class UnusableReply(Exception):
    """A reply came, was paid for, and cannot be used; the message says what is wrong with it, `raw` is its text."""

    def __init__(self, message: str, raw: str = "") -> None:
        super().__init__(message)
        self.raw = raw


def may_pass(error: BaseException) -> bool:
    """Whether a request that failed so may pass later: 429, 5xx, time-outs; LiteLLM gives a lost connection a 500."""
    status = getattr(error, "status_code", None)
    passing = isinstance(status, int) and (status in (408, 429) or status >= 500)
    return passing or isinstance(error, TimeoutError)


def made_of_a_reply(error: BaseException, raw: str | None) -> bool:
    """Whether LiteLLM failed on a whole reply of status 200: the server would only be paid for another like it.

    `raw` is the text of the reply where LiteLLM has shown it. A server that reports its own error with status 200 has
    given no reply.
    """
    status = getattr(error, "status_code", None)
    if status == 200 or "Empty or invalid response from LLM endpoint" in str(error):
        return True
    if raw is None or status != 500:
        return False
    try:
        return not json.loads(raw).get("error")
    except (ValueError, AttributeError):
        return True


def is_unreachable(error: BaseException) -> bool:
    """Whether no connection was made: nobody listens at the address, or there is no such host."""
    return any(type(cause).__name__ == "ConnectError" for cause in _chain(error))


def costs_nothing(error: BaseException) -> bool:
    """Whether no provider charges for a request that failed so: no server was reached, or it answered with an error.

    After a time-out or a connection that was cut, the server may have done its work.
    """
    free = ("ConnectError", "ConnectTimeout", "HTTPStatusError")  # of httpx, on which all of LiteLLM's clients stand
    return any(type(cause).__name__ in free for cause in _chain(error))


def retry_after_s(error: BaseException) -> float:
    """The seconds that the server asks to wait, also where it says until when; 0 where it says nothing."""
    headers = getattr(error, "litellm_response_headers", None) or {}
    value = headers.get("retry-after", "")
    if re.fullmatch(r"\d+(\.\d+)?", value):
        return float(value)
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):  # no date, or one without a time zone
        return 0.0


def brief(error: BaseException) -> str:
    """An error as its class, status and first words, with all that looks like a secret masked."""
    for cause in _chain(error):
        # LiteLLM calls a server that is not there an InternalServerError with status 500.
        if isinstance(cause, OSError) and not isinstance(cause, TimeoutError) and cause.errno:
            host, port = (getattr(cause, name, None) for name in ("host", "port"))
            to = f" to {host}:{port}" if host else ""
            return f"no connection{to}: {os.strerror(cause.errno) if cause.errno > 0 else cause.strerror}"
    status = getattr(error, "status_code", None)
    return f"{type(error).__name__} {status or ''}".strip() + f": {said(error)}"


def said(error: BaseException) -> str:
    """The first words of an error, the server's own where it has some, on one line, with secrets masked."""
    # Before anything is cut off: half a key would no longer be found.
    whole = _PREFIXES.sub("", " ".join(masked(str(error)).split()))
    words, _, trace = whole.partition(" Traceback (most recent")
    if unreadable := _UNREADABLE.search(trace):
        words += " ({}.{}: {})".format(*unreadable.groups())
    try:
        body = json.loads(words)
        inner = body.get("error", body)
        words = inner["message"] if isinstance(inner, dict) else str(inner)
    except (ValueError, LookupError, AttributeError):
        pass
    return " ".join(str(words).split())[:LONGEST_MESSAGE]


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what it came from, outermost first."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
