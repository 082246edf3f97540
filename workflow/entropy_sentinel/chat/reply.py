"""What comes back for a request: a reply, or the server's refusal of this request alone."""

import json
from dataclasses import dataclass
from typing import Any

from entropy_sentinel.chat.errors import UnusableReply
from entropy_sentinel.frames.generation import OTHER_STOPS

# A count beyond is no count: 0 says that it is not known.
MOST_TOKENS = 2**32


@dataclass(frozen=True)
class Refusal:
    """The server refuses this request and would answer others; `reason` is one line in its words."""

    reason: str
    too_long: bool = False  # the prompt, with the tokens that it asks for


@dataclass(frozen=True)
class Reply:
    """A reply as LiteLLM reads it, and the text that the server sent (None where LiteLLM does not show it)."""

    parsed: Any
    raw: str | None

    @property
    def choice(self) -> Any:
        """The one answer in it; raises UnusableReply where there is none."""
        if not self.parsed.choices:
            raise UnusableReply("it holds no answer, its `choices` are empty")
        return self.parsed.choices[0]

    @property
    def text(self) -> str:
        """The answer's text, of a chat or of plain text that was gone on from."""
        return (self.choice.message.content if self.is_chat else self.choice.text) or ""

    @property
    def is_chat(self) -> bool:
        """Whether it answers a chat, rather than going on from plain text."""
        return hasattr(self.choice, "message")

    @property
    def prompt_tokens(self) -> int:
        return self._usage("prompt_tokens")

    @property
    def completion_tokens(self) -> int:
        return self._usage("completion_tokens")

    @property
    def finish_reason(self) -> str:
        """Why the answer ended, as contract GENERATIONS has it; `unknown` where the server does not say.

        LiteLLM says `stop` for what it does not know, for a provider's errors and for null. It keeps the provider's
        own word aside; null is seen in the raw text alone.
        """
        choice = self.choice
        own = (getattr(choice, "provider_specific_fields", None) or {}).get("native_finish_reason")
        if choice.finish_reason != "stop" or own in OTHER_STOPS:
            said: str = choice.finish_reason or "unknown"
            return said
        return str(own or "") or ("unknown" if self._reason_is_missing() else "stop")

    def _reason_is_missing(self) -> bool:
        """Whether a reply of OpenAI's form has no finish reason; other forms are left to LiteLLM."""
        try:
            return json.loads(self.raw or "")["choices"][0].get("finish_reason") in (None, "")
        except (ValueError, LookupError, TypeError, AttributeError):
            return False

    def _usage(self, name: str) -> int:
        count = getattr(getattr(self.parsed, "usage", None), name, None) or 0
        return count if 0 < count < MOST_TOKENS else 0
