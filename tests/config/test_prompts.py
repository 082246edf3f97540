"""Prompts of the config, and the judges that are asked with them."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from entropy_sentinel.chat.settings import Prompt, filled
from entropy_sentinel.config.config import load_config
from entropy_sentinel.config.generations import generation_settings, server_settings
from entropy_sentinel.config.judging import judge_settings, paid_judges
from entropy_sentinel.frames.errors import ConfigError

PAPER = yaml.safe_load((Path(__file__).parents[2] / "config.yaml").read_text())
BOXED = {"system": "Put the answer in \\boxed{answer}.", "user": "{question}"}
GRADED = {"user": "{question}\n{response}\n{reference}"}


def config(**changes: Any) -> Any:
    """The paper's study with sections merged into it."""
    raw = deepcopy(PAPER)
    for section, values in changes.items():
        raw[section] = {**raw[section], **values}
    return load_config(raw, "config.yaml")


def refusal(**changes: Any) -> str:
    with pytest.raises(ConfigError) as error:
        config(**changes)
    return str(error.value)


def test_places_are_filled_once_and_values_stay_what_they_are() -> None:
    """LaTeX's arguments, doubled braces of Python and what values hold are no places."""
    chat = [{"role": "user", "content": "\\frac{question}{2} {question}|{response}|{x y}|{1}"}]
    given = filled(chat, question="{response} \\1", response="{question}")
    assert given == [{"role": "user", "content": "\\frac{question}{2} {response} \\1|{question}|{x y}|{1}"}]


def test_a_prompt_is_one_message_two_or_several() -> None:
    assert [message["role"] for message in Prompt(**BOXED).chat] == ["system", "user"]
    assert Prompt(user="{question}").render(question="2?") == [{"role": "user", "content": "2?"}]
    shots = [{"role": "user", "content": "1 + 1?"}, {"role": "assistant", "content": "2"}]
    several = Prompt(messages=[*shots, {"role": "user", "content": "{question}"}])
    assert several.render(question="2?") == [*shots, {"role": "user", "content": "2?"}]


SHOTS = {"text": "Q: 1 + 1?\nA: 2\n\nQ: {question}\nA:"}


def test_a_plain_text_is_one_models_and_no_part_of_the_jobs_of_others() -> None:
    """Its job has the text and no messages; jobs of models that are asked in a chat keep the settings that they had."""
    models = {"base": {"id": "me/base", "prompt": "shots", "sampling": {"stop": ["\n\n"]}}}
    found, before = config(prompts={"shots": SHOTS}, models=models), config()
    settings = generation_settings(found, "base", "gsm8k")
    assert (settings["prompt"], settings["text"], settings["sampling"]["stop"]) == ("shots", SHOTS["text"], ["\n\n"])
    assert "messages" not in settings
    assert generation_settings(found, "qwen3-4b", "gsm8k") == generation_settings(before, "qwen3-4b", "gsm8k")
    assert "text" not in generation_settings(before, "qwen3-4b", "gsm8k")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"prompts": {"shots": SHOTS | {"user": "{question}"}}}, "prompts.shots: must have a 'user' message, with or"),
        ({"prompts": {"shots": SHOTS | {"system": "Be brief."}}}, "prompts.shots: must have a 'user' message, with or"),
        ({"prompts": {"shots": {"text": "2 + 2"}}}, "models.base.prompt: prompt 'shots' must have a place for {questi"),
        (
            {"judges": {"x": {"kind": "llm", "prompt": "shots"}}},
            "judges.x.prompt: prompt 'shots' is plain text; a judge needs one with a 'user' message",
        ),
        (
            {"models": {"base": {"extends": "qwen3-8b", "prompt": "shots"}}, "run": {"models": ["base"]}},
            "models.base.chat_template_kwargs: prompt 'shots' is plain text, which no chat template is put around",
        ),
    ],
)
def test_a_plain_text_that_cannot_be_gone_on_from_is_refused(changes: dict[str, Any], expected: str) -> None:
    asked = {"prompts": {"shots": SHOTS}, "models": {"base": {"id": "me/base", "prompt": "shots"}}}
    assert expected in refusal(**(asked | changes))


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ({}, "prompts.mine: must have a 'user' message, with or without 'system', or else a list of 'messages'"),
        ({"system": "{question}"}, "prompts.mine: must have a 'user' message"),
        (BOXED | {"messages": [{"role": "user", "content": "x"}]}, "prompts.mine: must have a 'user' message"),
        ({"user": "{qestion}"}, "unknown placeholder '{qestion}'; known: {question}, {response}, {reference}"),
        ({"user": "{question}", "sytem": "x"}, "prompts.mine: unknown key 'sytem'; known keys: version, system, user"),
        ({"messages": [{"role": "assistant", "content": "{question}"}]}, "must be a user's, was of role 'assistant'"),
        ({"messages": [{"role": "tool", "content": "{question}"}]}, "prompts.mine.messages.0.role: Input should be 's"),
        ({"user": "Solve it."}, "generation.prompt: prompt 'mine' must have a place for {question}"),
        (GRADED, "generation.prompt: prompt 'mine' has a place for {reference}, and nothing to put there"),
    ],
)
def test_a_prompt_that_cannot_be_asked_is_refused_before_anything_runs(prompt: dict, expected: str) -> None:
    assert expected in refusal(prompts={"mine": prompt}, generation={"prompt": "mine"})


