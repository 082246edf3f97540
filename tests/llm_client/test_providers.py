"""The variables of providers' keys, compared with LiteLLM's own list."""

import os

import pytest

from entropy_sentinel.llm_client.provider_keys import _VARIABLES, key_variables, missing_key


@pytest.mark.parametrize(
    ("model", "environment", "missing"),
    [
        ("xai/grok-4-1-fast-reasoning", {}, "XAI_API_KEY"),
        ("xai/grok-4-1-fast-reasoning", {"XAI_API_KEY": "x"}, None),
        ("xai/grok-4-1-fast-reasoning", {"XAI_API_KEY": "  "}, "XAI_API_KEY"),
        ("gpt-4o-mini", {}, "OPENAI_API_KEY"),
        ("claude-sonnet-4-5", {}, "ANTHROPIC_API_KEY"),
        ("gemini/gemini-2.5-pro", {"GOOGLE_API_KEY": "x"}, None),
        ("hosted_vllm/mine", {}, None),  # a server of one's own
        ("vertex_ai/gemini-2.5-pro", {}, None),  # more than a key
        ("unheard-of/model", {}, None),
    ],
)
def test_a_key_is_missing_only_where_one_is_known_to_be_needed(model, environment, missing) -> None:
    assert missing_key(model, environment) == missing


@pytest.mark.slow  # LiteLLM's import
def test_variables_are_those_of_litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    from litellm import validate_environment

    for provider in _VARIABLES:
        for name in os.environ:
            if name.endswith(("_API_KEY", "_TOKEN")):
                monkeypatch.delenv(name)
        needed = validate_environment(f"{provider}/model")["missing_keys"]
        assert set(needed) & set(key_variables(f"{provider}/model")), provider
