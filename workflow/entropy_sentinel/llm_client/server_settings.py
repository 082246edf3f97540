"""Prompts and servers of chat models: the section `prompts`, and parts of the sections of models and judges.

The workflow announces addresses and limits of servers to its jobs through the environment.
"""

import json
import os
import re
from collections.abc import Iterable, Set
from typing import Annotated, Any, ClassVar, Literal, TypedDict
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.core.section_base import Free, Number, Settings, Text, Whole

# The argument of a LaTeX command is not a placeholder: `\boxed{answer}`.
_PLACEHOLDER = re.compile(r"\\[A-Za-z]+\{[^{}]*\}|\{([a-z_]+)\}")
# The placeholders of prompts, in the order that a reader expects.
PLACEHOLDERS = ("question", "response", "reference")


class Server(Settings):
    """A server of chat models, called through LiteLLM."""

    UNTRACKED: ClassVar[Set[str]] = {
        "base_url",
        "concurrency",
        "timeout_s",
        "total_timeout_s",
        "retries",
        "requests_per_minute",
        "tokens_per_minute",
    }

    model: Text = Field(description="LiteLLM's name of the model: `openai/gpt-4o`, `hosted_vllm/name`")
    base_url: Text | None = Field(None, description="address of the server; null for the provider's own")
    concurrency: Whole = Field(16, ge=1, le=1024, description="requests at a time")
    timeout_s: Number = Field(300, gt=0, le=86_400, description="longest wait for one reply, seconds")
    total_timeout_s: Number = Field(
        600,
        gt=0,
        le=604_800,
        description="longest time of all tries of one request that end without a whole reply, seconds: a silent server "
        "is given up after it",
    )
    retries: Whole = Field(
        6, ge=0, le=100, description="further tries after 429, 5xx and time-outs, with growing pauses"
    )
    requests_per_minute: Number | None = Field(
        None,
        gt=0,
        le=1e9,
        description="requests per minute, over all jobs of the study, spread evenly; null for no limit",
    )
    tokens_per_minute: Number | None = Field(
        None, gt=0, le=1e12, description="tokens of requests and replies per minute, likewise; null for no limit"
    )

    # Over the whole section: the message about a field would show its value.
    @model_validator(mode="after")
    def _address_holds_no_secret(self) -> "Server":
        if self.base_url is not None:
            check_address("base_url", self.base_url)
        return self


def check_address(key: str, address: str) -> None:
    """Raise ValueError if the address of a server is incomplete, or has a user, password or query.

    Call it in a validator of the whole section: the message about a field would show its value.
    """
    try:
        parts = urlsplit(address)
        is_complete = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_complete = False
    if not is_complete:
        raise ValueError(f"{key} must be an address such as http://localhost:8000/v1")
    if "@" in parts.netloc or parts.query:
        raise ValueError(
            f"{key} must be an address without user, password and query, since it is written into trace files; "
            "put the key into the provider's environment variable"
        )


class Message(Settings):
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"] = Field(description="the message's role")
    content: Text = Field(description="its text, with placeholders such as `{question}`")


class PromptTemplate(TypedDict, total=False):
    """A prompt with its placeholders: a chat, or plain text."""

    messages: list[dict[str, str]]
    text: str


