"""The client of chat models behind APIs, for engines and judges. The only module that imports litellm.

Keys come from the environment, where LiteLLM looks for them; they are no part of a request as it is kept here.
"""

import json
import logging
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.to_thread
import tenacity
from anyio.from_thread import start_blocking_portal

from entropy_sentinel.chat.cache import ReplyCache
from entropy_sentinel.chat.errors import (
    UnusableReply,
    brief,
    costs_nothing,
    made_of_a_reply,
    may_pass,
    retry_after_s,
    said,
)
from entropy_sentinel.chat.ledger import Ledger, Terms
from entropy_sentinel.chat.reply import Refusal, Reply
from entropy_sentinel.chat.text import storable
from entropy_sentinel.frames.errors import EntropySentinelError

log = logging.getLogger(__name__)

# What a chat template adds to a prompt at most; what a token of text is long, and a reply as long as none has come.
_TEMPLATE_TOKENS, _BYTES_PER_TOKEN, _REPLY_TOKENS = 64, 4, 256
# How often a request that waits for room in the budget looks again.
_LOOK_AGAIN_S = 0.1
# So many prompts too long, and not one answered: the limit on tokens is what is wrong, not the prompts.
FIRST_REFUSALS = 10


class _Stopped(Exception):
    """The round has ended before this request was sent."""


@dataclass(frozen=True)
class _Round:
    """What the requests of one call of `ask` share."""

    account: str
    keep: Callable[[Reply], Any]
    shows_enough: Callable[[Any], bool]
    places: anyio.Semaphore
    stop: anyio.Event


