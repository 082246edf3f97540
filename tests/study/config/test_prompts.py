"""Prompts of the config, and the judges that are asked with them."""

from studies import study

from entropy_sentinel.llm_client.server_settings import Prompt, fill_chat
from entropy_sentinel.study.config.generation_requests import generation_settings, server_settings
from entropy_sentinel.study.config.label_requests import find_paid_judges, judge_settings

BOXED = {"system": "Put the answer in \\boxed{answer}.", "user": "{question}"}
GRADED = "{question}\n{response}\n{reference}"


def test_placeholders_are_filled_once_and_values_are_unchanged() -> None:
    """LaTeX's arguments, doubled braces of Python and what values hold are no places."""
    chat = [{"role": "user", "content": "\\frac{question}{2} {question}|{response}|{x y}|{1}"}]
    given = fill_chat(chat, question="{response} \\1", response="{question}")
    assert given == [{"role": "user", "content": "\\frac{question}{2} {response} \\1|{question}|{x y}|{1}"}]


def test_a_prompt_has_one_or_more_messages() -> None:
    assert [message["role"] for message in Prompt(**BOXED).chat] == ["system", "user"]
    assert Prompt(user="{question}").render(question="2?") == [{"role": "user", "content": "2?"}]
    shots = [{"role": "user", "content": "1 + 1?"}, {"role": "assistant", "content": "2"}]
    several = Prompt(messages=[*shots, {"role": "user", "content": "{question}"}])
    assert several.render(question="2?") == [*shots, {"role": "user", "content": "2?"}]


SHOTS = {"text": "Q: 1 + 1?\nA: 2\n\nQ: {question}\nA:"}


def test_a_plain_text_prompt_affects_only_its_model() -> None:
    """Its job has the text and no messages; jobs of models that are asked in a chat keep the settings that they had."""
    model = {"id": "me/base", "prompt": "shots", "sampling": {"stop": ["\n\n"]}}
    result, before = study({"prompts.shots": SHOTS, "models.base": model}), study()
    settings = generation_settings(result, "base", "gsm8k")
    assert (settings["prompt"], settings["text"], settings["sampling"]["stop"]) == ("shots", SHOTS["text"], ["\n\n"])
    assert "messages" not in settings
    assert generation_settings(result, "qwen3-4b", "gsm8k") == generation_settings(before, "qwen3-4b", "gsm8k")
    assert "text" not in generation_settings(before, "qwen3-4b", "gsm8k")


def test_traces_and_labels_depend_on_the_text_of_a_prompt() -> None:
    """A prompt of the config's own is among the settings with its text; those of other studies stay as they were."""
    asked = {"prompts.mine": BOXED, "generation.prompt": "mine"}
    settings = generation_settings(study(asked), "qwen3-4b", "gsm8k")
    assert (settings["prompt"], settings["prompt_version"]) == ("mine", 1)
    assert settings["messages"] == [{"role": role, "content": BOXED[role]} for role in ("system", "user")]
    changed = study(asked | {"prompts.mine": BOXED | {"system": "Other."}})
    assert generation_settings(changed, "qwen3-4b", "gsm8k") != settings
    assert "messages" not in generation_settings(study({"prompts.mine": BOXED}), "qwen3-4b", "gsm8k")
    one, same, other = (
        judge_settings(study({"prompts.graded": {"user": text}, "judges.x": {"kind": "llm", "prompt": "graded"}}), "x")
        for text in (GRADED, GRADED, "{response}\n{reference}")
    )
    assert one == same != other


def test_labels_depend_on_the_prompt_and_not_on_address_speed_or_price() -> None:
    place = {"base_url": "http://there:8000/v1", "concurrency": 2, "timeout_s": 1, "total_timeout_s": 5, "retries": 0}
    limits = {"requests_per_minute": 10, "tokens_per_minute": 1000}
    money = {"usd_per_million_input_tokens": 1, "usd_per_million_output_tokens": 2, "budget_usd": 3}
    one, other = (study({"judges.x": {"kind": "llm", **more}}) for more in ({}, place | limits | money))
    assert judge_settings(one, "x") == judge_settings(other, "x")
    assert judge_settings(one, "x")["llm"]["model"] == "xai/grok-4-1-fast-reasoning"
    ledger = {"ledger": "results/paper/spending/judges.x.sqlite"}
    assert server_settings(other)["judges.x"] == place | limits | money | ledger
    for change in ({"model": "openai/y"}, {"shown": "answer"}, {"max_tokens": 9}, {"revision": "2"}):
        assert judge_settings(study({"judges.x": {"kind": "llm", **change}}), "x") != judge_settings(one, "x")
    assert find_paid_judges(one) == {}
    both = {"judges.x": {"kind": "llm"}, "judges.both": {"kind": "first_of", "judges": ["math-verify", "x"]}}
    for run, paid in ((["x", "math-verify"], ["x"]), (["math-verify", "both"], ["both"]), (["x", "both"],) * 2):
        assert find_paid_judges(study(both | {"run.judges": run})) == {"x": paid}
