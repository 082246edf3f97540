"""Names of secrets in settings, at any depth."""

from typing import Any

import pytest

from entropy_sentinel.core.secrets import find_secret_keys, is_secret, is_secret_name, mask_keys, refuse_secrets
from entropy_sentinel.study.engines.model_kinds import HubModel


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({"api_key": "sk-1a2b"}, "api_key"),
        ({"auth": {"token": "sk-1a2b"}}, "auth.token"),
        ({"tools": [{"name": "a"}, {"headers": {"x-api-key": "sk-1a2b"}}]}, r"tools\[1\].headers.x-api-key"),
        ({"a": {"b": {"c": {"password": {"value": "sk-1a2b"}}}}}, "a.b.c.password"),
        ({"auth": {"apiKey": "sk-1a2b", "b": 1}}, "auth.apiKey"),
        ({"auth": {"authToken": "sk-1a2b"}}, "auth.authToken"),
        ({"headers": {"Authorization": "sk-1a2b"}}, "headers.Authorization"),
    ],
)
def test_secrets_are_refused_at_all_depths_and_not_shown(settings: dict[str, Any], path: str) -> None:
    with pytest.raises(ValueError, match=f"^chat_template_kwargs: '{path}' looks like a secret") as error:
        refuse_secrets("chat_template_kwargs", settings)
    assert "1a2b" not in str(error.value)
    with pytest.raises(ValueError, match=f"chat_template_kwargs: '{path}' looks like a secret"):
        HubModel(id="a/b", chat_template_kwargs=settings)


def test_numbers_booleans_and_ordinary_words_are_not_secrets() -> None:
    refuse_secrets(
        "engine_args",
        {
            "long_prefill_token_threshold": 4,
            "hf_token": True,
            "speculative_config": {"num_speculative_tokens": 5, "token": None, "tokenizer": "x"},
            "monkeys": ["key", "token"],
            "keyboard": {"Author": "many"},
        },
    )


NAMED = ["tokens", "api_keys", "credentials", "passwd", "pwd", "secrets", "auth", "bearer", "cookie", "authorization"]
ALSO = ["Set-Cookie", "apiKeys", "x_auth", "hf_token2", "openai.api.key", "AWS_SECRET_ACCESS_KEY", "passphrase", "jwt"]


@pytest.mark.parametrize("name", [*NAMED, *ALSO])
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)
    for value in ("short", ["one", "two"], {"user": "me"}, "123456"):
        with pytest.raises(ValueError, match=f"^engine_args: '{name}' looks like a secret"):
            refuse_secrets("engine_args", {name: value})
    # Numbers and switches are none.
    refuse_secrets("engine_args", {name: [4, True, None]})


@pytest.mark.parametrize(
    "name",
    [
        *("max_tokens", "tokens_per_minute", "tokenizer", "tokenizer_mode", "token_ids", "stop_token_ids", "eos_token"),
        *("num_speculative_tokens", "bytes_per_token", "tokens_per_judgement", "max_num_batched_tokens", "maxTokens"),
        *("keep_top_token_ids", "usd_per_million_input_tokens", "prompt_tokens_details", "keyboard", "monkey"),
        *("author", "authority", "SECRETARY", "cookiecutter", "passwordless", "tokenise", "detokenize"),
    ],
)
def test_names_of_model_inputs_are_not_secrets(name: str) -> None:
    assert not is_secret_name(name)
    refuse_secrets("engine_args", {name: "text"})


# Forms of keys as providers give them, none of them real.
KEYS = [
    "sk-0a1b2c3d4e5f6a7b8c9d",
    "sk-proj-abcdefghijklmnopqrstuvwxyz",
    "xai-0a1b2c3d4e5f6a7b8c9d0a1b2c3d",
    "hf_abcdefghijklmnopqrstuvwxyzabcdefgh",
    "gsk_0a1b2c3d4e5f6a7b8c9d",
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_0a1b2c3d4e5f6a7b8c9d0a1b2c3d4e5f6a7b",
    "github_pat_0a1b2c3d4e5f6a7b8c9d",
    "AIzaSyA0a1b2c3d4e5f6a7b8c9d0a1b2c3d4e5f",
    "Bearer 0a1b2c3d4e5f",
    "xoxb-0a1b2c3d4e5f-6a7b8c9d",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl",
    "-----BEGIN RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("key", KEYS)
def test_provider_keys_are_secrets_under_any_name(key: str) -> None:
    for text in (key, f"--header={key}", f"use {key} here"):
        assert is_secret(text)
        assert key not in mask_keys(text)
    assert list(find_secret_keys({"a": [{"style": key}]}, by_name=False)) == ["a[0].style"]
    with pytest.raises(ValueError, match=r"^kwargs: 'a\[0\].style' looks like a secret") as error:
        refuse_secrets("kwargs", {"a": [{"style": key}]})
    assert key not in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        *("meta-llama/Llama-3.1-8B", "xai-org/grok-1", "openai/gpt-oss-20b", "hf_transfer", "task-sk-1", "sk-learn"),
        *("models/sk-llama-3-8b", "the bearer of good news", "a risk-averse answer", "AKIA", "AIza", "sk-", "hf_hub"),
        *("</think>", "raw_logprobs", "2025-11-01", "http://localhost:8000/v1", "Bearer", "bearer responsibilities"),
    ],
)
def test_other_texts_are_not_secrets(text: str) -> None:
    assert not is_secret(text)
    assert mask_keys(text) == text
