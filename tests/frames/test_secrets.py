"""Names of secrets in settings, at any depth."""

from typing import Any

import pytest

from entropy_sentinel.engines.settings import HubModel
from entropy_sentinel.frames.secrets import refuse_secrets


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


def test_numbers_switches_and_other_words_are_none() -> None:
    refuse_secrets(
        "engine_args",
        {
            "long_prefill_token_threshold": 4,
            "hf_token": True,
            "speculative_config": {"num_speculative_tokens": 5, "token": None, "tokenizer": "x"},
            "monkeys": ["key", "token"],
            "keyboard": {"Tokens": "many"},
        },
    )
