"""Streams of server-sent events, joined to one reply."""

import json
from collections.abc import Iterator
from typing import Any

from entropy_sentinel.sources.logs.chunks import CLOSING, add_part


def joined(body: bytes) -> dict[str, Any] | None:
    """Return the reply whose chunks are in `body`, or None if there is none.

    A choice whose stream was left early has no `finish_reason`.
    """
    reply: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    for event in _events(body):
        if event.get("type") in CLOSING:
            return dict(event["response"])
        if "choices" not in event:
            continue
        reply |= {name: value for name, value in event.items() if name != "choices" and value is not None}
        for part in event["choices"]:
            add_part(choices.setdefault(part.get("index", 0), {}), part)
    if not choices:
        return None
    object_ = str(reply.get("object", "")).removesuffix(".chunk")
    return {**reply, "object": object_, "choices": [{"index": index, **choices[index]} for index in sorted(choices)]}


def _events(body: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of the stream, up to the first incomplete one."""
    for line in body.split(b"\n"):
        data = line.removeprefix(b"data:").strip()
        if line.startswith(b"data:") and data != b"[DONE]":
            try:
                yield json.loads(data)
            except ValueError:
                return
