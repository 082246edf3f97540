"""The rules of the exact judge, as a table: exact_cases.yaml."""

from pathlib import Path

import pytest
import yaml

from entropy_sentinel.judges.judge import Case
from entropy_sentinel.judges.math_verify import MathVerifyJudge

CASES = yaml.safe_load((Path(__file__).parent / "exact_cases.yaml").read_text())
LABELS = {True: "correct", False: "incorrect"}


@pytest.mark.parametrize("case", CASES, ids=[f"{one['ref']} <- {one.get('box', one.get('text'))}" for one in CASES])
def test_verdict(case: dict) -> None:
    response = case.get("text", "").replace("\\n", "\n") or f"So the answer is $\\boxed{{{case['box']}}}$."
    judge = MathVerifyJudge(case.get("tolerance"))
    verdict = judge.judge([Case("?", response, case["ref"], truncated=case.get("cut", False))])[0]
    assert LABELS.get(verdict.label, verdict.reason) == case["verdict"], f"{case['why']}; compared {verdict.answer!r}"
