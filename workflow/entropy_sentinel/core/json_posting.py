"""Post JSON to a server. No error contains any part of the address or the headers, because they may be secret."""

import json
import queue
import threading
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from entropy_sentinel import __version__

# Limit for the whole request, from the look-up of the host's name to the answer.
TIMEOUT_S = 10.0
_SERVER_ERRORS = HTTPStatus.INTERNAL_SERVER_ERROR


class PostProblem(NamedTuple):
    """Why a request failed: the words for users, the status of the answer if there was one, whether time ran out.

    `wait_s` is how long the server asks to wait before another attempt.
    """

    words: str
    status: int | None = None
    timed_out: bool = False
    wait_s: float = 0.0

    @property
    def is_retryable(self) -> bool:
        """Whether the same request may succeed later: no answer, too many requests, an error of the server."""
        return self.status is None or self.status == HTTPStatus.TOO_MANY_REQUESTS or self.status >= _SERVER_ERRORS


def is_address(address: str) -> bool:
    """Whether an address is an HTTP or HTTPS URL of printable ASCII."""
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    return usable and address.isascii() and address.isprintable() and " " not in address


def send_json(content: Any, address: str, headers: Mapping[str, str] | None = None) -> PostProblem | None:
    """Post JSON; return why it failed, or None.

    It runs in a thread, because socket time-outs limit neither name look-ups nor slow answers.
    """
    all_headers = {
        "Content-Type": "application/json",
        "User-Agent": f"entropy-sentinel/{__version__}",
        **(headers or {}),
    }
    request = Request(address, json.dumps(content).encode(), all_headers)
    outcome: queue.SimpleQueue[PostProblem | None] = queue.SimpleQueue()
    threading.Thread(target=lambda: outcome.put(_send_request(request)), daemon=True).start()
    try:
        return outcome.get(timeout=TIMEOUT_S)
    except queue.Empty:
        return PostProblem(f"no answer within {TIMEOUT_S:g} seconds", timed_out=True)


class _NoRedirects(HTTPRedirectHandler):
    """Treats redirects as errors: they would lose the body, or send it elsewhere."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _send_request(request: Request) -> PostProblem | None:
    """Send the request; return why it failed, or None."""
    try:
        # This time-out is longer than the caller's, so that the caller reports it.
        build_opener(_NoRedirects).open(request, timeout=2 * TIMEOUT_S).close()
    except HTTPError as error:
        error.close()
        wait = error.headers.get("Retry-After") or ""
        phrase = f" {HTTPStatus(error.code).phrase}" if error.code in [*HTTPStatus] else ""
        return PostProblem(
            f"the server answered {error.code}{phrase}", error.code, wait_s=float(wait) if wait.isdecimal() else 0.0
        )
    except Exception as error:  # of any type: the other outputs must still be written
        return PostProblem(type(error.reason if isinstance(error, URLError) else error).__name__)
    return None
