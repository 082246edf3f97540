"""Answers that a judge has trouble with: `answers.yaml`."""

import multiprocessing
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

import pytest
from attack_cases import Case, cases, text

from entropy_sentinel.judges.judge import Case as Shown
from entropy_sentinel.judges.judge import Verdict

pytestmark = pytest.mark.slow

SPAWN = multiprocessing.get_context("spawn")
# math-verify gives an answer a few seconds, in several steps.
ANSWER_LIMIT_S = 20


def _judge(pipe: Connection) -> None:
    """In a process of its own: judge what comes, until nothing does."""
    from entropy_sentinel.judges.math_verify import MathVerifyJudge

    judge = MathVerifyJudge()
    while shown := pipe.recv():
        pipe.send(judge.judge(shown))


class Judge:
    """The judge in another process: math-verify computes in C, where no alarm of ours reaches it."""

    def __init__(self) -> None:
        self.process: Any = None

    def judge(self, shown: list[Shown]) -> list[Verdict]:
        if self.process is None:
            self.pipe, other = SPAWN.Pipe()
            self.process = SPAWN.Process(target=_judge, args=(other,), daemon=True)
            self.process.start()
        self.pipe.send(shown)
        if not self.pipe.poll(ANSWER_LIMIT_S):
            self.stop()
            pytest.fail(f"not judged after {ANSWER_LIMIT_S} s")
        return self.pipe.recv()

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
            self.process = None


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    judge = Judge()
    yield judge
    judge.stop()


@cases("answers.yaml")
def test_answers(case: Case, judge: Judge) -> None:
    shown = Shown("?", text(case["response"]), text(case["reference"]), truncated=case.get("cut", False))
    # Between two plain ones: whatever an answer does, it does to itself alone.
    plain = Shown("?", "\\boxed{7}", "7", truncated=False)
    before, found, after = judge.judge([plain, shown, plain])
    assert (before.label, after.label) == (True, True)
    assert (found.label is None) == (found.reason is not None)
    assert found.label in case["expect"]["label"], found
