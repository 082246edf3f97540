"""Answers that a judge has trouble with: `answers.yaml`."""

from collections.abc import Iterator

import pytest
from attack_cases import Case, cases, text

from entropy_sentinel.judges.judge_interface import Case as Shown
from entropy_sentinel.judges.separate_process import SeparateProcess, make

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def judge() -> Iterator[SeparateProcess]:
    with make({}) as judge:
        yield judge


@pytest.mark.long
@cases("answers.yaml")
def test_answers(case: Case, judge: SeparateProcess) -> None:
    shown = Shown("?", text(case["response"]), text(case["reference"]), truncated=case.get("cut", False))
    # Between two plain ones: whatever an answer does, it does to itself alone.
    plain = Shown("?", "\\boxed{7}", "7", truncated=False)
    before, result, after = judge.judge([plain, shown, plain])
    assert (before.label, after.label) == (True, True)
    assert (result.label is None) == (result.reason is not None)
    assert result.label in case["expect"]["label"], result
