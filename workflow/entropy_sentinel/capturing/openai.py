"""The transport of an OpenAI client: requests log-probabilities and writes the replies.

Everything that a client sends goes through its transport: plain calls, `parse`, streams, raw responses, and copies made
by `with_options`.
"""

import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import openai

from entropy_sentinel.capturing.records import Keep, ending, kept
from entropy_sentinel.capturing.requests import TOP_LOGPROBS, with_logprobs
from entropy_sentinel.capturing.streams import joined
from entropy_sentinel.capturing.writer import LogWriter
from entropy_sentinel.frames.errors import InputError

if TYPE_CHECKING:
    import httpx
else:
    # Version 3 of the client is built on httpx2, which has the names of httpx.
    httpx = import_module(openai.DefaultHttpxClient.__base__.__module__.partition(".")[0])

log = logging.getLogger(__name__)

Client = TypeVar("Client")
PATHS = ("/completions", "/responses")
STREAM = "text/event-stream"
REFUSED = (400, 422)


@dataclass(frozen=True)
class Exchange:
    """A request and its reply; `body` has the bytes as received."""

    request: Mapping[str, Any]
    body: bytes
    headers: httpx.Headers
    metadata: Mapping[str, Any]

    def records(self, keep: Keep) -> list[dict[str, Any]]:
        """Return records in the format `openai-pairs`; none for a stream that ended before its first chunk."""
        body = httpx.Response(200, headers=self.headers, content=self.body).content
        response = joined(body) if self.headers.get("content-type", "").startswith(STREAM) else json.loads(body)
        metadata = {**self.metadata, **(self.request.get("metadata") or {})}
        if response is None:
            return []
        return kept({"metadata": metadata, "request": self.request, "response": response}, keep)


def capture(
    client: Client,
    folder: str | Path,
    *,
    top_logprobs: int = TOP_LOGPROBS,
    keep: Keep = "texts",
    metadata: Mapping[str, str | int | float | bool] | None = None,
) -> Client:
    """Write every reply that an OpenAI client receives to logs, and request log-probabilities.

    Requests never wait for the disk or fail because of it: replies that cannot be written are dropped and counted,
    with a warning. If a server refuses the added log-probabilities, the request is resent unchanged. Failed requests
    are not written. Keys and other secrets are written as `***`.

    Args:
        client: `openai.OpenAI`, `openai.AsyncOpenAI` or a subclass (Azure's too); it is changed in place.
        folder: For `DAY.jsonl.gz`, a file a day (UTC) and process. `monitor` and `read_logs` take the folder.
        top_logprobs: Alternatives per token, if the request does not set the number.
        keep: `texts` writes requests and replies. `features` writes the 17 features of each response, its length, its
            finish reason and its columns: no texts and no tokens, in `DAY.features.jsonl.gz`.
        metadata: Columns for all replies of this client, such as `{"route": "billing"}`, from which slices can be
            made. A request's own `metadata` is added, and replaces values of the same name.

    Returns:
        The same client.

    Raises:
        InputError: If `client` is not an OpenAI client, or if the folder cannot be created.

    Examples:
        >>> import entropy_sentinel as es
        >>> from openai import OpenAI
        >>> client = es.capture(OpenAI(api_key="..."), "logs", metadata={"route": "billing"})  # doctest: +SKIP
    """
    inner = getattr(client, "_client", None)
    if not isinstance(inner, httpx.Client | httpx.AsyncClient):
        raise InputError(f"capture: `client` must be an OpenAI or AsyncOpenAI client, was {type(client).__name__}")
    shared = (
        _Asking(top_logprobs),
        LogWriter(folder, partial(Exchange.records, keep=keep), ending(keep)),
        dict(metadata or {}),
    )

    def capturing(transport: Any) -> Any:
        if isinstance(transport, httpx.BaseTransport):
            return _Transport(transport, *shared)
        return transport and _AsyncTransport(transport, *shared)

    # httpx has no public way to change the transport of a client; OpenTelemetry's instrumentation does the same.
    inner._transport = capturing(inner._transport)
    inner._mounts = {pattern: capturing(transport) for pattern, transport in inner._mounts.items()}
    return client


