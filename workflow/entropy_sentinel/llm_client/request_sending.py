"""Send one request to a server: at the pace and within the budget of its ledger, with retries if they may help.

The only module that imports litellm. Keys come from the environment, where LiteLLM looks for them.
"""

import json
import logging
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import tenacity

from entropy_sentinel.core.errors import BudgetSpentError, EntropySentinelError
from entropy_sentinel.llm_client.reply_bounds import (
    compute_max_bytes,
    limit_reply_size,
    limit_response_size,
    limit_transports,
)
from entropy_sentinel.llm_client.request_results import (
    Refusal,
    RejectedRequestError,
    ServerReply,
    UnusableReply,
    costs_nothing,
    describe_unreadable_bytes,
    extract_message,
    format_error,
    is_retryable,
    is_silence,
    is_unreachable,
    is_unreadable_reply,
    rejects_request,
    retry_after_s,
)
from entropy_sentinel.llm_client.spending.ledger import Ledger, OverBudget

log = logging.getLogger(__name__)

# Most tokens that a chat template adds to a prompt; mean bytes of a token; length of a reply until the first one comes.
_TEMPLATE_TOKENS, _BYTES_PER_TOKEN, _REPLY_TOKENS = 64, 4, 256
# Further tries if the address has never answered: these take seconds, while `retries` may take minutes.
_RETRIES_TO_REACH = 2
# Seconds between checks of a request that waits for room in the budget.
_POLL_S = 0.1
# Default of `total_timeout_s`.
TOTAL_TIMEOUT_S = 600.0


class RoundEnded(Exception):
    """The round ended before this request was sent."""


@dataclass(frozen=True)
class AnsweredRequest:
    """An answered request: its reply, its number in the ledger, and its estimated tokens."""

    reply: ServerReply
    call: int
    likely_tokens: int


@dataclass
class _Tries:
    """The tries of one request so far.

    Attributes:
        raw: The text of the reply to the last try, or nothing.
        limit_s: The time limit of the last try, seconds.
        silent_s: The seconds of all tries that ended without a whole reply.
    """

    raw: list[str] = field(default_factory=list)
    limit_s: float = 0.0
    silent_s: float = 0.0


class _TokenBounds(NamedTuple):
    """The most tokens that a prompt can have, and an estimate of those of prompt and reply together."""

    prompt_max: int
    total_estimate: int


