"""Limit the size of a server's reply: an endless one would fill the memory, and a small one may unpack to gigabytes."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

# The part that does not depend on the length of a reply, and most bytes of a token: its text, or its alternatives too.
_BASE_BYTES, _PER_TOKEN, _PER_LOGPROBS = 16 * 2**20, 64, 8 * 2**10

_max_bytes: ContextVar[int | None] = ContextVar("most_bytes", default=None)


class ReplyTooLargeError(Exception):
    """A reply is larger than its request allows."""


def compute_max_bytes(request: Mapping[str, Any]) -> int:
    """The most bytes of the reply to a request, unpacked."""
    per_token = _PER_LOGPROBS if request.get("logprobs") else _PER_TOKEN
    return _BASE_BYTES + per_token * int(request.get("max_tokens") or 0) * int(request.get("n") or 1)


@contextmanager
def limit_reply_size(n_bytes: int) -> Iterator[None]:
    """Limit the bytes, unpacked, of each reply that is read in the block, in this task and those that it starts."""
    token = _max_bytes.set(n_bytes)
    try:
        yield
    finally:
        _max_bytes.reset(token)


def limit_transports(handler: Any) -> None:
    """Have LiteLLM's HTTP `handler` make transports that heed `limit_reply_size`, which only this package calls."""
    create = handler.create_async_transport
    if getattr(create, "has_limit", False):
        return

    def create_with_limit(*args: Any, **options: Any) -> Any:
        transport = create(*args, **options)
        if transport is not None:
            transport.handle_async_request = _limit_responses(transport.handle_async_request)
        return transport

    create_with_limit.has_limit = True  # type: ignore[attr-defined]  # a mark on a function
    handler.create_async_transport = staticmethod(create_with_limit)


def _limit_responses(handle: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A transport's function `handle`, whose responses raise ReplyTooLargeError above the limit of the block."""

    async def handle_with_limit(request: Any) -> Any:
        response = await handle(request)
        await limit_response_size(response)
        return response

    return handle_with_limit


async def limit_response_size(response: Any) -> None:
    """Have an `httpx.Response` raise ReplyTooLargeError above the limit of the block: `limit_reply_size`."""
    n_bytes = _max_bytes.get()
    if n_bytes is None:
        return
    read = response.aiter_bytes

    async def read_up_to_limit(chunk_size: int | None = None) -> AsyncIterator[bytes]:
        size = 0
        async for part in read(chunk_size):
            size += len(part)
            if size > n_bytes:
                raise ReplyTooLargeError(f"it has more than {n_bytes:,} bytes, for max_tokens far too many")
            yield part

    response.aiter_bytes = read_up_to_limit
