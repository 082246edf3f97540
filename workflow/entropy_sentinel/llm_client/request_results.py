"""The results of a request: a reply, the refusal of this request, or an error and its meaning.

Secrets, and characters that files cannot hold, are removed from everything a server sends.
"""

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from entropy_sentinel.core.errors import EntropySentinelError
from entropy_sentinel.core.secrets import is_secret_name, mask_keys
from entropy_sentinel.llm_client.reply_bounds import ReplyTooLargeError
from entropy_sentinel.schemas.generation_schema import OTHER_STOPS

# Shorter values are numbers and switches (USE_TOKEN=1); masking them would damage ordinary text.
SECRET_LENGTH = 6
# In a model's answer, only values as long as a key are masked: 6 characters may be the right answer.
KEY_LENGTH = 16

_SURROGATE = re.compile("[\ud800-\udfff]")


def mask_secrets(text: str) -> str:
    """The text with `***` for providers' keys and for values of environment variables named like secrets."""
    result = re.sub(r"(?i)(\bbearer\s+|\bsk-)\S+", r"\1***", _mask_secrets(text, list_secrets(SECRET_LENGTH)))
    return mask_keys(result)


def make_storable(value: Any) -> Any:
    """JSON content in a form that files can hold.

    Half a surrogate pair, which UTF-8 cannot encode, becomes U+FFFD. Keys from the environment become `***`.
    """
    return _make_storable(value, list_secrets(KEY_LENGTH))


def list_secrets(shortest: int) -> list[str]:
    """Values of environment variables named like secrets, of at least `shortest` characters, longest first.

    Paths that exist, as in PWD and SSH_AUTH_SOCK, are left out.
    """
    values = set()
    for name, value in os.environ.items():
        text = value.strip()
        if is_secret_name(name) and len(text) >= shortest and not os.path.exists(text):
            values.add(text)
    return sorted(values, key=len, reverse=True)


def _make_storable(value: Any, secrets: Sequence[str]) -> Any:
    """JSON content with `***` for the `secrets` in its texts and names, and without halves of surrogate pairs."""
    if isinstance(value, str):
        return _mask_secrets(_SURROGATE.sub("\ufffd", value), secrets)
    if isinstance(value, list):
        return [_make_storable(item, secrets) for item in value]
    if isinstance(value, dict):
        return {_make_storable(name, secrets): _make_storable(item, secrets) for name, item in value.items()}
    return value


def _mask_secrets(text: str, secrets: Sequence[str]) -> str:
    """A text with `***` for each of the `secrets`."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return text


LONGEST_MESSAGE = 300

# LiteLLM's prefix of a provider's message: "litellm.NotFoundError: NotFoundError: OpenAIException - ".
_PREFIXES = re.compile(r"^([\w.]*(Error|Exception)(:| -)\s*)+")
# Pydantic's error for a reply that LiteLLM cannot read: the object, the field, and the problem.
_UNREADABLE = re.compile(r"validation errors? for (\w+)\s+(\S+)\s+([^\[]+?)\s*\[type=")


class RejectedRequestError(EntropySentinelError):
    """The server answers that a request is wrong, or that it fails at it, so it may never answer such requests."""


class UnusableReply(Exception):
    """A reply that was paid for cannot be used. The message says what is wrong; `raw` is the text of the reply."""

    def __init__(self, message: str, raw: str = "") -> None:
        super().__init__(message)
        self.raw = raw


def is_retryable(error: BaseException) -> bool:
    """Whether a retry may succeed: 429, 5xx, time-outs. LiteLLM gives a lost connection the status 500."""
    status = getattr(error, "status_code", None)
    is_temporary = isinstance(status, int) and (status in (408, 429) or status >= 500)
    return is_temporary or isinstance(error, TimeoutError)


def is_silence(error: BaseException) -> bool:
    """Whether a request failed because no whole reply came in time."""
    return isinstance(error, TimeoutError) or getattr(error, "status_code", None) == 408


def describe_unreadable_bytes(error: BaseException) -> str | None:
    """What is wrong with the bytes of a reply: too many, or badly packed; None for another error."""
    for cause in _iterate_causes(error):
        if isinstance(cause, ReplyTooLargeError):
            return str(cause)
        if type(cause).__name__ == "DecodingError":  # of httpx
            return f"its bytes are not of its Content-Encoding: {' '.join(str(cause).split())[:LONGEST_MESSAGE]}"
    return None


def is_unreadable_reply(error: BaseException, raw: str | None) -> bool:
    """Whether a whole reply of status 200 could not be read: a retry would cost money for the same reply.

    `raw` is the text of the reply, or None if LiteLLM does not show it. A server's own error with status 200 is no
    reply.
    """
    status = getattr(error, "status_code", None)
    if (
        describe_unreadable_bytes(error) is not None
        or status == 200
        or "Empty or invalid response from LLM endpoint" in str(error)
    ):
        return True
    if raw is None or status != 500:
        return False
    try:
        return not json.loads(raw).get("error")
    except (ValueError, AttributeError):
        return True


def is_unreachable(error: BaseException) -> bool:
    """Whether no connection was made: no server listens at the address, or the host does not exist."""
    return any(type(cause).__name__ == "ConnectError" for cause in _iterate_causes(error))


def rejects_request(error: BaseException) -> bool:
    """Whether the server says that the request is wrong, or that it fails at it."""
    status = getattr(error, "status_code", None)
    if status in (400, 422):
        return True
    # LiteLLM gives a lost connection the status 500, too.
    has_answered = costs_nothing(error) and not is_unreachable(error)
    return status in (500, 501) and has_answered


def costs_nothing(error: BaseException) -> bool:
    """Whether a failed request costs nothing: no server was reached, or it answered with an error.

    After a time-out or a lost connection, the server may have done the work.
    """
    free = ("ConnectError", "ConnectTimeout", "HTTPStatusError")  # of httpx, which all of LiteLLM's clients use
    return any(type(cause).__name__ in free for cause in _iterate_causes(error))


def retry_after_s(error: BaseException) -> float:
    """The seconds that the server asks to wait, from a number or a date; 0 without such a header."""
    headers = getattr(error, "litellm_response_headers", None) or {}
    value = headers.get("retry-after", "")
    if re.fullmatch(r"\d+(\.\d+)?", value):
        return float(value)
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):  # not a date, or a date without a time zone
        return 0.0


def format_error(error: BaseException) -> str:
    """An error's class, status and first words, with secrets masked."""
    for cause in _iterate_causes(error):
        # If no server is there, LiteLLM raises an InternalServerError with status 500.
        if isinstance(cause, OSError) and not isinstance(cause, TimeoutError) and cause.errno:
            host: Any = getattr(cause, "host", None)
            to = f" to {host}:{getattr(cause, 'port', None)}" if host else ""
            # Negative numbers are those of the look-up of a host's name.
            words = os.strerror(cause.errno) if cause.errno > 0 else cause.strerror
            return f"no connection{to}: {words}"
    status = getattr(error, "status_code", None)
    return f"{type(error).__name__} {status or ''}".strip() + f": {extract_message(error)}"


