"""Post several contents to one server, several at once, and give up when the server takes none of them."""

import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from entropy_sentinel.core.json_posting import PostProblem, send_json

# Requests at once.
_CONCURRENCY = 8
# Give up after so many failures in a row: before the server took anything, and after.
_FAILURES_AT_FIRST, _FAILURES_LATER = 3, 3 * _CONCURRENCY
# The address or the keys are wrong, for every content.
_REFUSALS = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)
# Pause before the second attempt, doubled for each further one; a server may ask for a longer one, up to a limit.
_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 60.0


@dataclass
class Delivery:
    """What a server took: why each content failed, "" if it did not; and whether the rest was not tried."""

    problems: list[str]
    gave_up: bool
    n_requests: int

    @property
    def n_failed(self) -> int:
        """The number of contents that the server did not take."""
        return sum(map(bool, self.problems))

    @property
    def words(self) -> str:
        """The first problem, and whether the rest was not tried."""
        first = next(filter(None, self.problems), "")
        requests = "1 request" if self.n_requests == 1 else f"{self.n_requests:,} requests"
        return f"{first}; gave up after {requests}" if self.gave_up else first


@dataclass
class _Server:
    """What the server did so far; shared by the threads."""

    n_accepted: int = 0
    n_requests: int = 0
    n_consecutive_failures: int = 0
    stop_reason: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def record(self, problem: PostProblem | None) -> None:
        """Count a request, which failed unless `problem` is None; set `stop_reason` if others would fail as well."""
        with self.lock:
            self.n_requests += 1
            if problem is None:
                self.n_accepted += 1
                self.n_consecutive_failures = 0
                return
            self.n_consecutive_failures += 1
            most = _FAILURES_LATER if self.n_accepted else _FAILURES_AT_FIRST
            # A server that lets the first request wait in vain would let each one wait.
            silent = problem.timed_out and not self.n_accepted
            if silent or problem.status in _REFUSALS or self.n_consecutive_failures >= most:
                self.stop_reason = problem.words


def post_each(contents: Sequence[Any], address: str, headers: Mapping[str, str], attempts: int) -> Delivery:
    """Post each of the contents, with several attempts where another may succeed.

    The first one goes alone, so that wrong keys cost one request and a silent server one time-out.
    """
    server = _Server()

    def send(content: Any) -> str:
        """Send one content with retries; the problem in words, empty if the server accepted it."""
        words = server.stop_reason
        wait_s = 0.0  # how long the server asks to wait
        for attempt in range(attempts):
            if server.stop_reason:
                break
            if attempt:
                time.sleep(max(_PAUSE_S * 2 ** (attempt - 1), min(wait_s, _LONGEST_PAUSE_S)))
            problem = send_json(content, address, headers)
            server.record(problem)
            if problem is None:
                return ""
            words = problem.words
            wait_s = problem.wait_s
            if not problem.is_retryable:
                break
        return words

    problems = [send(content) for content in contents[:1]]
    with ThreadPoolExecutor(_CONCURRENCY) as pool:
        problems += pool.map(send, contents[1:])
    return Delivery(problems, gave_up=bool(server.stop_reason), n_requests=server.n_requests)