class Prompt(Settings):
    """A prompt: a user message, optionally after a system message; or `messages`.

    Or plain `text` that the model continues, for base models, which have no chat template.
    """

    version: Annotated[int, Field(ge=1, lt=2**31)] = Field(1, description="raise it when the text changes; for readers")
    system: Text | None = Field(None, description="system message; null for none")
    user: Text | None = Field(None, description="user message")
    messages: list[Message] = Field([], description="several messages instead of system and user, a user's last")
    text: Text | None = Field(
        None,
        description="plain text instead of messages, without a chat template, for base models: examples with their "
        "answers, then the question; `sampling: {stop: [...]}` ends an answer. For models, not for judges",
    )

    @model_validator(mode="after")
    def _can_be_asked(self) -> "Prompt":
        """Refuse a prompt without exactly one of a user message, `messages` and `text`."""
        n_forms = sum([bool(self.messages), bool(self.user), bool(self.text)])
        if n_forms != 1 or (self.system and not self.user):
            raise ValueError(
                "must have a 'user' message, with or without 'system', or else a list of 'messages', or plain 'text'"
            )
        if self.messages and self.messages[-1].role != "user":
            raise ValueError(f"the last of 'messages' must be a user's, got of role '{self.messages[-1].role}'")
        return self

    @property
    def chat(self) -> list[dict[str, str]]:
        """The messages as dicts of role and content, with their placeholders."""
        if self.messages:
            return [message.model_dump() for message in self.messages]
        chat = []
        if self.system is not None:
            chat.append({"role": "system", "content": self.system})
        if self.user is not None:
            chat.append({"role": "user", "content": self.user})
        return chat

    @property
    def placeholders(self) -> list[str]:
        """The names in braces, with repetitions, in their order."""
        texts = [message["content"] for message in self.chat] if self.text is None else [self.text]
        names: list[str] = []
        for text in texts:
            names += filter(None, _PLACEHOLDER.findall(text))
        return names

    @property
    def template(self) -> PromptTemplate:
        """The `text` or the `messages` with their placeholders, as job settings have them."""
        return {"messages": self.chat} if self.text is None else {"text": self.text}

    def render(self, /, **values: str) -> list[dict[str, str]]:
        """The messages with `values` in place of their placeholders."""
        return fill_chat(self.chat, **values)


def fill_chat(chat: Iterable[dict[str, str]], /, **values: str) -> list[dict[str, str]]:
    """Messages with `values` in place of their placeholders. Braces in values stay as they are."""
    return [{"role": message["role"], "content": fill_text(message["content"], **values)} for message in chat]


def fill_text(text: str, /, **values: str) -> str:
    """A text with `values` in place of its placeholders. Braces in values stay as they are."""

    def fill_placeholder(match: re.Match[str]) -> str:
        return values[match[1]] if match[1] else match[0]  # the argument of a LaTeX command stays

    return _PLACEHOLDER.sub(fill_placeholder, text)


def check_placeholders(what: str, prompt: Prompt, needed: Iterable[str], allowed: Iterable[str] = ()) -> None:
    """Raise ValueError if a prompt lacks a needed placeholder, or has one that is not allowed."""
    placeholders = set(prompt.placeholders)
    needed = list(needed)
    for name in needed:
        if name not in placeholders:
            raise ValueError(f"{what} must contain the placeholder {{{name}}}")
    for name in sorted(placeholders - {*needed, *allowed}):
        raise ValueError(f"{what} contains the placeholder {{{name}}}, which has no value here")


SERVERS_VARIABLE = "ENTROPY_SENTINEL_SERVERS"


def announce_address(key: str, base_url: str) -> None:
    """Announce the address of a server that this job has started, by its key in the config."""
    servers = json.loads(os.environ.get(SERVERS_VARIABLE, "{}"))
    address = {"base_url": base_url, "own_server": True}
    os.environ[SERVERS_VARIABLE] = json.dumps(servers | {key: read_announced_server(key) | address})


def find_address(model: str, base_url: str | None) -> str | None:
    """The address of a model's server, without user, password and query; None for the provider's own.

    Without an address in the config, LiteLLM uses `PROVIDER_API_BASE` or `PROVIDER_BASE_URL`.
    """
    provider = model.split("/")[0].upper()
    address = base_url or os.environ.get(f"{provider}_API_BASE") or os.environ.get(f"{provider}_BASE_URL")
    if not address:
        return None
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2].lower()}{parts.path.rstrip('/')}"


def read_announced_server(key: str) -> dict[str, Any]:
    """The workflow's settings of a server, by its key in the config: `models.NAME.api` or `judges.NAME`.

    They are the `UNTRACKED` keys of the section. Raises ConfigError if they did not reach this job.
    """
    servers: dict[str, dict[str, Any]] = json.loads(os.environ.get(SERVERS_VARIABLE, "{}"))
    if key not in servers:
        raise ConfigError(
            f"{key}: the server's address has not reached this job; the environment variable {SERVERS_VARIABLE}, "
            "which the workflow sets, must be passed on to jobs, and the class must name the address in UNTRACKED"
        )
    return servers[key]


class ServedSettings(TypedDict):
    """The settings of a server for a model with weights."""

    model: str
    weights: str
    local: bool
    revision: str | None
    lora: str | None
    template_date: str | None
    seed: int
    environment: dict[str, str]
    engine_args: Free