class Sender:
    """Sends requests to one model; errors name its `address`."""

    FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0

    def __init__(
        self,
        name: str,
        model: str,
        base_url: str | None,
        timeout_s: float,
        retries: int,
        ledger: Ledger,
        total_timeout_s: float = TOTAL_TIMEOUT_S,
    ) -> None:
        """Prepare LiteLLM; the arguments are those of `ChatClient`."""
        self.name, self.model, self.base_url = name, model, base_url
        self.timeout_s, self.retries, self.ledger = timeout_s, retries, ledger
        self.total_timeout_s = total_timeout_s
        self.address = f"{model} at {base_url}" if base_url else model
        # The earliest time of the next request, by the clock that never goes back.
        self._not_before = 0.0
        # `replies`, and their `tokens` together.
        self._reply_lengths: Counter[str] = Counter()
        self._excess_is_reported = False
        # Without this, the import downloads a table of prices.
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
        import litellm
        from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

        limit_transports(AsyncHTTPHandler)
        litellm.telemetry, litellm.suppress_debug_info = False, True
        # These loggers record every request, some with its headers.
        for noisy in ("LiteLLM", "openai", "httpx", "httpcore", "aiohttp"):
            logging.getLogger(noisy).setLevel(logging.CRITICAL)
        self._litellm: Any = litellm  # does not declare its exports
        self._text_api: Any = None

    async def send(
        self, position: int, request: Mapping[str, Any], account: str, stop: anyio.Event
    ) -> AnsweredRequest | Refusal:
        """The server's reply, for `settle` after it is stored, or the server's refusal.

        Errors that may pass are retried until `stop` is set.

        Raises:
            RoundEnded: If `stop` was set before the request was sent.
            UnusableReply: If LiteLLM cannot read the reply.
            BudgetSpentError: If the budget has no room for the request.
            EntropySentinelError: If no reply came; it names request `position`.
        """
        tries = _Tries()
        raw = tries.raw

        def may_retry(error: BaseException) -> bool:
            return is_retryable(error) and not is_unreadable_reply(error, _get_last(raw))

        def is_final(state: tenacity.RetryCallState) -> bool:
            return self._is_last(state) or tries.silent_s >= self.total_timeout_s or stop.is_set()

        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(may_retry),
            stop=is_final,
            wait=self._choose_pause,
            sleep=lambda seconds: sleep_until_stop(seconds, stop),
            before_sleep=lambda state: log.warning(
                "request %d to %s: %s; again in %.0f s",
                position,
                self.address,
                format_error(_get_error(state)),
                state.upcoming_sleep,
            ),
            reraise=True,
        )
        try:
            return await retrying(self._send_in_turn, request, tries, account, stop)
        # These concern one request. All other errors with 400, 401 and 404 would recur for every request.
        except self._litellm.ContextWindowExceededError as error:
            return Refusal(extract_message(error), too_long=True)
        except self._litellm.ContentPolicyViolationError as error:
            return Refusal(extract_message(error))
        except (EntropySentinelError, RoundEnded):
            raise
        except Exception as error:
            if is_unreadable_reply(error, _get_last(raw)):
                raise UnusableReply(
                    describe_unreadable_bytes(error) or extract_message(error), _get_last(raw) or str(error)
                ) from None
            n_tries = retrying.statistics["attempt_number"]
            # Nothing is chained: exceptions of clients carry requests, and those carry keys.
            kind = RejectedRequestError if rejects_request(error) else EntropySentinelError
            raise kind(
                f"{self.name}: {self.address} did not answer request {position} (from 0) in {n_tries} "
                f"{'try' if n_tries == 1 else 'tries'}: {format_error(error)}{self._suggest_address(error)}; a restart "
                "continues after the answered requests"
            ) from None

    def _suggest_address(self, error: Exception) -> str:
        """A hint for status 404 at an address without a path; empty for all other errors."""
        if not isinstance(error, self._litellm.NotFoundError) or urlsplit(self.base_url or "/v1").path.strip("/"):
            return ""
        return f"; base_url has no path, servers answer below /v1: {str(self.base_url).rstrip('/')}/v1"

    async def settle(self, sent: AnsweredRequest) -> None:
        """Record the cost of a request, after its reply is stored: a killed request keeps its largest possible cost."""
        prompt_tokens, reply_tokens = sent.reply.prompt_tokens, sent.reply.completion_tokens
        excess = await anyio.to_thread.run_sync(self.ledger.settle, sent.call, prompt_tokens, reply_tokens)
        await anyio.to_thread.run_sync(self.ledger.correct, prompt_tokens + reply_tokens - sent.likely_tokens)
        self._reply_lengths.update(replies=1, tokens=reply_tokens)
        if excess and self.ledger.terms.budget_usd is not None and not self._excess_is_reported:
            self._excess_is_reported = True
            log.warning(
                "%s: %s took %d tokens for a reply, more than its max_tokens allow: every request now counts "
                "%.4f USD more, so that budget_usd is kept",
                self.name,
                self.address,
                reply_tokens,
                excess,
            )

    async def close(self) -> None:
        """Close all of LiteLLM's connections, which belong to one event loop."""
        if self._text_api is not None:
            await self._text_api.close()
            self._text_api = None
        await self._litellm.close_litellm_async_clients()
        self._litellm.in_memory_llm_clients_cache.flush_cache()

    async def _send_in_turn(
        self, request: Mapping[str, Any], tries: _Tries, account: str, stop: anyio.Event
    ) -> AnsweredRequest:
        """Try once, at the ledger's rate; the call is recorded there before it is sent."""
        bounds = self._estimate_tokens(request)
        await self._wait_or_stop(await anyio.to_thread.run_sync(self.ledger.pause_s, bounds.total_estimate), stop)
        await self._wait_or_stop(self._not_before - time.monotonic(), stop)
        call = await self._reserve_call(bounds.prompt_max, request, account, stop)
        try:
            return AnsweredRequest(await self._send_once(request, tries), call, bounds.total_estimate)
        except BaseException as error:
            if is_silence(error):
                tries.silent_s += tries.limit_s
            record_end = self.ledger.release if costs_nothing(error) else self.ledger.give_up
            await anyio.to_thread.run_sync(record_end, call)
            raise

    def _estimate_tokens(self, request: Mapping[str, Any]) -> _TokenBounds:
        """The most tokens that the prompt can have, and an estimate of those of the prompt and its reply together."""
        prompt = {name: request[name] for name in ("messages", "prompt", "response_format") if name in request}
        # No tokenizer makes more tokens than bytes; the rest is for the chat template.
        longest = len(json.dumps(prompt, ensure_ascii=False).encode()) + _TEMPLATE_TOKENS
        n_replies = self._reply_lengths["replies"]
        if n_replies:
            reply_length = self._reply_lengths["tokens"] / n_replies
        else:
            reply_length = min(_REPLY_TOKENS, _get_max_tokens(request))
        return _TokenBounds(longest, round(longest / _BYTES_PER_TOKEN + reply_length))

    async def _reserve_call(
        self, prompt_tokens: int, request: Mapping[str, Any], account: str, stop: anyio.Event
    ) -> int:
        """The call's number in the ledger; wait while calls under way may free some of the budget."""
        most = prompt_tokens, _get_max_tokens(request)
        try:
            while (call := await anyio.to_thread.run_sync(self.ledger.reserve, account, *most)) is None:
                if stop.is_set():
                    raise RoundEnded
                await sleep_until_stop(_POLL_S, stop)
        except OverBudget:
            raise self._make_budget_error(self.ledger.terms.usd(*most)) from None
        return call

    async def _wait_or_stop(self, seconds: float, stop: anyio.Event) -> None:
        """Wait, if the number is positive; raise RoundEnded if `stop` was set meanwhile."""
        if seconds > 0:
            await sleep_until_stop(seconds, stop)
            if stop.is_set():
                raise RoundEnded

    async def _send_once(self, request: Mapping[str, Any], tries: _Tries) -> ServerReply:
        """Try once; `tries` gets the text of the reply if one comes, and else the time that it took."""
        raw = tries.raw
        limit_s = min(self.timeout_s, self.total_timeout_s - tries.silent_s)
        tries.limit_s = limit_s

        def record_reply(details: Mapping[str, Any]) -> None:
            """Keep the text of the reply, of which LiteLLM informs its `logger_fn`."""
            text = details.get("original_response")
            if details.get("log_event_type") == "post_api_call" and isinstance(text, str):
                raw.append(text)

        raw.clear()
        # For the whole reply: LiteLLM's own time-out restarts with every byte.
        with anyio.move_on_after(limit_s), limit_reply_size(compute_max_bytes(request)):
            is_plain = "prompt" in request  # goes to /completions, without a chat template
            complete = self._litellm.atext_completion if is_plain else self._litellm.acompletion
            options: dict[str, Any] = {"client": self._text_client()} if is_plain else {}
            if "seed" in request:
                options |= self._seed_options
            parsed = await complete(
                model=self.model,
                base_url=self.base_url,
                **request,
                **options,
                timeout=limit_s,
                # Retries happen only here: those of LiteLLM and of the client below it would multiply ours.
                max_retries=0,
                num_retries=0,
                logger_fn=record_reply,
            )
            return ServerReply(parsed, _get_last(raw))
        raise TimeoutError(f"no whole reply within {limit_s:.3g} s")

    def supports(self, parameters: Mapping[str, Any]) -> bool:
        """Whether LiteLLM sends these parameters with these values to the model's provider."""
        try:
            model, provider, _, _ = self._litellm.get_llm_provider(self.model, api_base=self.base_url)
            self._litellm.utils.get_optional_params(model=model, custom_llm_provider=provider, **parameters)
        except Exception:  # of LiteLLM's code for one provider
            return False
        return True

    @cached_property
    def _seed_options(self) -> dict[str, list[str]]:
        """Arguments that drop the seed if the provider takes none, like Anthropic; LiteLLM would refuse the request."""
        model, provider, _, _ = self._litellm.get_llm_provider(self.model, api_base=self.base_url)
        supported = self._litellm.get_supported_openai_params(model, provider)
        return {"additional_drop_params": ["seed"]} if supported and "seed" not in supported else {}

    def _text_client(self) -> Any:
        """One client for all texts; LiteLLM would create one for each and leave its connections open."""
        if self._text_api is None:
            from openai import AsyncOpenAI, DefaultAsyncHttpxClient

            _, _, key, address = self._litellm.get_llm_provider(self.model, api_base=self.base_url)
            http_client = DefaultAsyncHttpxClient(event_hooks={"response": [limit_response_size]})
            self._text_api = AsyncOpenAI(
                api_key=key, base_url=address, timeout=self.timeout_s, max_retries=0, http_client=http_client
            )
        return self._text_api

    def _is_last(self, state: tenacity.RetryCallState) -> bool:
        """Whether this was the last try; a server that has never answered gets fewer."""
        was_never_reached = not self._reply_lengths["replies"] and is_unreachable(_get_error(state))
        max_retries = min(self.retries, _RETRIES_TO_REACH) if was_never_reached else self.retries
        return state.attempt_number > max_retries

    def _choose_pause(self, state: tenacity.RetryCallState) -> float:
        """The seconds before the next try: doubled each time, with jitter; longer if the server asks for it."""
        growing = tenacity.wait_exponential_jitter(
            multiplier=self.FIRST_PAUSE_S, max=self.LONGEST_PAUSE_S, jitter=self.FIRST_PAUSE_S
        )
        wanted_s = min(retry_after_s(_get_error(state)), self.timeout_s)
        # The server's pause applies to all requests.
        self._not_before = max(self._not_before, time.monotonic() + wanted_s)
        return max(growing(state), wanted_s)

    def _make_budget_error(self, usd: float) -> BudgetSpentError:
        """The error for a budget without room for a request of at most `usd`."""
        sums = self.ledger.sums()
        reserved = excess = ""
        if sums.unanswered:
            reserved = f", {sums.unanswered:.4f} are reserved for requests that were never answered"
        if sums.excess:
            excess = f"; replies cost up to {sums.excess:.4f} more than max_tokens allow, and may again"
        return BudgetSpentError(
            f"{self.name}: of budget_usd {self.ledger.terms.budget_usd:g}, {sums.spent:.4f} are spent{reserved}, and "
            f"the next request may cost up to {usd + sums.excess:.4f}{excess}; raise budget_usd and restart: answered "
            "requests are cached and cost nothing"
        )


def _get_max_tokens(request: Mapping[str, Any]) -> int:
    return request.get("max_tokens") or 0


async def sleep_until_stop(seconds: float, stop: anyio.Event) -> None:
    """Sleep, and wake at `stop`."""
    with anyio.move_on_after(seconds):
        await stop.wait()


def _get_error(state: tenacity.RetryCallState) -> BaseException:
    """The error of a failed try."""
    error = None if state.outcome is None else state.outcome.exception()
    assert error is not None  # a try that succeeded is not repeated
    return error


def _get_last(raw: Sequence[str]) -> str | None:
    """The text of the last reply; None without one."""
    return raw[-1] if raw else None
