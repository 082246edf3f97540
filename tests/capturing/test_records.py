"""What of a reply is written: no secrets, and no more of a token than its text and log-probabilities."""

import json
from typing import Any

from entropy_sentinel.capturing.records import safe_record

KEY = "sk-" + "a1" * 12


def chat(text: str, tokens: list[str]) -> dict[str, Any]:
    entries = [{"token": token, "logprob": -0.5, "bytes": [97]} for token in tokens]
    steps = [{**entry, "top_logprobs": entries} for entry in entries]
    return {"message": {"content": text}, "logprobs": {"content": steps}}


def test_secrets_are_hidden_wherever_they_stand() -> None:
    record = {"metadata": {"api_key": "abc", "route": "a"}, "messages": [{"content": f"use {KEY}"}], "max_tokens": 5}
    assert safe_record(record) == {
        "metadata": {"api_key": "***", "route": "a"},
        "messages": [{"content": "use ***"}],
        "max_tokens": 5,
    }


def test_tokens_lose_their_bytes() -> None:
    step = {"token": "4", "logprob": -0.5}
    assert safe_record({"choices": [chat("4", ["4"])]})["choices"][0]["logprobs"] == {
        "content": [{**step, "top_logprobs": [step]}]
    }


def test_a_key_in_an_answer_cannot_be_put_together_from_its_tokens() -> None:
    parts = [KEY[:9], KEY[9:]]
    record = safe_record({"choices": [chat(KEY, parts), chat("4", ["4"])]})
    assert not any(part in json.dumps(record) for part in parts)
    hidden, other = (choice["logprobs"]["content"] for choice in record["choices"])
    assert [step["logprob"] for step in hidden] == [-0.5, -0.5]
    assert other[0]["token"] == "4"


def test_a_key_in_a_text_completion() -> None:
    logprobs = {"tokens": [KEY], "token_logprobs": [-0.5], "top_logprobs": [{KEY: -0.5, "b": -1.0}]}
    (choice,) = safe_record({"choices": [{"text": KEY, "logprobs": logprobs}]})["choices"]
    assert choice["text"] == "***"
    assert choice["logprobs"]["tokens"] == ["***"]
    assert choice["logprobs"]["top_logprobs"] == [{"0": -0.5, "1": -1.0}]