@dataclass
class _Asking:
    """Adds log-probabilities to requests, except for models whose server refused them."""

    top_logprobs: int
    refused: set[str] = field(default_factory=set)

    def body(self, request: httpx.Request) -> dict[str, Any] | None:
        """Return the body of a request for a model's answer; None for any other request."""
        if request.method != "POST" or not request.url.path.endswith(PATHS):
            return None
        try:
            body = json.loads(request.content)
        except (ValueError, httpx.RequestNotRead):
            return None
        return body if isinstance(body, dict) else None

    def added(self, request: httpx.Request, body: dict[str, Any]) -> httpx.Request | None:
        """Return the request with log-probabilities added; None if there is nothing to add."""
        wanted = with_logprobs(body, request.url.path, self.top_logprobs)
        if wanted == body or body.get("model") in self.refused:
            return None
        headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"content-length"]
        return httpx.Request(request.method, request.url, headers=headers, json=wanted, extensions=request.extensions)

    def refuse(self, body: dict[str, Any]) -> None:
        """Record that a model's server refuses added log-probabilities."""
        self.refused.add(str(body.get("model")))
        log.warning("%s: its server refuses log-probabilities, so they are no longer requested", body.get("model"))


@dataclass
class _Capturing:
    """The common part of the two transports."""

    inner: Any
    asking: _Asking
    writer: LogWriter
    metadata: Mapping[str, Any]

    def written(self, body: dict[str, Any], headers: httpx.Headers) -> Callable[[bytes], None]:
        """Return the function that passes the bytes of a reply to the log."""
        return lambda received: self.writer.put(Exchange(body, received, headers, self.metadata))


class _Transport(_Capturing, httpx.BaseTransport):
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if (body := self.asking.body(request)) is None:
            return cast(httpx.Response, self.inner.handle_request(request))
        added = self.asking.added(request, body)
        response: httpx.Response = self.inner.handle_request(added or request)
        if added and response.status_code in REFUSED:
            response.close()
            response = self.inner.handle_request(request)
            if response.status_code == 200:
                self.asking.refuse(body)
        if response.status_code == 200:
            response.stream = _Stream(response.stream, self.written(body, response.headers))
        return response

    def close(self) -> None:
        self.inner.close()


class _AsyncTransport(_Capturing, httpx.AsyncBaseTransport):
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if (body := self.asking.body(request)) is None:
            return cast(httpx.Response, await self.inner.handle_async_request(request))
        added = self.asking.added(request, body)
        response: httpx.Response = await self.inner.handle_async_request(added or request)
        if added and response.status_code in REFUSED:
            await response.aclose()
            response = await self.inner.handle_async_request(request)
            if response.status_code == 200:
                self.asking.refuse(body)
        if response.status_code == 200:
            response.stream = _AsyncStream(response.stream, self.written(body, response.headers))
        return response

    async def aclose(self) -> None:
        await self.inner.aclose()


@dataclass
class _Tee:
    """Passes the bytes of a reply to the client, and writes them when the reply ends or the client leaves it."""

    inner: Any
    write: Callable[[bytes], None]
    received: list[bytes] = field(default_factory=list)

    def end(self) -> None:
        received, self.received = self.received, []
        if received:
            self.write(b"".join(received))


class _Stream(_Tee, httpx.SyncByteStream):
    def __iter__(self) -> Iterator[bytes]:
        for part in self.inner:
            self.received.append(part)
            yield part

    def close(self) -> None:
        self.inner.close()
        self.end()


class _AsyncStream(_Tee, httpx.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self.inner:
            self.received.append(part)
            yield part

    async def aclose(self) -> None:
        await self.inner.aclose()
        self.end()
