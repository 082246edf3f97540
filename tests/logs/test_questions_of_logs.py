"""What a response answers: the last message of the user, wherever a log has the request."""

import json
from pathlib import Path
from typing import Any

import pytest

from entropy_sentinel.api.response_reading import open_logs
from entropy_sentinel.logs.reader_base import extract_question

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is 2 + 2?"},
    {"role": "assistant", "content": "4"},
    {"role": "user", "content": "And 3 + 3?"},
]
PARTS = [{"role": "user", "content": [{"type": "text", "text": "What is "}, {"type": "text", "text": "this?"}]}]


@pytest.mark.parametrize(
    ("record", "question"),
    [
        ({"request": {"messages": CHAT}, "response": {}}, "And 3 + 3?"),
        ({"request": {"body": {"messages": CHAT}}}, "And 3 + 3?"),
        ({"messages": CHAT}, "And 3 + 3?"),
        ({"messages": PARTS}, "What is this?"),
        ({"input": CHAT}, "And 3 + 3?"),
        ({"input": "Why?"}, "Why?"),
        ({"prompt": "Why?", "messages": []}, "Why?"),
        ({"question": "Why?", "prompt": "Answer this: Why?"}, "Why?"),
        ({"messages": [{"role": "user", "content": None}], "request": {"prompt": "Why?"}}, "Why?"),
        ({"messages": "Why?"}, None),
        ({"request": "{"}, None),
        ({}, None),
        (None, None),
    ],
)
def test_question_of_a_record(record: Any, question: str | None) -> None:
    assert extract_question(record) == question


def test_a_log_is_asked_for_it_as_for_a_column(tmp_path: Path) -> None:
    """However long; a column of that name goes before what the request says."""
    log = tmp_path / "log.jsonl"
    traces = {"token_logprobs": [-0.1], "top_logprobs": [[-0.1, -2.5]], "text": "6"}
    rows = [
        {"item_id": "a", **traces, "question": "3 + 3? " * 100},
        {"item_id": "b", **traces, "prompt": "3 + 3?"},
        {"item_id": "c", **traces},
    ]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (frame,) = open_logs(log, columns=["question"])
    assert frame["question"].to_list() == ["3 + 3? " * 100, "3 + 3?", None]
