"""The progress of a generation job, as lines for its log, including unfinished responses.

A batch of a hundred responses can run for minutes before one of them ends, especially on a CPU. So tokens count as soon
as they are generated, and the remaining time is shown only if it is known.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from entropy_sentinel.formatting.text_format import format_count

log = logging.getLogger(__name__)

# The interval between lines in the log.
LINE_SECONDS = 60.0


class Progress:
    """The progress of `total` responses."""

    def __init__(self, total: int, longest: int | None, under_way: Callable[[], Sequence[int]]) -> None:
        """`longest` is the largest number of tokens of a response; None if unknown.

        `under_way` returns the number of tokens so far of each running response
        (`study.engines.engine_interface.Engine`).
        """
        self._total, self._longest, self._under_way = total, longest, under_way
        self._done = self._tokens = 0
        self._start = self._last = time.monotonic()
        # At the previous line: all tokens, and the running responses.
        self._earlier_tokens = self._earlier_running = 0

    def count_response(self, tokens: int) -> None:
        """Count a response that has ended."""
        self._done, self._tokens = self._done + 1, self._tokens + tokens

    def format_line(self) -> str:
        """A line with the progress, and the speed since the previous line."""
        now = time.monotonic()
        lengths = list(self._under_way())[: self._total - self._done]
        tokens = self._tokens + sum(lengths)
        speed = max(tokens - self._earlier_tokens, 0) / max(now - self._last, 1e-9)
        remaining = self._format_remaining(lengths, speed)
        self._earlier_tokens, self._earlier_running, self._last = tokens, len(lengths), now
        running = (
            f", {len(lengths):,} under way with {format_count(sum(lengths), 'token')} so far" if any(lengths) else ""
        )
        return f"{self._done:,} of {format_count(self._total, 'response')}{running}; {_format_speed(speed)}{remaining}"

    def format_summary(self) -> str:
        """A line with the total work and its speed."""
        seconds = max(time.monotonic() - self._start, 1e-9)
        counts = f"{self._done:,} of {format_count(self._total, 'response')}: {format_count(self._tokens, 'token')}"
        return f"{counts} in {seconds:,.0f} s, {_format_speed(self._tokens / seconds)}"

    def _format_remaining(self, lengths: Sequence[int], speed: float) -> str:
        """The remaining time, from the tokens so far of each running response; empty if it is not yet known."""
        n_remaining, n_running = self._total - self._done, len(lengths)
        if not speed or not n_running:
            return ""
        if n_remaining == n_running:  # none is waiting
            # Each gets a token per step, so all end, at the latest, when the shortest one has `longest` tokens.
            if self._longest is None:
                return ""
            # Tokens per second of each running response. The speed is over the time since the previous line, when more
            # may have run: the larger number gives fewer steps per second, and so never too short a time.
            steps_per_s = speed / max(n_running, self._earlier_running)
            return f", at most {(self._longest - min(lengths)) / steps_per_s:,.0f} s left"
        # Short responses end first: until as many have ended as are running, their mean length is too small.
        if self._done < n_running:
            return ""
        # The waiting ones are assumed to become as long as those that have ended.
        tokens = max(n_remaining * self._tokens / self._done - sum(lengths), 0)
        return f", about {tokens / speed:,.0f} s left"


@contextmanager
def log_progress(progress: Progress) -> Iterator[None]:
    """Write a line to the log at intervals while the block runs, and a summary at its end unless it fails."""
    ended = threading.Event()

    def write_lines() -> None:
        while not ended.wait(LINE_SECONDS):
            log.info("%s", progress.format_line())

    thread = threading.Thread(target=write_lines, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    log.info("%s", progress.format_summary())


def _format_speed(speed: float) -> str:
    """Tokens per second, with one decimal if slow."""
    number = round(speed) if speed >= 10 else round(speed, 1)
    return f"{format_count(int(number) if number == int(number) else number, 'token')}/s"
