"""The client of chat models behind APIs, for engines and judges: many requests at a time, each reply kept."""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.to_thread
from anyio.from_thread import start_blocking_portal

from entropy_sentinel.chat.cache import ReplyCache
from entropy_sentinel.chat.errors import UnusableReply, said
from entropy_sentinel.chat.ledger import Ledger, Terms
from entropy_sentinel.chat.reply import Refusal, Reply
from entropy_sentinel.chat.sending import Sender, Stopped
from entropy_sentinel.chat.text import storable
from entropy_sentinel.frames.errors import EntropySentinelError

# So many prompts too long, and not one answered: the limit on tokens is what is wrong, not the prompts.
FIRST_REFUSALS = 10


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
        self.name, self.model, self.concurrency = name, model, concurrency
        self.counts: Counter[str] = Counter()
        self._identity, self._cache, self.ledger = identity, ReplyCache(), Ledger(ledger, Terms(**terms))
        self._sender = Sender(name, model, base_url, timeout_s, retries, self.ledger)
        self._server_is_known, self._cache_is_known, self._too_long = False, False, 0

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
                portal.call(self._sender.close)
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
            except Stopped:
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
        try:
            sent = await self._sender.send(position, request, turn.account, turn.stop)
        except UnusableReply as error:
            raise self._unusable(position, identity, error) from None
        if isinstance(sent, Refusal):
            return sent, self._too_many_refusals(sent)
        try:
            return await anyio.to_thread.run_sync(self._store, position, identity, sent.reply, turn)
        finally:
            await self._sender.settle(sent)

    def _store(
        self, position: int, identity: Mapping[str, Any], reply: Reply, turn: _Round
    ) -> tuple[Any, BaseException | None]:
        """Keep what the caller needs of a reply; runs in a thread, since a long trace takes a while."""
        raw = reply.raw or str(reply.parsed)
        try:
            kept = storable(turn.keep(reply))
        except UnusableReply as error:
            raise self._unusable(position, identity, UnusableReply(str(error), raw)) from None
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            reason = f"it has not the form of a chat completion: {said(error)}"
            raise self._unusable(position, identity, UnusableReply(reason, raw)) from None
        self.counts["answered"] += 1
        self._server_is_known = self._server_is_known or turn.shows_enough(kept)
        try:
            self._cache.put(identity, kept)
        except EntropySentinelError as error:
            return kept, error
        return kept, None

    def _unusable(self, position: int, identity: Mapping[str, Any], reply: UnusableReply) -> EntropySentinelError:
        """Put a reply of no use aside; the error that tells where."""
        self.counts["answered"] += 1
        path = self._cache.put_aside(identity, storable(reply.raw), str(reply))
        return EntropySentinelError(
            f"{self.name}: {self._sender.address} gave a reply to request {position} (from 0) that cannot be used: "
            f"{reply}; it lies in {path}; a restart asks again"
        )

    def _too_many_refusals(self, refusal: Refusal) -> EntropySentinelError | None:
        """Count a refusal; the error where nothing was answered and prompts cannot be what is wrong."""
        self.counts["refused"] += 1
        self._too_long += refusal.too_long
        if self.counts["answered"] or self.counts["cached"] or self._too_long < FIRST_REFUSALS:
            return None
        return EntropySentinelError(
            f"{self.name}: {self._sender.address} refused {FIRST_REFUSALS} requests as too long and answered none: "
            f"{refusal.reason}; ask for fewer tokens, or serve the model with a longer context"
        )
