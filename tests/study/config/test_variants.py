"""Models that extend another: the same weights, asked in another way."""

from typing import Any

from studies import study as paper

from entropy_sentinel.study.config.generation_requests import benchmark_settings, generation_settings
from entropy_sentinel.study.config.study_config import Config

PROMPT = {"user": "{question} Be {level} % sure, {name}."}


def study(**models: dict[str, Any]) -> Config:
    """The study of a model and of these."""
    return paper({"run.models": ["qwen3-8b", *models]} | {f"models.{name}": model for name, model in models.items()})


def test_a_variant_differs_only_in_its_settings_and_name():
    config = study(hot={"extends": "qwen3-8b", "sampling": {"temperature": 1.0}, "samples": 10})
    plain, hot = (generation_settings(config, model, "gsm8k") for model in ("qwen3-8b", "hot"))
    assert (hot["sampling"]["temperature"], hot["samples"], hot["model"]) == (1.0, 10, "hot")
    assert {key for key in plain if plain[key] != hot[key]} == {"model", "sampling", "samples"}
    assert hot["chat_template_kwargs"] == {"enable_thinking": False}, "that of the model it extends"


def test_a_title_is_its_models_own_and_no_job_depends_on_it():
    config = study(hot={"extends": "qwen3-8b"})
    assert (config.models["qwen3-8b"].title, config.models["hot"].title) == ("Qwen3 (8B)", None)
    renamed = paper({"models.qwen3-8b.title": "Q", "benchmarks.gsm8k.title": "G"})
    for settings in (
        lambda config: generation_settings(config, "qwen3-8b", "gsm8k"),
        lambda config: benchmark_settings(config, "gsm8k"),
    ):
        assert settings(renamed) == settings(config)


def test_variants_of_variants_merge_sections_by_key():
    config = study(
        a={"extends": "qwen3-8b", "sampling": {"temperature": 0.7, "max_tokens": 64}},
        b={"extends": "a", "sampling": {"top_k": 20}, "chat_template_kwargs": {"enable_thinking": True}},
    )
    result = generation_settings(config, "b", "gsm8k")
    assert result["sampling"] == {"temperature": 0.7, "top_p": 1.0, "max_tokens": 64, "top_k": 20}
    assert result["chat_template_kwargs"] == {"enable_thinking": True}


def test_prompt_and_variables_of_a_model_reach_only_its_jobs():
    variables = {"level": 90, "name": "{question}"}
    model = {"extends": "qwen3-8b", "prompt": "level", "prompt_variables": variables}
    config = paper({"run.models": ["qwen3-8b", "sure"], "prompts.level": PROMPT, "models.sure": model})
    plain, sure = (generation_settings(config, model, "gsm8k") for model in ("qwen3-8b", "sure"))
    assert (sure["prompt"], sure["prompt_variables"]) == ("level", {"level": "90", "name": "{question}"})
    assert "prompt_variables" not in plain
