"""The family `iterative_prompting` by an engine that needs no model: a character is a token."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from asked_items import pass_settings, write_items
from fake_engine import FakeEngine, every
from papers.ambiguity.signal_families.iterative_prompting.iterative_prompting_family import IterativePrompting
from papers.ambiguity.signal_families.iterative_prompting.iterative_prompting_frames import ITERATIVE_PROMPTS
from papers.ambiguity.signal_families.iterative_prompting.requery.iterative_prompts import make_answer_prompt

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.core.section_base import merge_sections
from entropy_sentinel.schemas.signal_schema import signal_contract
from entropy_sentinel.signal_families.signal_registry import FAMILIES
from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.study.stages import engine_pass
from entropy_sentinel.study.stages.signal_stage import write_signals

PROMPT_3 = IterativePrompting().prompt
QUESTION = "Whose?"
PLAIN = {"prompt": "few", "prompt_version": 1}


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    one = FakeEngine(prompt=None)
    monkeypatch.setattr(engine_pass, "make_engine", lambda settings, threads: one)
    return one


def ask(
    folder: Path, responses: dict[str, list[str]], samples: int, **columns: list[Any]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of the pass, and of the signals made of it."""
    files = write_items(folder, responses, **columns)
    asked, output = str(folder / "study/passes/iterative_prompting/tiny/a.parquet"), str(folder / "signals.parquet")
    Path(asked).parent.mkdir(parents=True)
    section = {"samples": samples, "prompt": PROMPT_3}
    engine_pass.write_engine_pass(*files, pass_settings("iterative_prompting", section), 1, asked)
    write_signals("iterative_prompting", files[1], output, asked=asked)
    return ITERATIVE_PROMPTS.read(asked), signal_contract(FAMILIES["iterative_prompting"]).check(
        pl.read_parquet(output)
    )


def log_p(context: str, answer: str) -> float:
    """Of an answer's characters and the end, token 0, after a context."""
    before, tokens = [*map(ord, context)], [*map(ord, answer), 0]
    return float(sum(every([*before, *tokens[:place]])[token] for place, token in enumerate(tokens)))


def test_the_bound_is_that_of_the_definition_on_the_distinct_answers(tmp_path: Path, engine: FakeEngine) -> None:
    rows, signals = ask(tmp_path, {QUESTION: ["a", "b", " a\n", "c", "z"], "Who?": ["b"] * 4}, samples=4)
    answers = ["a", "b", "c"]  # of the first four
    own = [log_p(QUESTION, answer) for answer in answers]
    asked = {one: f"A possible answer to the question {QUESTION} is {one}.\nQ: {QUESTION}\nA:" for one in answers}
    given = {answer: [log_p(asked[answer], other) for other in answers] for answer in answers}
    first = rows.filter(item_id="a-000").sort("sample")
    assert first["answer"].to_list() == ["a", "b", "a", "c", None]
    assert first["distinct"].to_list() == [[0, 1, 3]] * 4 + [None]
    for row in first.head(4).iter_rows(named=True):
        assert row["logprob"] == pytest.approx(own[answers.index(row["answer"])], rel=1e-5)
        np.testing.assert_allclose(row["conditional_logprobs"], given[row["answer"]], rtol=1e-5)
    assert first["reason"][4] == "not among the first 4 of its item; only those are asked about"
    # The bound by loops over pairs, with probabilities normalised over the answers that were seen.
    mu = [math.exp(one) / sum(map(math.exp, own)) for one in own]
    then = [[math.exp(one) / sum(map(math.exp, given[answer])) for one in given[answer]] for answer in answers]
    expected = 0.0
    for i in range(3):
        for j in range(3):
            pair, product = mu[i] * then[i][j], mu[i] * sum(mu[k] * then[k][j] for k in range(3))
            expected += pair * math.log((pair + 1e-9) / (product + 1e-9))
    assert expected > 0.01
    np.testing.assert_allclose(signals.filter(item_id="a-000")["ip"], [expected] * 5, rtol=1e-5)
    assert signals.filter(item_id="a-001")["ip"].to_list() == [0.0] * 4, "one answer tells nothing of another"
    assert signals["ip_reason"].null_count() == len(signals)
    assert len(engine.contexts) == 3 + 3 * 3 + 1 + 1