def extract_message(error: BaseException) -> str:
    """The first words of an error on one line, the server's own if there are any, with secrets masked."""
    # Before the message is shortened: half a key would not be recognised.
    whole = _PREFIXES.sub("", " ".join(mask_secrets(str(error)).split()))
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


def _iterate_causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error and its causes, outermost first."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


# A larger count is treated as unknown, 0.
MOST_TOKENS = 2**32


@dataclass(frozen=True)
class Refusal:
    """A server's refusal of one request, not of others; `reason` is one line in its words."""

    reason: str
    too_long: bool = False  # the prompt and the requested tokens together


@dataclass(frozen=True)
class ServerReply:
    """A reply as LiteLLM parses it, and the server's text (None if LiteLLM does not show it)."""

    parsed: Any
    raw: str | None

    @property
    def choice(self) -> Any:
        """The reply's answer. Raises UnusableReply if there is none."""
        if not self.parsed.choices:
            raise UnusableReply("it contains no answer: its `choices` are empty")
        return self.parsed.choices[0]

    @property
    def text(self) -> str:
        """The text of the answer to a chat, or of the continuation of plain text."""
        return (self.choice.message.content if self.is_chat else self.choice.text) or ""

    @property
    def is_chat(self) -> bool:
        """Whether it answers a chat, rather than continuing plain text."""
        return hasattr(self.choice, "message")

    @property
    def prompt_tokens(self) -> int:
        return self._usage("prompt_tokens")

    @property
    def completion_tokens(self) -> int:
        return self._usage("completion_tokens")

    @property
    def finish_reason(self) -> str:
        """The finish reason: `stop`, `length`, or the provider's own word; `unknown` if the server gives none.

        LiteLLM turns unknown words, a provider's errors and null into `stop`. It keeps the provider's own word in a
        separate field; null is only visible in the raw text.
        """
        choice = self.choice
        if choice.finish_reason != "stop":
            return choice.finish_reason or "unknown"
        own_word = (getattr(choice, "provider_specific_fields", None) or {}).get("native_finish_reason")
        if own_word:  # OTHER_STOPS: what other providers call `stop`
            return "stop" if own_word in OTHER_STOPS else str(own_word)
        return "unknown" if self._reason_is_missing() else "stop"

    def _reason_is_missing(self) -> bool:
        """Whether a reply in OpenAI's form has no finish reason; False for other forms."""
        try:
            return json.loads(self.raw or "")["choices"][0].get("finish_reason") in (None, "")
        except (ValueError, LookupError, TypeError, AttributeError):
            return False

    def _usage(self, name: str) -> int:
        """A number of tokens that the server reports; 0 without a possible one."""
        count = getattr(getattr(self.parsed, "usage", None), name, None) or 0
        return count if 0 < count < MOST_TOKENS else 0
