"""Pairs that are easy to misjudge, labelled by hand: adversarial_pairs.yaml."""

from pathlib import Path

import pytest
import yaml

from entropy_sentinel.judges.judge import Case
from entropy_sentinel.judges.math_verify import MathVerifyJudge

PAIRS = yaml.safe_load((Path(__file__).parent / "adversarial_pairs.yaml").read_text())


def name(pair: dict) -> str:
    return f"{pair['ref']} <- {pair.get('box', pair.get('text'))}"


@pytest.mark.parametrize("pair", PAIRS, ids=map(name, PAIRS))
def test_verdict(pair: dict) -> None:
    response = pair["text"] if "text" in pair else f"So the answer is $\\boxed{{{pair['box']}}}$."
    judge = MathVerifyJudge(pair.get("tolerance"))
    [verdict] = judge.judge([Case(pair.get("question", "?"), response, pair["ref"], truncated=False)])
    assert verdict.label is pair.get("said", pair["label"]), f"{pair['why']}; {verdict.answer!r}, {verdict.reason}"
    assert (verdict.reason is None) == (verdict.label is not None)
