"""The transport of an OpenAI client: requests log-probabilities and writes the replies.

Everything that a client sends goes through its transport: plain calls, `parse`, streams, raw responses, and copies made
by `with_options`.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import openai

from entropy_sentinel.capture.logprobs_negotiation import LogprobsAttempt, LogprobsNegotiator, RequestKind
from entropy_sentinel.capture.logprobs_requests import TOP_LOGPROBS, check_top_logprobs
from entropy_sentinel.capture.quick_json import format_line, is_finite, parse_json
from entropy_sentinel.capture.record_forms import Keep, choose_suffix, select_records
from entropy_sentinel.capture.record_writer import LogWriter, Record
from entropy_sentinel.capture.service_columns import check_columns, get_columns, merge_columns
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.logs.envelopes import LOGPROBS_REFUSED
from entropy_sentinel.logs.stream_bodies import join_events

if TYPE_CHECKING:
    import httpx
else:
    # Version 3 of the client is built on httpx2, which has the names of httpx.
    httpx = import_module(openai.DefaultHttpxClient.__base__.__module__.partition(".")[0])

Client = TypeVar("Client")
PATHS = ("/completions", "/responses")
STREAM = "text/event-stream"
# The header in which OpenAI's client counts its retries of a request.
RETRY = "x-stainless-retry-count"


@dataclass(frozen=True)
class Exchange:
    """A request and its reply; `body` has the bytes as received, and `refusal` why log-probabilities are missing."""

    request: Mapping[str, Any]
    body: bytes
    headers: Sequence[tuple[bytes, bytes]]
    metadata: Mapping[str, Any]
    refusal: str = ""

    def build_records(self, keep: Keep, reply_only: bool = False) -> Sequence[Record]:
        """Records in the format `openai-pairs`; none for a stream that ended before its first chunk.

        With `reply_only`, they have neither columns nor the request, one of which may be what cannot be written.
        """
        headers = httpx.Headers(list(self.headers))
        body = httpx.Response(200, headers=headers, content=self.body).content
        if headers.get("content-type", "").startswith(STREAM):
            response = join_events(body.decode(errors="replace"))
            is_surely_finite = False
        else:
            response, is_surely_finite = parse_json(body)
        if response is None:
            return []
        request = {"model": self.request.get("model")} if reply_only else self.request
        metadata = {} if reply_only else merge_columns(self.metadata, request.get("metadata"))
        record: dict[str, Any] = {"metadata": metadata, "request": request, "response": response}
        if self.refusal:
            record[LOGPROBS_REFUSED] = self.refusal
        records = select_records(record, keep)
        # A service waits for this: the usual reply becomes a line here, as fast as possible. The writer formats others.
        is_quick = is_surely_finite and keep == "texts" and is_finite([metadata, request])
        return [format_line(safe) for safe in records] if is_quick else records


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
    with a warning. If a server answers a request with added log-probabilities with an error, the request is sent again
    as it was, and the log says why the reply has none. Failed requests are not written. Keys and other secrets are
    written as `***`.

    Args:
        client: `openai.OpenAI`, `openai.AsyncOpenAI` or a subclass (Azure's too); it is changed in place.
        folder: For `DAY.jsonl.gz`, a file a day (UTC) and process. `monitor` and `read_logs` take the folder.
        top_logprobs: Alternatives per token, if the request does not set the number; 1 to 100.
        keep: `texts` writes requests and replies. `features` writes neither texts nor tokens but, in
            `DAY.features.jsonl.gz`, the 17 features of each response and further statistics of its log-probabilities,
            hashes of its words, its length, its finish reason, and its columns.
        metadata: Columns for all replies of this client, such as `{"route": "billing"}`, from which slices can be
            made. They are not sent. `es.tagged` adds columns to the replies of a block. A request's own `metadata`,
            which is sent, replaces values of the same name.

    Returns:
        The same client.

    Raises:
        InputError: If `client` is not an OpenAI client or is captured already in another way; for a number, column,
            `keep` or folder of another kind; or if the folder is not local or cannot be created.

    Examples:
        >>> import entropy_sentinel as es
        >>> from openai import OpenAI
        >>> client = es.capture(OpenAI(api_key="..."), "logs", metadata={"service": "shop"})  # doctest: +SKIP
    """
    inner = getattr(client, "_client", None)
    if not isinstance(inner, httpx.Client | httpx.AsyncClient):
        raise InputError(f"capture: `client` must be an OpenAI or AsyncOpenAI client, got {type(client).__name__}")
    check_columns({} if metadata is None else metadata, "metadata")
    negotiator = LogprobsNegotiator(check_top_logprobs(top_logprobs))
    writer = LogWriter.get_shared(folder, choose_suffix(keep))
    columns = dict(metadata or {})
    if isinstance(inner._transport, _CapturingTransport):
        earlier = inner._transport
        same_top = earlier.negotiator.top_logprobs == top_logprobs
        if not same_top or (earlier.writer, earlier.metadata, earlier.keep) != (writer, columns, keep):
            raise InputError(
                "capture: the connection of this client is captured already, in another way; copies by `with_options` "
                "share it. Give the client a connection of its own, or set columns with `es.tagged(route=...)`"
            )
        return client

    def wrap_transport(transport: Any) -> Any:
        """A transport that captures what goes through `transport`."""
        if transport is None:
            return None  # a URL pattern for which httpx uses no proxy
        if isinstance(transport, httpx.BaseTransport):
            return _Transport(transport, negotiator, writer, metadata=columns, keep=keep)
        return _AsyncTransport(transport, negotiator, writer, metadata=columns, keep=keep)

    # httpx has no public way to change the transport of a client; OpenTelemetry's instrumentation does the same.
    inner._transport = wrap_transport(inner._transport)
    inner._mounts = {pattern: wrap_transport(transport) for pattern, transport in inner._mounts.items()}
    return client


