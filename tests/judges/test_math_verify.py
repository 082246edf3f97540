"""What judges say: math-verify's rules (exact_cases.yaml), and pairs that are easy to misjudge, or often misjudged."""

from pathlib import Path

import pytest
import yaml

from entropy_sentinel.judges.judge_interface import Case, Verdict
from entropy_sentinel.judges.math_verify import MathVerifyJudge
from entropy_sentinel.judges.text_judges import ChoiceJudge, ExactJudge

FOLDER = Path(__file__).parent
RULES = yaml.safe_load((FOLDER / "exact_cases.yaml").read_text())
PAIRS = [
    pair
    for file in ("adversarial_pairs", "public_pairs")
    for pair in yaml.safe_load((FOLDER / f"{file}.yaml").read_text())
]
LABELS = {True: "correct", False: "incorrect"}


def name(pair: dict) -> str:
    return f"{pair['ref']} <- {pair.get('box', pair.get('text'))}"


def judged(pair: dict) -> Verdict:
    response = pair["text"] if "text" in pair else f"So the answer is $\\boxed{{{pair['box']}}}$."
    case = Case(pair.get("question", "?"), response, pair["ref"], truncated=pair.get("cut", False))
    other = {"choice": ChoiceJudge, "exact": ExactJudge}.get(pair.get("judge"))
    (verdict,) = (other() if other else MathVerifyJudge(pair.get("tolerance"))).judge([case])
    return verdict


@pytest.mark.parametrize("pair", RULES, ids=map(name, RULES))
def test_rules(pair: dict) -> None:
    verdict = judged(pair)
    assert LABELS.get(verdict.label, verdict.reason) == pair["verdict"], f"{pair['why']}; compared {verdict.answer!r}"


@pytest.mark.parametrize("pair", PAIRS, ids=map(name, PAIRS))
def test_pairs_that_are_easy_to_misjudge(pair: dict) -> None:
    verdict = judged(pair)
    assert verdict.label is pair.get("said", pair["label"]), f"{pair.get('why')}; {verdict.answer!r}, {verdict.reason}"
    assert (verdict.reason is None) == (verdict.label is not None)


@pytest.mark.parametrize("digits", ["7" * 5_000, "1" + "0" * 4_999])
def test_more_digits_than_anybody_means_are_not_read(digits: str) -> None:
    assert judged({"ref": "12", "box": digits}).reason == "answer has more than 2,000 characters"
    assert judged({"ref": digits, "box": "12"}).reason == "reference has more than 2,000 characters"