def test_names_of_prompts_are_known_and_each_is_one_prompt() -> None:
    assert "unknown prompt in judges.x.prompt: 'mine'; known: corresponds" in refusal(
        judges={"x": {"kind": "llm", "prompt": "mine"}}
    )
    assert "judges.x.prompt: prompt 'mine' must have a place for {response}" in refusal(
        prompts={"mine": BOXED}, judges={"x": {"kind": "llm", "prompt": "mine"}}
    )
    assert "prompts.corresponds: a built-in prompt" in refusal(prompts={"corresponds": GRADED})
    assert "unknown prompt in generation.prompt: 'corresponds'" in refusal(generation={"prompt": "corresponds"})


def test_the_text_of_a_prompt_is_what_traces_and_labels_depend_on() -> None:
    """A prompt of the config's own is among the settings with its text; those of other studies stay as they were."""
    before = config(prompts={"mine": BOXED, "graded": GRADED}, generation={"prompt": "mine"})
    settings = generation_settings(before, "qwen3-4b", "gsm8k")
    assert (settings["prompt"], settings["prompt_version"]) == ("mine", 1)
    assert settings["messages"] == [{"role": role, "content": BOXED[role]} for role in ("system", "user")]
    changed = config(prompts={"mine": BOXED | {"system": "Other."}, "graded": GRADED}, generation={"prompt": "mine"})
    assert generation_settings(changed, "qwen3-4b", "gsm8k") != settings
    assert "messages" not in generation_settings(config(prompts={"mine": BOXED}), "qwen3-4b", "gsm8k")
    for text, same in (("{question}\n{response}\n{reference}", True), ("{response}\n{reference}", False)):
        judge = {"x": {"kind": "llm", "prompt": "graded"}}
        one = config(prompts={"graded": GRADED}, judges=judge)
        other = config(prompts={"graded": {"user": text}}, judges=judge)
        assert (judge_settings(one, "x") == judge_settings(other, "x")) is same


def test_labels_depend_on_what_a_judge_is_asked_and_not_on_where_how_fast_and_for_how_much() -> None:
    place = {"base_url": "http://there:8000/v1", "concurrency": 2, "timeout_s": 1, "retries": 0}
    limits = {"requests_per_minute": 10, "tokens_per_minute": 1000}
    money = {"usd_per_million_input_tokens": 1, "usd_per_million_output_tokens": 2, "budget_usd": 3}
    one, other = (config(judges={"x": {"kind": "llm", **more}}) for more in ({}, place | limits | money))
    assert judge_settings(one, "x") == judge_settings(other, "x")
    assert judge_settings(one, "x")["llm"]["model"] == "xai/grok-4-1-fast-reasoning"
    ledger = {"ledger": "results/paper/spending/judges.x.sqlite"}
    assert server_settings(other)["judges.x"] == place | limits | money | ledger
    for change in ({"model": "openai/y"}, {"shown": "answer"}, {"max_tokens": 9}, {"revision": "2"}):
        assert judge_settings(config(judges={"x": {"kind": "llm", **change}}), "x") != judge_settings(one, "x")
    assert paid_judges(one) == {}
    both = {"x": {"kind": "llm"}, "both": {"kind": "first_of", "judges": ["math-verify", "x"]}}
    assert paid_judges(config(judges=both, run={"judges": ["x", "math-verify"]})) == {"x": ["x"]}
    assert paid_judges(config(judges=both, run={"judges": ["math-verify", "both"]})) == {"x": ["both"]}
    assert paid_judges(config(judges=both, run={"judges": ["x", "both"]})) == {"x": ["x", "both"]}


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (
            {"budget_usd": 5},
            "judges.x: budget_usd needs usd_per_million_input_tokens and usd_per_million_output_tokens",
        ),
        ({"usd_per_million_input_tokens": 1}, "judges.x: usd_per_million_input_tokens and usd_per_million_output_tok"),
        ({"budget": 5}, "judges.x: unknown key 'budget'; known keys: kind, model"),
        ({"shown": "all"}, "judges.x.shown: Input should be 'response' or 'answer'; it was \"all\""),
        ({"base_url": "http://me:secret@there/v1"}, "judges.x: base_url must be an address without user, password"),
    ],
)
def test_a_judge_that_cannot_be_paid_or_asked_is_refused_before_anything_runs(keys: dict, expected: str) -> None:
    told = refusal(judges={"x": {"kind": "llm", **keys}})
    assert expected in told
    assert "secret" not in told
