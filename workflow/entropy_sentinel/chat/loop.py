"""The event loop in which all requests of this process run."""

import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from anyio.from_thread import BlockingPortal, BlockingPortalProvider

_PORTALS = BlockingPortalProvider()
_TURN = threading.Lock()
_rounds = 0


@contextmanager
def shared_loop(close: Callable[[], Awaitable[None]]) -> Iterator[BlockingPortal]:
    """The loop while the block runs; its connections are closed by `close` where no other thread needs them.

    LiteLLM keeps the connections of all its users together, and can only close them all.
    """
    global _rounds
    with _TURN:
        portal = _PORTALS.__enter__()
        _rounds += 1
    try:
        yield portal
    finally:
        with _TURN:
            _rounds -= 1
            if not _rounds:
                portal.call(close)
            _PORTALS.__exit__(None, None, None)
