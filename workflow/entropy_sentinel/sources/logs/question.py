"""What a response answers, where a log has the request beside it."""

from collections.abc import Iterable, Mapping
from typing import Any

# The column that `columns` asks for it by.
QUESTION = "question"
# Where requests stand in a record, and what they call a text that is no list of messages.
_REQUESTS = ("request", "body", "kwargs")
_TEXTS = ("question", "prompt", "input", "instruction", "query")
# Columns of a table in which there may be a question.
ASKED = {"messages", *_REQUESTS, *_TEXTS}


def question_of(record: Any) -> str | None:
    """The last message of the user, or the prompt, in a record or in the request within it; None where it has none."""
    if not isinstance(record, Mapping):
        return None
    messages = record.get("messages")
    if not isinstance(messages, list):
        messages = record["input"] if isinstance(record.get("input"), list) else []
    said = [one for one in messages if isinstance(one, Mapping) and one.get("role") == "user"]
    if said and (text := _text(said[-1].get("content"))):
        return text
    texts = (record[name] for name in _TEXTS if isinstance(record.get(name), str))
    if named := next(filter(None, texts), ""):
        return str(named)
    return next(filter(None, (question_of(record.get(name)) for name in _REQUESTS)), None)


def _text(content: Any) -> str:
    """The text of a message, which may be in parts."""
    if isinstance(content, str):
        return content
    parts: Iterable[Any] = content if isinstance(content, list) else ()
    return "".join(str(part.get("text") or "") for part in parts if isinstance(part, Mapping))
