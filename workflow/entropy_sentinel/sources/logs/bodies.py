"""The body of a reply, whichever of OpenAI's forms it has."""

import json
from collections.abc import Mapping
from typing import Any

from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.sources.logs import openai_replies, openai_responses
from entropy_sentinel.sources.logs.reply import Ignored, Reply


def parsed(body: Any) -> Any:
    """A body that was logged as text, as JSON; any other unchanged."""
    if not isinstance(body, str):
        return body
    try:
        return json.loads(body)
    except ValueError as error:
        raise InputError(f"the reply must be JSON: {error}; it is {body[:80]!r}") from None


def responses(body: Any) -> tuple[list[Reply], dict[str, Any]]:
    """The responses in a body, and what it says that may make slices; Ignored for one of another kind."""
    body = parsed(body)
    if isinstance(body, Mapping) and body.get("object") == "list":
        raise Ignored("lists, of embeddings for one")
    if isinstance(body, Mapping) and "output" in body:
        return [openai_responses.response(body)], openai_responses.facts_of(body)
    found = list(openai_replies.choices(body))
    return found, openai_replies.facts_of(body)
