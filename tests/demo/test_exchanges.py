"""What the tiny judge was trained on: verdicts that follow from the two numbers, and nothing of the demo's tests."""

import itertools
import json
import random
import re
from collections import Counter
from pathlib import Path

import pytest

from entropy_sentinel.config.config import load_config, read_config
from exchanges import PROMPT, Answer, exchange, exchanges, final_number, near_miss, rewritten, solved

ROOT = Path(__file__).parents[2]


def value(shown: str) -> float | None:
    """What a person reads as the final answer: the number of the box, or the last one after `Answer:`."""
    _, _, said = shown.rpartition("Answer:")
    found = re.findall(r"\d[\d,]*\.?\d*", said)
    return float(found[-1].replace(",", "")) if "Answer:" in shown and found else None


def test_prompt_is_that_of_the_demo() -> None:
    config = load_config(read_config([ROOT / "config.yaml", ROOT / "demo" / "config.yaml"]))
    prompt = config.judge_prompts[config.judges["tiny-judge"].prompt]
    assert prompt.chat == [{"role": "user", "content": PROMPT}]


def test_verdicts_follow_from_the_numbers() -> None:
    responses = [Answer("3+4=8. Answer: \\boxed{8}", "8", "7"), Answer("I do not know.", None, "7")]
    replies = Counter()
    for message, reply in itertools.islice(exchanges(responses, seed=3), 5_000):
        response, reference = re.fullmatch(r"Response: (.*)\nCorrect answer: (\d+)", message, re.DOTALL).groups()
        said = json.loads(reply)
        assert list(said) == ["success"]
        assert said["success"] == (value(response) == float(reference)), message
        replies[said["success"]] += 1
    # Half of what ends in a number is right: 0.75 of 0.97.
    assert 0.3 < replies[True] / 5_000 < 0.45


def test_no_worked_solution_is_of_a_test_item() -> None:
    items = [
        json.loads(line)
        for path in (ROOT / "demo" / "benchmarks").glob("*.jsonl")
        for line in path.read_text().splitlines()
    ]
    solutions = {(one.response, one.reference) for one in itertools.islice(solved(0), 5_000)}
    # A product or a remainder alone does not say of which problem it is.
    worked = {(row["solution"], row["answer"]) for row in items if "solution" in row and "=" in row["solution"]}
    numbers = {pair for pair in solutions & worked if pair[0].count("=") > 1}
    assert len(worked) > 1_000
    assert not numbers


@pytest.mark.parametrize("number", ["0", "7", "10", "100", "579", "1000"])
def test_near_misses_are_other_numbers(number: str) -> None:
    rng = random.Random(number)
    misses = {near_miss(number, f"1000-421={number}. Answer: \\boxed{{{number}}}", rng) for _ in range(300)}
    assert len(misses) > 5
    assert number not in misses
    assert all(str(int(miss)) == miss for miss in misses)


def test_other_notations_are_of_the_same_number() -> None:
    rng, one = random.Random(0), Answer("18*69=1242. Answer: \\boxed{1242}", "1242", "1242")
    shown = {rewritten(one, rng) for _ in range(200)}
    assert {value(text) for text in shown} == {1242.0}
    assert "18*69=1242. Answer: \\boxed{1,242}" in shown
    assert "18*69=1242. Answer: 1242." in shown


def test_an_answer_that_is_cut_off_is_not_correct() -> None:
    one = Answer("4+5=9. Answer: \\boxed{9}", "9", "9")
    rng = random.Random(0)
    cut = [verdict for shown, _, verdict in (exchange(one, rng) for _ in range(2_000)) if "9}" not in shown]
    assert final_number("4+5=9. Answer: \\bo") is None
    assert final_number("\\boxed{4} \\boxed{5}") == "5"
    assert any(cut)  # unboxed ones may be right
    assert not all(cut)
    assert not any(exchange(Answer("4+5=9. Answer:", None, "9"), rng)[2] for _ in range(20))