@dataclass
class _CapturingTransport:
    """The common part of the two transports."""

    inner: Any
    negotiator: LogprobsNegotiator
    writer: LogWriter
    metadata: Mapping[str, Any]
    keep: Keep

    def prepare_request(self, request: httpx.Request) -> "_CapturedRequest | None":
        """What to send for a request for a model's answer; None for any other request."""
        if request.method != "POST" or not request.url.path.endswith(PATHS):
            return None
        try:
            body = json.loads(request.content)
        except (ValueError, httpx.RequestNotRead):
            return None
        if not isinstance(body, dict):
            return None
        kind = RequestKind.from_body(request.url.netloc.decode(), request.url.path, body)
        is_retry = request.headers.get(RETRY, "0") != "0"
        attempt = self.negotiator.start_attempt(kind, body, is_retry)
        return _CapturedRequest(request, body, attempt, {**self.metadata, **get_columns()})

    def make_writer(self, captured: "_CapturedRequest", headers: httpx.Headers) -> Callable[[bytes], None]:
        """The function that passes the bytes of a reply to the log."""

        def write(received: bytes) -> None:
            """Queue the records of a reply, whose bytes these are, with its request."""
            exchange = Exchange(
                captured.body,
                body=received,
                headers=list(headers.raw),
                metadata=captured.metadata,
                refusal=captured.attempt.why,
            )
            self.writer.put(partial(Exchange.build_records, exchange, keep=self.keep), len(received))

        return write


@dataclass
class _CapturedRequest:
    """A request of the client with this `body`, what is sent instead of it, and the columns of its reply."""

    request: httpx.Request
    body: dict[str, Any]
    attempt: LogprobsAttempt
    metadata: Mapping[str, Any]

    @property
    def outgoing(self) -> httpx.Request:
        """The request to send."""
        if not self.attempt.has_added_logprobs:
            return self.request
        # The length is that of the client's own body.
        headers = [(name, value) for name, value in self.request.headers.raw if name.lower() != b"content-length"]
        return httpx.Request(
            self.request.method,
            self.request.url,
            headers=headers,
            json=self.attempt.body,
            extensions=self.request.extensions,
        )


class _Transport(_CapturingTransport, httpx.BaseTransport):
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request, again with another body while its server refuses it, and write the reply as it is read."""
        captured = self.prepare_request(request)
        if captured is None:
            return cast(httpx.Response, self.inner.handle_request(request))
        response: httpx.Response = self.inner.handle_request(captured.outgoing)
        while captured.attempt.is_refusal(response.status_code):
            captured.attempt.next_body(response.status_code, _read_answer(response))
            response = self.inner.handle_request(captured.outgoing)
        captured.attempt.record_final_status(response.status_code)
        if response.is_success:
            response.stream = _Stream(response.stream, self.make_writer(captured, response.headers))
        return response

    def close(self) -> None:
        self.inner.close()


class _AsyncTransport(_CapturingTransport, httpx.AsyncBaseTransport):
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request, again with another body while its server refuses it, and write the reply as it is read."""
        captured = self.prepare_request(request)
        if captured is None:
            return cast(httpx.Response, await self.inner.handle_async_request(request))
        response: httpx.Response = await self.inner.handle_async_request(captured.outgoing)
        while captured.attempt.is_refusal(response.status_code):
            captured.attempt.next_body(response.status_code, await _read_answer_async(response))
            response = await self.inner.handle_async_request(captured.outgoing)
        captured.attempt.record_final_status(response.status_code)
        if response.is_success:
            response.stream = _AsyncStream(response.stream, self.make_writer(captured, response.headers))
        return response

    async def aclose(self) -> None:
        await self.inner.aclose()


def _read_answer(response: httpx.Response) -> bytes:
    """What a server says to a request that it refuses; empty if that cannot be read."""
    try:
        return response.read()
    except Exception:
        return b""
    finally:
        response.close()


async def _read_answer_async(response: httpx.Response) -> bytes:
    """What a server says to a request that it refuses; empty if that cannot be read."""
    try:
        return await response.aread()
    except Exception:
        return b""
    finally:
        await response.aclose()


@dataclass
class _Tee:
    """Passes the bytes of a reply to the client, and writes them when the reply ends or the client leaves it."""

    inner: Any
    write: Callable[[bytes], None]
    received: list[bytes] = field(default_factory=list)

    def end(self) -> None:
        """Write what was received, once, even if the stream is closed several times."""
        received = self.received
        self.received = []
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
