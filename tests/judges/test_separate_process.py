"""A judge in a process of its own: what it does not come back from is null, and the next case is judged."""

import os
import time
from collections.abc import Sequence

import pytest

from entropy_sentinel.core.errors import EntropySentinelError
from entropy_sentinel.judges.judge_interface import Case, Verdict
from entropy_sentinel.judges.separate_process import SeparateProcess


class Obedient:
    """Does what the response says."""

    software = "obedient 1"

    def __init__(self, answer: str) -> None:
        self.answer = answer

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        [case] = cases
        if case.response == "compute":
            pow(9, 9**9**9)  # in C: no signal is handled before it ends
        if case.response == "print":
            print("a library that talks")
        if case.response == "end":
            os._exit(3)
        return [Verdict(True, answer=self.answer)]


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(__file__))
    with SeparateProcess(Obedient, "42", limit_s=1) as judge:
        yield judge


def test_verdicts_come_back_as_they_are(judge: SeparateProcess) -> None:
    assert judge.software == "obedient 1"
    assert judge.judge([Case("?", "print é\n", "1", truncated=False)]) == [Verdict(True, answer="42")]


@pytest.mark.slow
def test_a_case_without_end_is_null_and_the_next_is_judged(judge: SeparateProcess) -> None:
    start = time.monotonic()
    endless, print_, end, after = judge.judge(
        [Case("?", response, "1", truncated=False) for response in ("compute", "print", "end", "plain")]
    )
    assert endless == Verdict(None, reason="comparison took more than 1 s")
    assert end == Verdict(None, reason="the comparison ended its process")
    assert print_.label is True
    assert after.label is True
    assert time.monotonic() - start < 20


def test_a_process_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(__file__))
    with pytest.raises(EntropySentinelError, match="_missing.*did not start: ModuleNotFoundError: .*no_such_judge"):
        SeparateProcess(_missing)


def _missing() -> Obedient:
    import no_such_judge

    return no_such_judge.Judge()
