"""What the log of a generation job says while a batch is under way; numbers are worked out by hand."""

import logging
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from test_generation import CountingEngine, generate, response

from entropy_sentinel.study.engines.engine_interface import Response
from entropy_sentinel.study.stages import generation_progress as progress
from entropy_sentinel.study.stages import generation_stage
from entropy_sentinel.study.stages.generation_progress import Progress


class Clock:
    """Seconds that pass when a test says so, and the responses under way."""

    def __init__(self) -> None:
        self.now, self.lengths = 1000.0, []

    def after(self, seconds: float, lengths: Sequence[int]) -> None:
        self.now, self.lengths = self.now + seconds, list(lengths)

    def progress(self, total: int, longest: int | None = 1024) -> Progress:
        return Progress(total, longest, lambda: self.lengths)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock.now)
    return clock


def test_tokens_of_responses_under_way_count(clock: Clock) -> None:
    """A batch of 60 on a CPU, which said `1 of 60 responses, 1 tokens/s, 6,785 s left` after two minutes.

    After 60 s each of 60 has 100 tokens: 6,000 in 60 s. 924 steps are left at most, at 100 / 60 steps a second. In the
    next 60 s one response ends with 150, the others have 220 each: 150 + 59 * 220 - 6,000 = 7,130 tokens, 118.8 a
    second; 804 steps of at most 60 tokens are left.
    """
    said = clock.progress(60)
    clock.after(60, [100] * 60)
    assert (
        said.format_line()
        == "0 of 60 responses, 60 under way with 6,000 tokens so far; 100 tokens/s, at most 554 s left"
    )
    said.count_response(150)
    clock.after(60, [220] * 59)
    assert (
        said.format_line()
        == "1 of 60 responses, 59 under way with 12,980 tokens so far; 119 tokens/s, at most 406 s left"
    )


def test_time_left_while_others_wait_is_known_once_a_batch_has_ended(clock: Clock) -> None:
    """100 requests, 10 at a time: nine that have ended are the shortest of the first ten, ten are a batch.

    9 of 40 tokens ended, 10 of 20 under way: 560 tokens in 10 s. Then one more of 40, and 10 of 30: 700 in all, 140 in
    10 s. The 90 that are left have 40 each in the mean, 3,600, of which 300 are there: 3,300 at 14 a second.
    """
    said = clock.progress(100)
    for _ in range(9):
        said.count_response(40)
    clock.after(10, [20] * 10)
    assert said.format_line() == "9 of 100 responses, 10 under way with 200 tokens so far; 56 tokens/s"
    said.count_response(40)
    clock.after(10, [30] * 10)
    assert (
        said.format_line() == "10 of 100 responses, 10 under way with 300 tokens so far; 14 tokens/s, about 236 s left"
    )


def test_the_last_ones_take_at_most_what_they_can_still_have(clock: Clock) -> None:
    """Of 4 that had 10 tokens each three end with 20: 100 - 20 = 80 steps are left, of one response.

    30 tokens and its own 10 came in 10 s while there were up to 4, so a second had a step at least.
    """
    said = clock.progress(4, longest=100)
    clock.after(10, [10] * 4)
    said.format_line()
    for _ in range(3):
        said.count_response(20)
    clock.after(10, [20])
    assert said.format_line() == "3 of 4 responses, 1 under way with 20 tokens so far; 4 tokens/s, at most 80 s left"


def test_where_only_a_server_knows_the_responses_under_way(clock: Clock) -> None:
    """8 requests at a time of 100. 8 of 50 tokens in 20 s: 92 of 50 are left, 4,600 at 20 a second."""
    said = clock.progress(100)
    said.count_response(50)
    clock.after(10, [0] * 8)
    assert said.format_line() == "1 of 100 responses; 5 tokens/s"
    for _ in range(7):
        said.count_response(50)
    clock.after(10, [0] * 8)
    assert said.format_line() == "8 of 100 responses; 35 tokens/s, about 131 s left"


def test_summary_is_of_the_whole_job(clock: Clock) -> None:
    said = clock.progress(2)
    said.count_response(1500)
    clock.after(50, [500])
    said.format_line()
    said.count_response(1000)
    clock.after(50, [])
    assert said.format_summary() == "2 of 2 responses: 2,500 tokens in 100 s, 25 tokens/s"


class SilentEngine(CountingEngine):
    """Three responses that all end at once, after the log has said something."""

    def __init__(self, said: threading.Event) -> None:
        super().__init__()
        self.said = said

    def answer(self, messages: Sequence[str], seeds: Sequence[int]) -> Iterator[tuple[int, Response]]:
        assert self.said.wait(30)
        yield from ((position, response(7)) for position in range(len(messages)))

    def under_way(self) -> list[int]:
        return [5, 5, 5]


def test_the_log_says_something_while_nothing_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.01)
    said = threading.Event()

    class Waiting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.set()

    handler = Waiting()
    progress.log.addHandler(handler)
    monkeypatch.setattr(generation_stage, "make_engine", lambda settings, threads: SilentEngine(said))
    try:
        generate(tmp_path, 3, samples=1)
    finally:
        progress.log.removeHandler(handler)
    lines = [record.message for record in caplog.records if record.name == progress.__name__]
    assert lines[0].startswith("0 of 3 responses, 3 under way with 15 tokens so far; ")
    assert re.fullmatch(r"3 of 3 responses: 21 tokens in \d+ s, [\d.,]+ tokens?/s", lines[-1])
    assert [thread.name for thread in threading.enumerate()].count("progress") == 0


def test_a_job_that_fails_has_no_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(generation_stage, "make_engine", lambda settings, threads: CountingEngine(1, RuntimeError))
    with pytest.raises(RuntimeError):
        generate(tmp_path, 3)
    assert not [record for record in caplog.records if record.name == progress.__name__]
