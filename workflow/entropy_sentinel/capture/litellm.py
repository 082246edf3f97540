"""LiteLLM's callback. In the proxy's YAML: `callbacks: entropy_sentinel.capture.litellm.callback`; in code:
`litellm.callbacks = [Callback("logs")]`.
"""

import contextlib
import logging
import os
from collections.abc import AsyncIterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import litellm
from litellm.integrations.custom_logger import CustomLogger

from entropy_sentinel.capture.logprobs_negotiation import LogprobsNegotiator, RequestKind, find_limit
from entropy_sentinel.capture.logprobs_requests import MOST_LOGPROBS, TOP_LOGPROBS, add_logprobs, check_top_logprobs
from entropy_sentinel.capture.record_forms import Keep, choose_suffix, select_records
from entropy_sentinel.capture.record_writer import LogWriter
from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.logs.stream_declarations import CHUNKS
from entropy_sentinel.logs.stream_pieces import PartialChoice

log = logging.getLogger(__name__)

# Environment variables.
FOLDER, TOP, KEEP = "ENTROPY_SENTINEL_LOGS", "ENTROPY_SENTINEL_TOP_LOGPROBS", "ENTROPY_SENTINEL_KEEP"
# Kinds of calls that can return log-probabilities, with the path of OpenAI's API.
CALLS = {
    "completion": "chat/completions",
    "acompletion": "chat/completions",
    "text_completion": "completions",
    "atext_completion": "completions",
}


# What a reader needs of LiteLLM's payload; the rest has columns and the question, which may be objects of a service.
_REPLY_FIELDS = ("id", "call_type", "startTime", "model", "response")
# Key for a stream's choices, PartialChoice by index, in LiteLLM's dict of a call, which is deleted after the call.
STREAM_PARTS = "entropy_sentinel_streamed"
# The memory of a token or an alternative: a dict with its text, bytes and log-probability.
_BYTES_PER_LOGPROB = 400


