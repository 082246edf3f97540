"""LiteLLM's callback. In the proxy's YAML: `callbacks: entropy_sentinel.capturing.litellm.callback`; in code:
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

from entropy_sentinel.capturing.records import Keep, ending, kept
from entropy_sentinel.capturing.requests import TOP_LOGPROBS, with_logprobs
from entropy_sentinel.capturing.writer import LogWriter
from entropy_sentinel.frames.errors import ConfigError
from entropy_sentinel.sources.logs.chunks import add_part

log = logging.getLogger(__name__)

FOLDER, TOP, KEEP = (f"ENTROPY_SENTINEL_{name}" for name in ("LOGS", "TOP_LOGPROBS", "KEEP"))
# Kinds of calls that can return log-probabilities, with the path of OpenAI's API.
CALLS = {
    "completion": "chat/completions",
    "acompletion": "chat/completions",
    "text_completion": "completions",
    "atext_completion": "completions",
}


# Key for the parts of a stream, in LiteLLM's dict of a call, which exists only as long as the call.
STREAMED = "entropy_sentinel_streamed"


class Callback(CustomLogger):  # type: ignore[misc]  # LiteLLM counts as untyped
    """Requests log-probabilities, and writes LiteLLM's log entry of each successful completion.

    If a server refuses the added log-probabilities, later requests to that model do not have them. LiteLLM gives a
    callback no way to repeat a request, so that first request fails.
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
            InputError: If the folder cannot be created.
            ConfigError: If $ENTROPY_SENTINEL_TOP_LOGPROBS is not a positive whole number.
        """
        super().__init__()
        self._top = top_logprobs or _top_logprobs()
        what = keep or os.environ.get(KEEP, "texts")
        name = "keep" if keep else f"${KEEP}"
        self.writer = LogWriter(
            folder or os.environ.get(FOLDER, "logs"), partial(_records, keep=what), ending(what, name)
        )
        self._added: set[str] = set()
        self._refused: set[str] = set()

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any] | None:
        """Add log-probabilities to a request if the provider has them."""
        return self._with_logprobs(kwargs, getattr(call_type, "value", call_type))

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncIterator[Any]:
        """Keep the log-probabilities of a stream's chunks, because the joined reply that LiteLLM logs has none."""
        call = getattr(request_data.get("litellm_logging_obj"), "model_call_details", {})
        choices = call.setdefault(STREAMED, {})
        async for chunk in response:
            with contextlib.suppress(Exception):  # a request must not fail because of the log
                for part in chunk.model_dump().get("choices") or ():
                    add_part(choices.setdefault(part.get("index", 0), {}), part)
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
        """Stop adding log-probabilities for a model whose server refused them."""
        model = f"{kwargs.get('custom_llm_provider')}/{kwargs.get('model')}"
        if model in self._added and "logprob" in str(kwargs.get("exception")):
            self._refused.add(model)
            log.warning("%s: its server refuses log-probabilities, so they are no longer requested", model)

    def _write(self, kwargs: dict[str, Any]) -> None:
        if payload := kwargs.get("standard_logging_object"):
            self.writer.put((payload, kwargs.get(STREAMED) or {}))

    def _with_logprobs(self, kwargs: dict[str, Any], call: Any) -> dict[str, Any] | None:
        """Return `kwargs` with log-probabilities added, or None if they stay as they are. Never raises an error."""
        try:
            model, provider = litellm.get_llm_provider(kwargs["model"], kwargs.get("custom_llm_provider"))[:2]
            supported = litellm.get_supported_openai_params(model, provider) or ()
            model = f"{provider}/{model}"
            if call not in CALLS or model in self._refused or "logprobs" not in supported:
                return None
            wanted = with_logprobs(kwargs, CALLS[call], self._top)
            added = {name for name in wanted if wanted[name] != kwargs.get(name) and name in supported}
            self._added |= {model} if added else set()
            return kwargs | {name: wanted[name] for name in added}
        except Exception as error:
            log.warning("log-probabilities could not be requested: %s", type(error).__name__)
            return None


def _top_logprobs() -> int:
    """Return the number of alternatives per token that the environment sets, or the default."""
    given = os.environ.get(TOP, str(TOP_LOGPROBS))
    if not (given.isdecimal() and int(given) >= 1):
        raise ConfigError(f"${TOP}: must be a whole number, 1 or more, was {given[:100]!r}")
    return int(given)


def _records(reply: tuple[dict[str, Any], dict[int, dict[str, Any]]], keep: str) -> list[dict[str, Any]]:
    """Return the records of LiteLLM's payload, with the log-probabilities of a stream put into its choices."""
    payload, streamed = reply
    response = payload.get("response")
    if streamed and isinstance(response, dict):
        choices = [
            {**choice, "logprobs": streamed.get(choice.get("index", 0), {}).get("logprobs")}
            for choice in response.get("choices") or ()
        ]
        payload = {**payload, "response": {**response, "choices": choices}}
    return kept(payload, keep)


@cache
def __getattr__(name: str) -> Callback:
    """Return `callback`, for LiteLLM's proxy. The first access creates it, because it creates the log folder."""
    if name != "callback":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return Callback()
