"""The client of chat models behind APIs, for engines and judges: many requests at a time, each reply kept.

All requests of a process run in one event loop.
"""

import json
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Collection, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.to_thread
from anyio.from_thread import BlockingPortal, BlockingPortalProvider

from entropy_sentinel.core.errors import EntropySentinelError
from entropy_sentinel.llm_client.reply_cache import ReplyCache, ReplyClaim
from entropy_sentinel.llm_client.request_results import (
    Refusal,
    ServerReply,
    UnusableReply,
    extract_message,
    make_storable,
)
from entropy_sentinel.llm_client.request_sending import (
    TOTAL_TIMEOUT_S,
    AnsweredRequest,
    RoundEnded,
    Sender,
    sleep_until_stop,
)
from entropy_sentinel.llm_client.server_settings import find_address
from entropy_sentinel.llm_client.spending.ledger import Ledger, Terms

_PORTALS = BlockingPortalProvider()
_LOCK = threading.Lock()
# How many blocks use the event loop now.
_rounds = 0


@contextmanager
def shared_loop(close: Callable[[], Awaitable[None]]) -> Iterator[BlockingPortal]:
    """Give the event loop to the block; afterwards `close` its connections unless another thread uses them.

    LiteLLM keeps the connections of all its users together, and can only close them all.
    """
    global _rounds
    with _LOCK:
        portal = _PORTALS.__enter__()
        _rounds += 1
    try:
        yield portal
    finally:
        with _LOCK:
            _rounds -= 1
            if not _rounds:
                portal.call(close)
            _PORTALS.__exit__(None, None, None)


log = logging.getLogger(__name__)

# If this many prompts are too long and none is answered, the token limit is wrong, not the prompts.
FIRST_REFUSALS = 10
# Seconds between checks of the cache for a reply that another process has requested.
_POLL_S = 0.2
# The outcome of such a request: it is tried again after the others.
_LATER = object()
# Largest size of a stored reply, in bytes: the part that does not depend on its length, a token's text both plain and
# escaped in the server's JSON, and a token with its 20 log-probabilities.
_BASE_BYTES, _BYTES_PER_TOKEN, _BYTES_PER_LOGPROBS = 4096, 16, 512


@dataclass(frozen=True)
class _Round:
    """What the requests of a round, one call of `ask`, share: its arguments, and `places` for requests at a time.

    `stop` is set when no more requests shall be sent.
    """

    account: str
    keep: Callable[[ServerReply], Any]
    shows_enough: Callable[[Any], bool]
    places: anyio.Semaphore
    stop: anyio.Event


