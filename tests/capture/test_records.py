"""What of a reply is written: no secrets, and no more of a token than its text and log-probabilities."""

import json
from typing import Any

from entropy_sentinel.capture.record_forms import hide_secrets
from entropy_sentinel.logs.stream_bodies import join_events

KEY = "sk-" + "a1" * 12


def chat(text: str, tokens: list[str]) -> dict[str, Any]:
    entries = [{"token": token, "logprob": -0.5, "bytes": [97]} for token in tokens]
    steps = [{**entry, "top_logprobs": entries} for entry in entries]
    return {"message": {"content": text}, "logprobs": {"content": steps}}


def test_secrets_are_hidden_wherever_they_stand() -> None:
    record = {"metadata": {"api_key": "abc", "route": "a"}, "messages": [{"content": f"use {KEY}"}], "max_tokens": 5}
    metadata, messages = {"api_key": "***", "route": "a"}, [{"content": "use ***"}]
    assert hide_secrets(record) == {"metadata": metadata, "messages": messages, "max_tokens": 5}


def test_a_key_in_an_answer_cannot_be_put_together_from_its_tokens() -> None:
    parts = [KEY[:9], KEY[9:]]
    record = hide_secrets({"choices": [chat(KEY, parts), chat("4", ["4"])]})
    assert not any(part in json.dumps(record) for part in parts)
    hidden, (other,) = (choice["logprobs"]["content"] for choice in record["choices"])
    assert [step["logprob"] for step in hidden] == [-0.5, -0.5]
    # Other tokens only lose their bytes.
    entry = {"token": "4", "logprob": -0.5}
    assert other == {**entry, "top_logprobs": [entry]}


def test_a_key_in_a_text_completion() -> None:
    logprobs = {"tokens": [KEY], "token_logprobs": [-0.5], "top_logprobs": [{KEY: -0.5, "b": -1.0}]}
    (choice,) = hide_secrets({"choices": [{"text": KEY, "logprobs": logprobs}]})["choices"]
    assert choice["text"] == "***"
    assert choice["logprobs"]["tokens"] == ["***"]
    assert choice["logprobs"]["top_logprobs"] == [{"0": -0.5, "1": -1.0}]


def test_what_a_secret_name_holds_is_hidden_at_any_depth() -> None:
    record = {
        "password": 1234,
        "auth": {"user": "ann", "pins": [1, 2]},
        "secrets": [{"x": "y"}],
        "tokens": 17,
        "usage": {"prompt_tokens": 5, "total_tokens": 9},
        "api_keys": ["a", "b"],
    }
    assert hide_secrets(record) == {
        "password": "***",
        "auth": {"user": "***", "pins": ["***", "***"]},
        "secrets": [{"x": "***"}],
        "tokens": 17,
        "usage": {"prompt_tokens": 5, "total_tokens": 9},
        "api_keys": ["***", "***"],
    }


def test_keys_as_names_and_inside_words() -> None:
    long, words = "sk-proj-" + "aB3" * 12, "task-20261125 /sk-lower"
    record = {"metadata": {KEY: 1}, "urls": f"https://host/{long} x{long} token={long}", "words": words}
    safe = {"metadata": {"***": 1}, "urls": "https://host/*** x*** token=***", "words": words}
    assert hide_secrets(record) == safe


def test_a_password_in_the_arguments_of_a_tool_call_and_its_tokens() -> None:
    call = {"function": {"name": "login", "arguments": '{"user": "ann", "password": "hunter2"}'}}
    choice = chat("", ["hunter", "2"]) | {"token_ids": [7, 8]}
    choice["message"]["tool_calls"] = [call]
    text = json.dumps(safe := hide_secrets({"choices": [choice], "prompt_token_ids": [1, 2]}))
    assert "hunter" not in text
    assert "token_ids" not in text
    (kept,) = safe["choices"]
    assert kept["message"]["tool_calls"][0]["function"]["arguments"] == '{"user": "ann", "password": "***"}'
    entry = {"token": "hunter", "token_id": 7, "logprob": -1.0}
    choice["logprobs"] = {"content": [{**entry, "top_logprobs": [entry]}]}
    assert "token_id" not in json.dumps(hide_secrets({"choices": [choice]}))
    harmless = chat("4", ["4"]) | {"token_ids": [7]}
    harmless["message"]["tool_calls"] = [{"function": {"name": "f", "arguments": '{"a":  1}'}}]
    (kept,) = hide_secrets({"choices": [harmless]})["choices"]
    assert (kept["token_ids"], kept["message"]) == ([7], harmless["message"])


def test_a_key_in_the_pieces_of_a_streamed_tool_call() -> None:
    pieces = [
        {"index": 0, "id": "c", "function": {"name": "login", "arguments": ""}},
        *({"index": 0, "function": {"arguments": part}} for part in ('{"key', '": "', KEY[:9], KEY[9:], '"}')),
        {"index": 1, "id": "d", "function": {"name": "g", "arguments": "{}"}},
    ]
    events = [{"id": "r", "model": "m", "choices": [{"index": 0, "delta": {"tool_calls": [one]}}]} for one in pieces]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    (choice,) = hide_secrets(join_events(body))["choices"]
    first, second = choice["message"]["tool_calls"]
    assert first["function"] == {"name": "login", "arguments": '{"key": "***"}'}
    assert (first["id"], second["function"]) == ("c", {"name": "g", "arguments": "{}"})