class ChatClient:
    """Asks one model, many requests at a time; what was paid for is kept and never asked for again.

    `counts` has `answered` (replies of the server), `cached` (replies from disk) and `refused`. `ledger` has what was
    spent and the pace, which all processes with the same file share.
    """

    FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0

    def __init__(
        self,
        name: str,
        model: str,
        base_url: str | None,
        *,
        concurrency: int,
        timeout_s: float,
        retries: int,
        identity: Mapping[str, Any],
        ledger: str | None = None,
        **terms: float | None,
    ) -> None:
        """Prepare for a model under LiteLLM's name for it; sends nothing yet.

        `name` is what errors begin with, the key in the config. `base_url` None is the provider's own address.
        `timeout_s` is for one whole reply, `retries` for what failed by chance. `identity` belongs to every request
        as the cache knows it, beside what is sent: the version of the model, and what the caller keeps of a reply.
        `ledger` is the file of the ledger, None for one of this process alone; `terms` are those of `Terms`.
        """
        self.name, self.model, self.base_url = name, model, base_url
        self.concurrency, self.timeout_s, self.retries = concurrency, timeout_s, retries
        self.counts: Counter[str] = Counter()
        self._identity, self._cache, self.ledger = identity, ReplyCache(), Ledger(ledger, Terms(**terms))
        self._open_calls, self._not_before, self._reply_lengths = 0, 0.0, Counter[str]()
        self._server_is_known, self._cache_is_known, self._too_long = False, False, 0
        # Without it the import fetches a table of prices.
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
        import litellm

        litellm.telemetry, litellm.suppress_debug_info = False, True
        # They tell every request, some with its headers.
        for noisy in ("LiteLLM", "openai", "httpx", "httpcore", "aiohttp"):
            logging.getLogger(noisy).setLevel(logging.CRITICAL)
        self._litellm = litellm

    def ask(
        self,
        requests: Sequence[Mapping[str, Any]],
        keep: Callable[[Reply], Any],
        shows_enough: Callable[[Any], bool] = lambda kept: True,
        account: str = "",
    ) -> Iterator[tuple[int, Any]]:
        """Ask all `requests`: (position in `requests`, what is kept of the reply or a Refusal), as they are done.

        A request has the arguments of `litellm.completion` but model and base_url. `keep` makes JSON content of a
        reply, which the cache holds, and raises UnusableReply where it cannot, or the error that ends everything.
        Nothing but one request at a time is sent until a reply `shows_enough` of the server. After a failure no more
        is sent, what is under way is still given, and then the error is raised: EntropySentinelError for a request
        that failed for good, a reply of no use, a cache that cannot be written, or a budget without room for the next
        request. `account` is whose calls they are in the ledger.
        """
        waiting, running = deque(enumerate(requests)), dict[Future, int]()
        failure: BaseException | None = None
        cached_before = self.counts["cached"]
        with start_blocking_portal() as portal:
            stop = portal.call(anyio.Event)
            turn = _Round(account, keep, shows_enough, portal.call(anyio.Semaphore, self.concurrency), stop)
            try:
                while waiting or running:
                    # Twice as many as are sent at a time: the next are at hand while the caller is busy.
                    while waiting and len(running) < (2 * self.concurrency if self._server_is_known else 1):
                        position, request = waiting.popleft()
                        running[portal.start_task_soon(self._outcome, position, request, turn)] = position
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        position = running.pop(future)
                        outcome, error = future.result()
                        if outcome is not None:
                            yield position, outcome
                        if error is not None and failure is None:
                            failure = error
                            waiting.clear()
                            portal.call(stop.set)
            finally:
                portal.call(stop.set)
                wait(running)
                portal.call(self._close)
                self.ledger.count_cached(account, self.counts["cached"] - cached_before)
        if failure is not None:
            raise failure

    async def _outcome(
        self, position: int, request: Mapping[str, Any], turn: _Round
    ) -> tuple[Any, BaseException | None]:
        """What became of a request, and the error that ends the round; both where a paid reply could not be stored."""
        async with turn.places:
            if turn.stop.is_set():
                return None, None
            try:
                return await self._kept(position, request, turn)
            except _Stopped:
                return None, None
            except Exception as error:
                return None, error

    async def _kept(self, position: int, request: Mapping[str, Any], turn: _Round) -> tuple[Any, BaseException | None]:
        """One reply as it is kept, from the cache or the server."""
        # A reply is the same wherever the model is served.
        identity = {"model": self.model, "base_url": None, **request, **self._identity}
        kept = await anyio.to_thread.run_sync(self._cache.get, identity)
        if kept is not None:
            self.counts["cached"] += 1
            return storable(kept), None
        if not self._cache_is_known:
            await anyio.to_thread.run_sync(self._cache.check_writable)
            self._cache_is_known = True
        reply = await self._send(position, request, identity, turn)
        if isinstance(reply, Refusal):
            return reply, self._too_many_refusals(reply)
        self.counts["answered"] += 1
        return await anyio.to_thread.run_sync(self._store, position, identity, reply, turn)

    def _store(
        self, position: int, identity: Mapping[str, Any], reply: Reply, turn: _Round
    ) -> tuple[Any, BaseException | None]:
        """Keep what the caller needs of a reply; runs in a thread, since a long trace takes a while."""
        try:
            kept = storable(turn.keep(reply))
        except UnusableReply as error:
            raise self._unusable(position, identity, reply.raw or str(reply.parsed), str(error)) from None
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            reason = f"it has not the form of a chat completion: {said(error)}"
            raise self._unusable(position, identity, reply.raw or str(reply.parsed), reason) from None
        self._server_is_known = self._server_is_known or turn.shows_enough(kept)
        try:
            self._cache.put(identity, kept)
        except EntropySentinelError as error:
            return kept, error
        return kept, None

    async def _send(
        self, position: int, request: Mapping[str, Any], identity: Mapping[str, Any], turn: _Round
    ) -> Reply | Refusal:
        """The server's reply or refusal. What failed by chance is tried again, until the round stops."""
        raw: list[str] = []
        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(lambda error: may_pass(error) and not made_of_a_reply(error, _last(raw))),
            stop=tenacity.stop_after_attempt(1 + self.retries) | tenacity.stop_when_event_set(turn.stop),
            wait=self._pause,
            sleep=lambda seconds: _sleep(seconds, turn.stop),
            before_sleep=lambda state: log.warning(
                "request %d to %s: %s; again in %.0f s",
                *(position, self._address(), brief(state.outcome.exception()), state.next_action.sleep),
            ),
            reraise=True,
        )
        try:
            return await retrying(self._send_in_turn, request, raw, turn)
        # These are of one request. All other errors with 400, 401 and 404 would come for every request.
        except self._litellm.ContextWindowExceededError as error:
            return Refusal(said(error), too_long=True)
        except self._litellm.ContentPolicyViolationError as error:
            return Refusal(said(error))
        except (EntropySentinelError, _Stopped):
            raise
        except Exception as error:
            if made_of_a_reply(error, _last(raw)):
                raise self._unusable(position, identity, _last(raw) or str(error), said(error)) from None
            tries = retrying.statistics["attempt_number"]
            # Nothing is chained: exceptions of clients carry requests, and those carry keys.
            raise EntropySentinelError(
                f"{self.name}: {self._address()} did not answer request {position} (from 0) in {tries} "
                f"{'try' if tries == 1 else 'tries'}: {brief(error)}; a restart goes on from what was answered"
            ) from None

    async def _send_in_turn(self, request: Mapping[str, Any], raw: list[str], turn: _Round) -> Reply:
        """One try, at the ledger's pace, and written down there before it is sent."""
        longest, likely = self._tokens(request)
        await self._wait(await anyio.to_thread.run_sync(self.ledger.pause_s, likely), turn.stop)
        await self._wait(self._not_before - time.monotonic(), turn.stop)
        call = await self._reserved(longest, request, turn)
        try:
            reply = await self._send_once(request, raw)
        except BaseException as error:
            if costs_nothing(error):
                await anyio.to_thread.run_sync(self.ledger.release, call)
            raise
        else:
            used = reply.prompt_tokens, reply.completion_tokens
            await anyio.to_thread.run_sync(self.ledger.settle, call, *used)
            await anyio.to_thread.run_sync(self.ledger.correct, sum(used) - likely)
            self._reply_lengths.update(replies=1, tokens=reply.completion_tokens)
            return reply
        finally:
            self._open_calls -= 1

    def _tokens(self, request: Mapping[str, Any]) -> tuple[int, int]:
        """Tokens of a request: the most that its prompt can have, and about how many with the reply."""
        said = {name: request[name] for name in ("messages", "response_format") if name in request}
        # No tokenizer makes more tokens than bytes; the rest is for what a chat template puts around them.
        longest = len(json.dumps(said, ensure_ascii=False).encode()) + _TEMPLATE_TOKENS
        replies = self._reply_lengths["replies"]
        reply = self._reply_lengths["tokens"] / replies if replies else min(_REPLY_TOKENS, _longest_reply(request))
        return longest, round(longest / _BYTES_PER_TOKEN + reply)

    async def _reserved(self, prompt_tokens: int, request: Mapping[str, Any], turn: _Round) -> int:
        """The number of the call in the ledger; waits while calls under way may leave the budget room for it."""
        most = prompt_tokens, _longest_reply(request)
        while (call := await anyio.to_thread.run_sync(self.ledger.reserve, turn.account, *most)) is None:
            if turn.stop.is_set():
                raise _Stopped
            if not self._open_calls:
                raise self._over_budget(self.ledger.terms.usd(*most))
            await _sleep(_LOOK_AGAIN_S, turn.stop)
        self._open_calls += 1
        return call

    async def _wait(self, seconds: float, stop: anyio.Event) -> None:
        if seconds > 0:
            await _sleep(seconds, stop)
            if stop.is_set():
                raise _Stopped

    async def _send_once(self, request: Mapping[str, Any], raw: list[str]) -> Reply:
        """One try; `raw` gets the text of the reply, where one comes."""

        def look(details: Mapping[str, Any]) -> None:
            text = details.get("original_response")
            if details.get("log_event_type") == "post_api_call" and isinstance(text, str):
                raw.append(text)

        raw.clear()
        # Over the whole reply: LiteLLM's own time-out starts again with every byte.
        with anyio.move_on_after(self.timeout_s):
            parsed = await self._litellm.acompletion(
                model=self.model,
                base_url=self.base_url,
                **request,
                timeout=self.timeout_s,
                # Tried again here only: the retries of LiteLLM and of the client below it would multiply ours.
                max_retries=0,
                num_retries=0,
                logger_fn=look,
            )
            return Reply(parsed, _last(raw))
        raise TimeoutError(f"no whole reply within {self.timeout_s:g} s")

    def _pause(self, state: tenacity.RetryCallState) -> float:
        """Seconds before the next try: doubled each time, with jitter; longer where the server says so."""
        growing = tenacity.wait_exponential_jitter(
            multiplier=self.FIRST_PAUSE_S, max=self.LONGEST_PAUSE_S, jitter=self.FIRST_PAUSE_S
        )
        asked = min(retry_after_s(state.outcome.exception()), self.timeout_s)
        # The server means all requests.
        self._not_before = max(self._not_before, time.monotonic() + asked)
        return max(growing(state), asked)

    def _over_budget(self, usd: float) -> EntropySentinelError:
        budget = self.ledger.terms.budget_usd
        return EntropySentinelError(
            f"{self.name}: of budget_usd {budget:g}, {self.ledger.spent_usd:.4f} are spent, and the next request may "
            f"cost up to {usd:.4f}; raise budget_usd and start again: what was answered is kept, and costs nothing"
        )

    def _unusable(self, position: int, identity: Mapping[str, Any], raw: str, reason: str) -> EntropySentinelError:
        """Put a reply of no use aside; the error that tells where."""
        self.counts["answered"] += 1
        path = self._cache.put_aside(identity, storable(raw), reason)
        return EntropySentinelError(
            f"{self.name}: {self._address()} gave a reply to request {position} (from 0) that cannot be used: "
            f"{reason}; it lies in {path}; a restart asks again"
        )

    def _too_many_refusals(self, refusal: Refusal) -> EntropySentinelError | None:
        """Count a refusal; the error where nothing was answered and prompts cannot be what is wrong."""
        self.counts["refused"] += 1
        self._too_long += refusal.too_long
        if self.counts["answered"] or self.counts["cached"] or self._too_long < FIRST_REFUSALS:
            return None
        return EntropySentinelError(
            f"{self.name}: {self._address()} refused {FIRST_REFUSALS} requests as too long and answered none: "
            f"{refusal.reason}; ask for fewer tokens, or serve the model with a longer context"
        )

    def _address(self) -> str:
        return f"{self.model} at {self.base_url}" if self.base_url else self.model

    async def _close(self) -> None:
        """Close LiteLLM's connections, which belong to the event loop of one round."""
        await self._litellm.close_litellm_async_clients()
        self._litellm.in_memory_llm_clients_cache.flush_cache()


def _longest_reply(request: Mapping[str, Any]) -> int:
    return request.get("max_tokens") or 0


async def _sleep(seconds: float, stop: anyio.Event) -> None:
    """Sleep, and wake at `stop`."""
    with anyio.move_on_after(seconds):
        await stop.wait()


def _last(raw: Sequence[str]) -> str | None:
    return raw[-1] if raw else None