class ChatClient:
    """Sends requests to one model, many at a time. Replies are cached, so the same request is never paid for again.

    `counts` has `answered` (replies of the server), `cached` (replies from disk) and `refused`. `ledger` has what was
    spent and the pace, which all processes with the same file share.
    """

    # Seconds until a line says that no reply comes, and between two such lines.
    FIRST_LINE_S, NEXT_LINES_S = 30.0, 120.0

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
        total_timeout_s: float = TOTAL_TIMEOUT_S,
        own_server: bool = False,
        ledger: str | None = None,
        **terms: float | None,
    ) -> None:
        """Prepare for a model; sends nothing yet.

        Args:
            name: The key in the config, with which errors begin.
            model: LiteLLM's name of the model.
            base_url: The server's address; None for the provider's own.
            concurrency: Requests at a time.
            timeout_s: Longest wait for a whole reply, seconds.
            total_timeout_s: Longest time of all tries of a request that end without a whole reply, seconds.
            retries: Further tries after errors that may pass.
            identity: What the cache key has besides the request and the server's address: the version of the model,
                and what the caller keeps of a reply.
            own_server: Whether this job has started the server. Its address changes with each start, so the cache key
                leaves it out, and `identity` describes the model.
            ledger: The file of the ledger; None for a ledger of this process only.
            terms: The fields of `Terms`.
        """
        self.name, self.model, self.concurrency = name, model, concurrency
        self.counts: Counter[str] = Counter()
        # Two servers may each have a model of this name.
        self._identity = {"base_url": None if own_server else find_address(model, base_url), **identity}
        self._cache = ReplyCache()
        self.ledger = Ledger(ledger, Terms(**terms))
        self._sender = Sender(name, model, base_url, timeout_s, retries, self.ledger, total_timeout_s)
        # Whether a reply has shown that the server works, whether a wait for another process was logged, and the number
        # of requests that were refused as too long.
        self._server_is_known = self._is_waiting = False
        self._too_long = 0

    def supports(self, **parameters: Any) -> bool:
        """Whether LiteLLM sends these parameters with these values to the model's provider."""
        return self._sender.supports(parameters)

    def has_reply(self, request: Mapping[str, Any]) -> bool:
        """Whether a request is answered from the cache."""
        return self._cache.get({"model": self.model, **request, **self._identity}) is not None

    def ask(
        self,
        requests: Sequence[Mapping[str, Any]],
        keep: Callable[[ServerReply], Any],
        shows_enough: Callable[[Any], bool] = lambda kept: True,
        account: str = "",
    ) -> Generator[tuple[int, Any], None, None]:
        """Yield (position in `requests`, kept content of the reply or a Refusal) for each request, as they finish.

        If another process or thread with the same cache has sent the same request, this one waits for its reply. After
        a failure or an interrupt, no more requests are sent, those under way are finished, and then the error is
        raised; also if the caller takes no more replies. Another interrupt does not wait for them.

        Args:
            requests: The arguments of `litellm.completion` without model and base_url; with a `prompt`, those of
                `litellm.text_completion`.
            keep: Returns the JSON content of a reply, which is cached. It raises UnusableReply if it cannot, or the
                error that ends the round.
            shows_enough: Whether kept content shows that the server works. Until then, requests are sent one by one.
            account: The account of the calls in the ledger.

        Raises:
            BudgetSpentError: If the budget has no room for the next request.
            EntropySentinelError: If a request failed for good, a reply cannot be used, or the cache cannot be written.
            KeyboardInterrupt: If the user interrupted the process.
        """
        waiting = deque(enumerate(requests))
        # The position of each request under way.
        running: dict[Future[tuple[Any, BaseException | None]], int] = {}
        failure: BaseException | None = None
        cached_before = self.counts["cached"]
        with shared_loop(self._sender.close) as portal:
            stop = portal.call(anyio.Event)
            this_round = _Round(
                account, keep, shows_enough, places=portal.call(anyio.Semaphore, self.concurrency), stop=stop
            )
            try:
                while waiting or running:
                    try:
                        # Twice the concurrency, so that requests are ready while the caller is busy; one until a reply
                        # has shown that the server works.
                        while waiting and len(running) < (2 * self.concurrency if self._server_is_known else 1):
                            position, request = waiting.popleft()
                            running[portal.start_task_soon(self._run_request, position, request, this_round)] = position
                        finished = self._wait_for_any(running)
                    except KeyboardInterrupt as interrupt:
                        if isinstance(failure, KeyboardInterrupt):  # the second one
                            for future in running:
                                future.cancel()
                            raise
                        failure = interrupt
                        waiting.clear()
                        portal.call(stop.set)
                        self._announce_wait()
                        continue
                    for future in finished:
                        position = running.pop(future)
                        outcome, error = future.result()
                        if outcome is _LATER:
                            if failure is None:
                                waiting.append((position, requests[position]))
                        elif outcome is not None:
                            yield position, outcome
                        if error is not None and failure is None:
                            failure = error
                            waiting.clear()
                            portal.call(stop.set)
            finally:
                portal.call(stop.set)
                # The caller was interrupted, or failed, between two replies.
                if running and failure is None:
                    self._announce_wait()
                wait(running)
                self.ledger.count_cached(account, self.counts["cached"] - cached_before)
        if failure is not None:
            raise failure

    def _announce_wait(self) -> None:
        """Warn that the requests under way are waited for after an interrupt."""
        log.warning(
            "%s: no more requests are sent; waiting for those under way, which cost money (interrupt to end at once)",
            self.name,
        )

    def _wait_for_any(self, running: Collection[Future[Any]]) -> Collection[Future[Any]]:
        """Wait until a request is finished; say meanwhile that no reply comes."""
        start = time.monotonic()
        pause_s = self.FIRST_LINE_S
        while not (done := wait(running, timeout=pause_s, return_when=FIRST_COMPLETED).done):
            log.warning(
                "%s: no reply of %s for %.0f s; a request is given up after %g s without one (total_timeout_s)",
                self.name,
                self._sender.address,
                time.monotonic() - start,
                min(self._sender.total_timeout_s, self._sender.timeout_s * (1 + self._sender.retries)),
            )
            pause_s = self.NEXT_LINES_S
        return done

    async def _run_request(
        self, position: int, request: Mapping[str, Any], this_round: _Round
    ) -> tuple[Any, BaseException | None]:
        """The outcome of a request, and the error that ends the round; both if a step after the reply failed.

        The outcome is the kept content, a Refusal, `_LATER` if another process requests it, or None if nothing came.
        """
        try:
            async with this_round.places:
                if this_round.stop.is_set():
                    return None, None
                outcome = await self._fetch_content(position, request, this_round)
            if outcome[0] is _LATER:
                await sleep_until_stop(_POLL_S, this_round.stop)
            return outcome
        except RoundEnded:
            return None, None
        except Exception as error:
            return None, error

    async def _fetch_content(
        self, position: int, request: Mapping[str, Any], this_round: _Round
    ) -> tuple[Any, BaseException | None]:
        """The content to keep of a reply, from the cache or the server, and the error that ends the round, if any.

        Instead of the content, a Refusal, or `_LATER` if another process requests it.
        """
        identity = {"model": self.model, **request, **self._identity}
        kept = await anyio.to_thread.run_sync(self._cache.get, identity)
        if kept is not None:
            self.counts["cached"] += 1
            # It may have half surrogates or keys, which files must not have.
            return make_storable(kept), None
        claim = await anyio.to_thread.run_sync(self._cache.claim, identity, _estimate_reply_bytes(request))
        if claim is None:
            if not self._is_waiting:
                log.info("%s: another process is asking request %d (from 0) and maybe others", self.name, position)
                self._is_waiting = True
            return _LATER, None
        try:
            return await self._fetch_from_server(position, request, identity, claim, this_round)
        finally:
            await anyio.to_thread.run_sync(claim.release)

    async def _fetch_from_server(
        self,
        position: int,
        request: Mapping[str, Any],
        identity: Mapping[str, Any],
        claim: ReplyClaim,
        this_round: _Round,
    ) -> tuple[Any, BaseException | None]:
        """The kept content of the server's reply, or its Refusal, and the error that ends the round, if any.

        `claim` is the right to request it, and `identity` its key in the cache.
        """
        try:
            sent = await self._sender.send(position, request, this_round.account, this_round.stop)
        except UnusableReply as error:
            raise self._store_unusable(position, identity, error) from None
        if isinstance(sent, Refusal):
            return sent, self._count_refusal(sent)
        try:
            kept, storing_error = await anyio.to_thread.run_sync(
                self._store, position, identity, claim, sent.reply, this_round
            )
        except Exception:
            await self._sender.settle(sent)
            raise
        settling_error = await self._try_settle(sent)
        return kept, settling_error or storing_error

    async def _try_settle(self, sent: AnsweredRequest) -> EntropySentinelError | None:
        """Record the cost of a request. Return the error if that fails, so that the reply is not lost."""
        try:
            await self._sender.settle(sent)
        except EntropySentinelError as error:
            return error
        return None

    def _store(
        self, position: int, identity: Mapping[str, Any], claim: ReplyClaim, reply: ServerReply, this_round: _Round
    ) -> tuple[Any, BaseException | None]:
        """Store what the caller needs of a reply; return that, and the error if it could not be stored.

        Runs in a thread, because a long trace takes a while.
        """
        raw = reply.raw or str(reply.parsed)
        try:
            kept = make_storable(this_round.keep(reply))
        except UnusableReply as error:
            raise self._store_unusable(position, identity, UnusableReply(str(error), raw)) from None
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            reason = f"it does not have the form of a chat completion: {extract_message(error)}"
            raise self._store_unusable(position, identity, UnusableReply(reason, raw)) from None
        self.counts["answered"] += 1
        self._server_is_known = self._server_is_known or this_round.shows_enough(kept)
        try:
            claim.keep(kept)
        except EntropySentinelError as error:
            return kept, error
        return kept, None

    def _store_unusable(self, position: int, identity: Mapping[str, Any], reply: UnusableReply) -> EntropySentinelError:
        """Store an unusable reply, and return the error that names its file."""
        self.counts["answered"] += 1
        path = self._cache.store_unusable(identity, make_storable(reply.raw), str(reply))
        return EntropySentinelError(
            f"{self.name}: {self._sender.address} gave a reply to request {position} (from 0) that cannot be used: "
            f"{reply}; it is stored in {path}; a restart sends the request again"
        )

    def _count_refusal(self, refusal: Refusal) -> EntropySentinelError | None:
        """Count a refusal. Return an error if nothing was answered and the prompts cannot be the cause."""
        self.counts["refused"] += 1
        self._too_long += refusal.too_long
        if self.counts["answered"] or self.counts["cached"] or self._too_long < FIRST_REFUSALS:
            return None
        return EntropySentinelError(
            f"{self.name}: {self._sender.address} refused {FIRST_REFUSALS} requests as too long and answered none: "
            f"{refusal.reason}; ask for fewer tokens, or serve the model with a longer context"
        )


def _estimate_reply_bytes(request: Mapping[str, Any]) -> int:
    """Bytes to reserve on disk for the uncompressed reply; a bound only if the server respects max_tokens."""
    per_token = _BYTES_PER_LOGPROBS if request.get("logprobs") else _BYTES_PER_TOKEN
    return _BASE_BYTES + len(json.dumps(request)) + per_token * (request.get("max_tokens") or 0)
