"""The conversation that a record's model was asked to continue: all messages of its request, in one form for all APIs.

The question of a response is only the user's last message. To ask another model the same thing takes the system prompt
and the earlier turns, too.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NotRequired, TypedDict

# The name under which `columns` requests the conversation. No column of a log has it.
CONVERSATION = "(conversation)"
# Fields with the messages of a request: OpenAI's, those of its Responses API, Gemini's.
MESSAGES = ("messages", "input", "contents")
# The fields of a record that may contain its request.
REQUESTS = ("request", "body", "kwargs")
# Instructions beside the messages of a request, which are a part of it.
INSTRUCTIONS = ("system", "instructions", "system_instruction", "systemInstruction")

_ROLES = {
    **dict.fromkeys(("user", "human", "HumanMessage"), "user"),
    **dict.fromkeys(("assistant", "ai", "model", "AIMessage"), "assistant"),
    **dict.fromkeys(("system", "developer", "SystemMessage"), "system"),
}
# The types of parts that are text; others are images, sounds, files, tool calls.
_TEXT_PARTS = ("text", "input_text", "output_text")
# Parts of earlier answers that are not sent again.
_THINKING = {"thinking", "redacted_thinking", "reasoning"}


class LoggedMessage(TypedDict):
    """A message of a conversation; `omitted` names what it had besides text."""

    role: str
    content: str
    omitted: NotRequired[list[str]]


def extract_conversation(record: Any) -> str | None:
    """The messages of a record's request as JSON, up to the model's response; None without messages."""
    if not isinstance(record, Mapping):
        return None
    messages = list(_iterate_messages(record))
    # A log may have the response after the request. A message with calls of tools, which is not plain text, stays.
    while messages and messages[-1]["role"] == "assistant" and "omitted" not in messages[-1]:
        messages.pop()
    if any(message["role"] != "system" for message in messages):
        return json.dumps(messages, ensure_ascii=False)
    for name in REQUESTS:
        if found := extract_conversation(record.get(name)):
            return found
    return None


def list_messages(record: Mapping[str, Any]) -> list[Any]:
    """The messages of a request as it has them; LangChain has lists of messages in a list."""
    messages: list[Any] = next((record[name] for name in MESSAGES if isinstance(record.get(name), list)), [])
    return messages[-1] if messages and all(isinstance(part, list) for part in messages) else messages


def join_text(content: Any) -> str:
    """The text of a message, which may be in parts."""
    if isinstance(content, str):
        return content
    parts: Sequence[Any] = content if isinstance(content, list) else ()
    return "".join(map(_read_part_text, parts))


def _read_part_text(part: Any) -> str:
    """The text of a part of a message, an object or the text itself; "" without one."""
    if isinstance(part, Mapping):
        return str(part.get("text") or "")
    return part if isinstance(part, str) else ""


def _iterate_messages(record: Mapping[str, Any]) -> Iterator[LoggedMessage]:
    """Yield the instructions of a request, then its messages."""
    logged = [message for message in list_messages(record) if isinstance(message, Mapping)]
    if not logged:
        return
    for name in INSTRUCTIONS:
        instructions = record.get(name)
        if isinstance(instructions, Mapping):  # of Gemini
            instructions = instructions.get("parts")
        if text := join_text(instructions):
            yield {"role": "system", "content": text}
    for message in logged:
        yield _normalise_message(message)


def _normalise_message(message: Mapping[str, Any]) -> LoggedMessage:
    """A message of any API in the form of OpenAI's."""
    if isinstance(message.get("kwargs"), Mapping):  # a dump of LangChain, whose `id` ends with the class
        path = message.get("id")
        message = {"type": path[-1] if path and isinstance(path, list) else None} | message["kwargs"]
    role = str(message.get("role") or message.get("type"))
    content = message.get("content") or message.get("parts")
    parts: Sequence[Any] = content if isinstance(content, list) else ()
    omitted = {_name_nontext_kind(part) for part in parts} - {""}
    omitted |= {name for name in ("tool_calls", "function_call") if message.get(name)}
    if role not in _ROLES:
        omitted.add(role)
    logged: LoggedMessage = {"role": _ROLES.get(role, role), "content": join_text(content)}
    if omitted:
        logged["omitted"] = sorted(omitted)
    return logged


def _name_nontext_kind(part: Any) -> str:
    """What a part of a message is besides text; "" for text."""
    if isinstance(part, Mapping):
        kind = None if part.get("type") is None else str(part["type"])
        is_text = kind in (None, *_TEXT_PARTS) and isinstance(part.get("text"), str)
        if is_text or kind in _THINKING:
            return ""
        return kind or str(next(iter(part), "part"))  # else the name of its first field
    return "" if isinstance(part, str) else "part"