def test_long_answers_do_not_vanish(tmp_path: Path, engine: FakeEngine) -> None:
    rows, signals = ask(tmp_path, {"Which?": ["x" * 150, "x" * 149 + "y"]}, samples=2)
    assert max(rows["logprob"]) < -745  # exp of which is 0 in 64 bits
    assert signals["ip"].is_finite().all()


def test_without_a_bound_there_is_a_reason(tmp_path: Path, engine: FakeEngine) -> None:
    engine.longest = 90
    few, long = "only 2 of the first 3 responses to the item can be asked about", "Why is this question so long? " * 2
    responses = {"few?": ["a", "b"], "refused?": ["a", "b", "c"], "empty?": ["", " ", "\n"], long: ["a", "b", "c"]}
    reasons = ["stop"] * 3 + ["refused: too hot"] + ["stop"] * 7
    rows, signals = ask(tmp_path, responses, samples=3, finish_reason=reasons)
    expected = [few, few, few, "refused: too hot", few, *["the answer is empty"] * 3, *["refused: too long"] * 3]
    assert rows["reason"].to_list() == expected
    of_item = [few] * 2 + [few] * 3 + ["the answer is empty"] * 3 + ["refused: too long"] * 3
    assert signals["ip_reason"].to_list() == of_item
    assert signals["ip"].null_count() == 11


def test_an_empty_answer_is_left_out_of_the_others(tmp_path: Path, engine: FakeEngine) -> None:
    rows, signals = ask(tmp_path, {"Which?": ["", "a", "b"]}, samples=3)
    assert rows["distinct"].to_list() == [None, [1, 2], [1, 2]]
    assert signals["ip"].null_count() == 0


def test_examples_of_plain_text_stay_before_the_answer() -> None:
    few_shot = "Q: Name a colour?\nA: Red\n\nQ: Name a {kind}?\nA: Oak\n\nQ: {question}?\nA:"
    asked_with = PLAIN | {"text": few_shot, "prompt_variables": {"kind": "tree"}}
    assert make_answer_prompt(asked_with, PROMPT_3, "Name a ring", "Saturn's") == (
        "Q: Name a colour?\nA: Red\n\nQ: Name a tree?\nA: Oak\n\n"
        "A possible answer to the question Name a ring is Saturn's.\nQ: Name a ring?\nA:"
    )
    assert make_answer_prompt(PLAIN | {"text": "{question}\nA:"}, PROMPT_3, "Who", "I") == (
        "A possible answer to the question Who is I.\nQ: Who?\nA:"
    )


def test_a_chat_keeps_its_other_messages_and_marks_are_not_doubled() -> None:
    system = {"role": "system", "content": "Answer with a word."}
    asked_with = PLAIN | {"messages": [system, {"role": "user", "content": "One phrase:\n{question}?"}]}
    assert make_answer_prompt(asked_with, PROMPT_3, "Who is {answer}?", "J. F.") == [
        system,
        {
            "role": "user",
            "content": "A possible answer to the question Who is {answer}? is J. F.\nQ: Who is {answer}?\nA:",
        },
    ]


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"samples": 1}, "signals.iterative_prompting.samples"),
        ({"prompt": "Q: {question}"}, "signals.iterative_prompting.prompt: must contain the placeholder {answer}"),
    ],
)
def test_a_section_that_cannot_be_is_an_error(section: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        load_config(merge_sections(read_config(["config.yaml"]), {"signals": {"iterative_prompting": section}}))
    assert message in str(error.value)
