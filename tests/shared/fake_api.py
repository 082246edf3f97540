"""An OpenAI-compatible server on loopback for tests, which answers as a function says."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

import pytest

# (status, headers, body, seconds until it is sent). The body is JSON content, bytes to be sent as they are, or an
# iterator of bytes, each sent when it comes.
Answer = tuple[int, Mapping[str, str], Any, float]

# LiteLLM silences this warning when it is imported; pytest undoes that after the test that does, and the modules that
# LiteLLM imports with its first request would fail in a later one.
quiet_litellm = pytest.mark.filterwarnings("ignore:Item '.*' on TypedDict class:UserWarning")


@dataclass
class FakeApi:
    """What was asked so far, and what to answer: `reply(request body, number of the request)`.

    `pages` are what a GET finds, JSON content by path; all others are not there.
    """

    reply: Callable[[dict[str, Any], int], Answer]
    base_url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    pages: dict[str, Any] = field(default_factory=dict)
    running: int = 0
    most_running: int = 0
    lock: Any = field(default_factory=threading.Lock)


# A server gives every reply an id of its own.
_IDS = count(1)


def completion(text: str = "42", steps: list[dict] | None = None, n_tokens: int | None = None) -> dict[str, Any]:
    """A chat completion; by default of three plain steps."""
    steps = [step() for _ in range(3)] if steps is None else steps
    return {
        "id": f"reply-{next(_IDS)}",
        "object": "chat.completion",
        "created": 1,
        "model": "tiny-2025",
        "system_fingerprint": "fp-7",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": "stop",
                "logprobs": {"content": steps} if steps else None,
            }
        ],
        "usage": {
            "prompt_tokens": 11,
            "completion_tokens": len(steps) if n_tokens is None else n_tokens,
            "total_tokens": 0,
        },
    }


def step(token: str = "a", logprob: float = -0.5, top: list[float] | None = None) -> dict[str, Any]:
    """One token of a completion; the others of its top 20 are at -2, -3, ... -20 unless `top` gives all."""
    top = [logprob, *(-float(rank) for rank in range(2, 21))] if top is None else top
    entries = [{"token": f"t{rank}", "bytes": [97], "logprob": value} for rank, value in enumerate(top)]
    return {"token": token, "bytes": [97], "logprob": logprob, "top_logprobs": entries}


def user(text: str) -> list[dict[str, str]]:
    """A chat of one user message."""
    return [{"role": "user", "content": text}]


def ok(body: Any, delay_s: float = 0.0) -> Answer:
    return 200, {}, body, delay_s


def pieces(content: Any) -> Iterator[bytes]:
    """The body of an answer as it is sent."""
    if isinstance(content, Iterator):
        yield from content
    else:
        yield content if isinstance(content, bytes) else json.dumps(content).encode()


def refusal(message: str, kind: str = "BadRequestError", code: Any = 400) -> Answer:
    """What OpenAI and vLLM say to a request that they will not answer."""
    return 400, {}, {"error": {"message": message, "type": kind, "param": None, "code": code}}, 0.0


@contextmanager
def fake_api(reply: Callable[[dict[str, Any], int], Answer]) -> Iterator[FakeApi]:
    """Serve until the block ends."""
    api = FakeApi(reply)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with api.lock:
                number = len(api.requests)
                api.requests.append(body)
                api.times.append(time.monotonic())
                api.keys.append(self.headers.get("Authorization"))
                api.paths.append(self.path)
                api.running += 1
                api.most_running = max(api.most_running, api.running)
            status, headers, content, delay_s = api.reply(body, number)
            time.sleep(delay_s)
            with api.lock:
                api.running -= 1
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            for piece in pieces(content):
                self.wfile.write(piece)
                self.wfile.flush()

        def do_GET(self) -> None:
            self.send_response(200 if self.path in api.pages else 404)
            self.end_headers()
            self.wfile.write(json.dumps(api.pages.get(self.path)).encode())

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: Any) -> None:
            """A client that has given up waiting is no failure of the test."""

    with Server(("127.0.0.1", 0), Handler) as server:
        api.base_url = f"http://127.0.0.1:{server.server_port}/v1"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield api
        finally:
            server.shutdown()
            thread.join()
