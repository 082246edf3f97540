"""The conversation before a response, in requests of several APIs; expected messages are written by hand."""

import json
from typing import Any

import polars as pl
import pytest
from fake_api import completion

import entropy_sentinel as es
from entropy_sentinel.logs.conversation import CONVERSATION, extract_conversation

_PLAIN = [("system", "Be brief."), ("user", "2 + 3?")]
_IMAGE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
_RECORDS: dict[str, tuple[dict[str, Any], Any]] = {
    "OpenAI": (
        {"messages": [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "2 + 3?"}]},
        _PLAIN,
    ),
    "earlier turns": (
        {"request": {"messages": [{"role": role, "content": role[0]} for role in ("user", "assistant", "user")]}},
        [("user", "u"), ("assistant", "a"), ("user", "u")],
    ),
    "with the response": (
        {"messages": [{"role": "user", "content": "2 + 3?"}, {"role": "assistant", "content": "5"}]},
        [("user", "2 + 3?")],
    ),
    "Anthropic": (
        {
            "body": {
                "system": [{"type": "text", "text": "Be brief."}],
                "messages": [{"role": "user", "content": "2 + 3?"}],
            }
        },
        _PLAIN,
    ),
    "Responses": (
        {
            "instructions": "Be brief.",
            "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "2 + 3?"}]}],
        },
        _PLAIN,
    ),
    "Gemini": (
        {
            "request": {
                "systemInstruction": {"parts": [{"text": "Be brief."}]},
                "contents": [{"role": "user", "parts": [{"text": "2 +"}, {"text": " 3?"}]}],
            }
        },
        _PLAIN,
    ),
    "LangChain": (
        {
            "messages": [
                [
                    {"id": ["langchain", "SystemMessage"], "kwargs": {"content": "Be brief."}},
                    {"id": ["langchain", "HumanMessage"], "kwargs": {"content": "2 + 3?", "type": "human"}},
                ]
            ]
        },
        _PLAIN,
    ),
    "thinking is not sent again": (
        {
            "messages": [
                {"role": "user", "content": "Hi"},
                {
                    "role": "assistant",
                    "content": [{"type": "thinking", "thinking": "x"}, {"type": "text", "text": "Hi!"}],
                },
                {"role": "user", "content": "2 + 3?"},
            ]
        },
        [("user", "Hi"), ("assistant", "Hi!"), ("user", "2 + 3?")],
    ),
    "texts in a list": (
        {
            "messages": [
                {"role": "system", "content": ["Be ", "brief."]},
                {"role": "user", "parts": ["2 + ", {"text": "3?"}]},
            ]
        },
        [("system", "Be brief."), ("user", "2 + 3?")],
    ),
    "an image": (
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, _IMAGE]}]},
        [("user", "What is it?", ["image_url"])],
    ),
    "an image of Gemini": (
        {"contents": [{"role": "user", "parts": [{"inlineData": {"data": "AAAA"}}]}]},
        [("user", "", ["inlineData"])],
    ),
    "tools": (
        {
            "messages": [
                {"role": "user", "content": "2 + 3?"},
                {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
                {"role": "tool", "content": "5"},
            ]
        },
        [("user", "2 + 3?"), ("assistant", "", ["tool_calls"]), ("tool", "5", ["tool"])],
    ),
    "odd values": (
        {
            "messages": [
                {"role": ["user"], "content": {"a": 1}},
                {"id": 5, "kwargs": {"content": [{"type": [1]}, 7]}},
                "x",
            ]
        },
        [("['user']", "", ["['user']"]), ("None", "", ["None", "[1]", "part"])],
    ),
    "a text prompt": ({"prompt": "2 + 3 ="}, None),
    "no messages": ({"messages": [], "request": {"messages": [{"role": "system", "content": "x"}]}}, None),
}


@pytest.mark.parametrize(("record", "expected"), _RECORDS.values(), ids=_RECORDS)
def test_reads_the_conversation(record: dict[str, Any], expected: Any) -> None:
    found = extract_conversation(record)
    messages = None if found is None else [tuple(message.values()) for message in json.loads(found)]
    assert messages == expected


def test_a_sample_has_the_conversations_of_its_log() -> None:
    request = {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 3?"}]}
    record = {"request": request, "response": completion("5")}
    frame = es.read_logs([record], columns=["question", CONVERSATION])
    assert frame["question"].to_list() == ["2 + 3?"]
    assert json.loads(frame[CONVERSATION].item()) == request["messages"]
    table = pl.DataFrame(
        {"item_id": ["a"], "question": ["2 + 3?"], "messages": [request["messages"]], "text": ["5"]}
        | {"token_logprobs": [[-0.1]], "top_logprobs": [[[-0.1]]]}
    )
    assert (
        json.loads(es.read_logs(table, columns=["question", CONVERSATION])[CONVERSATION].item()) == request["messages"]
    )
