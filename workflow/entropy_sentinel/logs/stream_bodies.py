"""Streams within a record: the text of server-sent events or JSON Lines, or a list of pieces."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.logs.event_joining import make_joiner
from entropy_sentinel.logs.layouts import find_stream
from entropy_sentinel.logs.stream_declarations import Stream
from entropy_sentinel.logs.stream_joiner import Joiner

# The end of a line; JSON may have U+2028 or U+0085, which also end lines in Python.
_LINE_END = re.compile(r"\r\n|\r|\n")
# A text that begins with server-sent events.
_EVENTS = re.compile(r"\s*(?:(?:id|retry|):[^\r\n]*[\r\n]+\s*)*(?:data|event):")
_DONE = "[DONE]"


def is_stream(text: str) -> bool:
    """Whether a text is a stream of server-sent events."""
    return _EVENTS.match(text) is not None


def join_events(text: str) -> dict[str, Any] | None:
    """The reply in the text of server-sent events, or None if there is none.

    A choice whose stream was left early has no `finish_reason`. Events after the first incomplete one are ignored.
    Raises InputError for several replies in one text, and if a piece cannot be joined.
    """
    return join_records(_parse_events(text))


def join_lines(text: str) -> dict[str, Any] | None:
    """The reply in a text with a JSON object per line, or None if there is none."""
    lines = [line for line in _LINE_END.split(text) if line.strip()]
    try:
        records = [json.loads(line) for line in lines]
    except (ValueError, RecursionError):
        return None
    return join_records(records) if len(records) > 1 else None


def join_records(records: Iterable[Any]) -> dict[str, Any] | None:
    """The reply in the pieces of one stream, or in a whole record; None if there is none."""
    joiner: Joiner | None = None
    stream: Stream | None = None
    whole: list[dict[str, Any]] = []
    for record in records:
        if not isinstance(record, Mapping):
            continue
        if stream is None and (stream := find_stream(record)) is not None:
            joiner = make_joiner(stream, is_one_reply=True)
        is_part = joiner is not None and joiner.has_open_reply(record) and "error" not in record
        if joiner is not None and stream is not None and (stream.is_piece(record) or is_part):
            whole += [reply.build_reply() for reply in joiner.add(record)]
        elif {"choices", "output", "error"} & record.keys():
            whole.append(dict(record))
    if joiner is not None:
        whole += [reply.build_reply() for reply in joiner.close_all()]
    replies = [reply for reply in whole if "error" not in reply] or whole
    if len(replies) > 1:
        raise InputError(f"the body has {len(replies)} replies, but a request has one; log each as a record of its own")
    return replies[0] if replies else None


def _parse_events(text: str) -> list[dict[str, Any]]:
    """The JSON objects of the events up to the first incomplete one; an event may have several lines."""
    events: list[dict[str, Any]] = []
    data: list[str] = []
    for line in [*_LINE_END.split(text), ""]:
        if line.startswith("data:"):
            data.append(line.removeprefix("data:").strip())
            if data[-1] == _DONE:
                data = []
                continue
            try:
                event = json.loads("\n".join(data))
            except (ValueError, RecursionError):
                continue
            data = []
            if isinstance(event, dict):
                events.append(event)
        elif not line and any(data):
            break
    return events