class Callback(CustomLogger):  # type: ignore[misc]  # LiteLLM counts as untyped
    """Requests log-probabilities, and writes LiteLLM's log entry of each successful completion.

    If a server refuses the added log-probabilities, later requests of that kind do not have them for some time. LiteLLM
    gives a callback no way to repeat a request, so that first request fails.
    """

    def __init__(
        self, folder: str | Path | None = None, top_logprobs: int | None = None, keep: Keep | None = None
    ) -> None:
        """Write to `folder` (or $ENTROPY_SENTINEL_LOGS, or `logs`), a file a day and process.

        Args:
            folder: For `DAY.jsonl.gz`; created if it is missing.
            top_logprobs: Alternatives to each token (or $ENTROPY_SENTINEL_TOP_LOGPROBS, or 20), if the request does
                not say how many.
            keep: `texts` or `features`, as for `es.capture` (or $ENTROPY_SENTINEL_KEEP, or `texts`).

        Raises:
            InputError: If the folder is not local or cannot be created, or for a wrong number or `keep`.
            ConfigError: If $ENTROPY_SENTINEL_TOP_LOGPROBS is not a positive whole number.
        """
        super().__init__()
        self._negotiator = LogprobsNegotiator(
            _read_top_logprobs() if top_logprobs is None else check_top_logprobs(top_logprobs)
        )
        self._keep = keep or os.environ.get(KEEP, "texts")
        name = "keep" if keep else f"${KEEP}"
        self.writer = LogWriter.get_shared(folder or os.environ.get(FOLDER, "logs"), choose_suffix(self._keep, name))
        self._extended_kinds: set[RequestKind] = set()

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any] | None:
        """Add log-probabilities to a request if the provider has them."""
        return self._add_logprobs(kwargs, getattr(call_type, "value", call_type))

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncIterator[Any]:
        """Keep the log-probabilities of a stream's chunks, because the joined reply that LiteLLM logs has none."""
        call = getattr(request_data.get("litellm_logging_obj"), "model_call_details", {})
        partial_choices = call.setdefault(STREAM_PARTS, {})
        async for chunk in response:
            with contextlib.suppress(Exception):  # a request must not fail because of the log
                for part in chunk.model_dump().get("choices") or ():
                    partial_choices.setdefault(part.get("index", 0), PartialChoice(CHUNKS)).add(part)
            yield chunk

    def log_success_event(self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Write a reply to a call without `await`."""
        self._write(kwargs)

    async def async_log_success_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Write a reply to a call with `await`, as the proxy makes them."""
        self._write(kwargs)

    async def async_log_failure_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Stop adding log-probabilities for some time to requests of a kind that a server refused."""
        words = str(kwargs.get("exception"))
        if "logprob" not in words:
            return  # it failed for another reason
        body = {
            **(kwargs.get("optional_params") or {}),
            "model": kwargs.get("model"),
            "stream": kwargs.get("stream"),
        }
        server = str(kwargs.get("custom_llm_provider"))
        for kind in self._extended_kinds:
            # The path of the failed call is not known here.
            if kind != RequestKind.from_body(server, kind.path, body):
                continue
            limit = find_limit(words, self._negotiator.choose_top(kind))
            if limit is not None:
                self._negotiator.record_limit(kind, limit)
            else:
                self._negotiator.record_refusal(kind, " ".join(words.split())[:200])

    def _write(self, kwargs: dict[str, Any]) -> None:
        """Pass LiteLLM's payload of a call to the writer, with the joined choices of its stream, if it was one."""
        if payload := kwargs.get("standard_logging_object"):
            # A choice that lacks a piece has no log-probabilities rather than wrong ones.
            pieces: dict[int, PartialChoice] = kwargs.get(STREAM_PARTS) or {}
            streamed = {index: {} if choice.n_unreadable else choice.join_pieces() for index, choice in pieces.items()}
            self.writer.put(partial(_build_records, (payload, streamed), self._keep), _estimate_size(payload, streamed))

    def _add_logprobs(self, kwargs: dict[str, Any], call: Any) -> dict[str, Any] | None:
        """`kwargs` with log-probabilities added, or None if they stay as they are. Never raises an error.

        `call` is LiteLLM's type of the call, such as `acompletion`.
        """
        try:
            model, provider = litellm.get_llm_provider(kwargs["model"], kwargs.get("custom_llm_provider"))[:2]
            supported = litellm.get_supported_openai_params(model, provider) or ()
            if call not in CALLS or "logprobs" not in supported:
                return None
            kind = RequestKind.from_body(str(provider), CALLS[call], {**kwargs, "model": model})
            if not (top := self._negotiator.choose_top(kind)):
                return None
            new_fields = {}
            for name, value in add_logprobs(kwargs, CALLS[call], top).items():
                if value != kwargs.get(name) and name in supported:
                    new_fields[name] = value
            if new_fields:
                self._extended_kinds.add(kind)
            return kwargs | new_fields
        except Exception as error:
            log.warning("log-probabilities could not be requested: %s", type(error).__name__)
            return None


def _read_top_logprobs() -> int:
    """The number of alternatives per token that the environment sets, or the default."""
    value = os.environ.get(TOP, str(TOP_LOGPROBS))
    if not value.isdecimal() or not 1 <= int(value) <= MOST_LOGPROBS:
        raise ConfigError(f"${TOP}: must be a whole number from 1 to {MOST_LOGPROBS}, got {value[:100]!r}")
    return int(value)


def _estimate_size(payload: Any, streamed: dict[int, dict[str, Any]]) -> int:
    """About how many bytes of memory a payload takes; nearly all are of its log-probabilities.

    `streamed` has the choices of a stream by index.
    """
    size = 10_000  # all else
    with contextlib.suppress(Exception):  # of any form
        for choice in (*payload["response"]["choices"], *streamed.values()):
            steps = (choice.get("logprobs") or {}).get("content") or ()
            if steps:
                n_alternatives = len(steps[0].get("top_logprobs") or ())
                size += len(steps) * (1 + n_alternatives) * _BYTES_PER_LOGPROB
    return size


def _build_records(
    reply: tuple[dict[str, Any], dict[int, dict[str, Any]]], keep: str, reply_only: bool = False
) -> list[dict[str, Any]]:
    """The records of LiteLLM's payload, with the log-probabilities of a stream put into its choices.

    `reply` is the payload, and the choices of its stream by index, none if it was no stream. With `reply_only`, the
    records have no columns and no question, one of which may be what cannot be written.
    """
    payload, streamed = reply
    if reply_only:
        # Readers recognise a payload by the field `model_parameters`.
        payload = {name: payload[name] for name in _REPLY_FIELDS if name in payload} | {"model_parameters": {}}
    response = payload.get("response")
    if streamed and isinstance(response, dict):
        choices = []
        for choice in response.get("choices") or ():
            parts = streamed.get(choice.get("index", 0), {})
            choices.append({**choice, "logprobs": parts.get("logprobs")})
        payload = {**payload, "response": {**response, "choices": choices}}
    return select_records(payload, keep)


@cache
def __getattr__(name: str) -> Callback:
    """`callback`, for LiteLLM's proxy. The first access creates it, because it creates the log folder."""
    if name != "callback":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return Callback()
