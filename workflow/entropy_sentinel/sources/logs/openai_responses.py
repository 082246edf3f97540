"""Replies of OpenAI's Responses API, and the events that close its streams.

Log-probabilities stand with each text of the output; texts of several messages are joined, with their traces. Items
that are no message (reasoning, tool calls) have none.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.sources.logs import columns, reader, reply
from entropy_sentinel.sources.logs.openai_replies import error_reply, tokens_of, trace_of
from entropy_sentinel.sources.logs.reply import Ignored, Reply

_CLOSING = ("response.completed", "response.incomplete", "response.failed")


class Reader(reader.Reader):
    """One reply per record; of a stream, the event that closes it, which has all of it."""

    def replies(self, record: Mapping[str, Any]) -> Iterator[Reply]:
        """A reply is one response."""
        kind = str(record.get("type", ""))
        if kind.startswith("response.") and kind not in _CLOSING:
            raise Ignored("events within a stream")
        body = record["response"] if kind in _CLOSING else record
        one = response(body)
        one.columns = self.columns(record, facts_of(body))
        yield one


def facts_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a reply says that may make slices: it repeats its request's settings."""
    return columns.time(body.get("created_at")) | columns.of_request(body)


def response(body: Any) -> Reply:
    """The response in the body of a reply; that of an error is one that was refused. InputError for anything else."""
    if isinstance(body, Mapping) and body.get("error"):
        return error_reply(body["error"], body)
    if not isinstance(body, Mapping) or not isinstance(body.get("output"), list):
        raise InputError("a reply of the Responses API must have an `output`")
    parts = [part for item in body["output"] if item.get("type") == "message" for part in item.get("content") or ()]
    texts = [part.get("text") or part.get("refusal") or "" for part in parts]
    kinds = {item.get("type") for item in body["output"]} | {part.get("type") for part in parts}
    facts = [name for name, there in _facts(kinds).items() if there]
    given = [part["logprobs"] for part in parts if part.get("logprobs")]
    steps = [step for part in given for step in part]
    found, text = (trace_of(steps) if steps else None), reply.storable("".join(texts))
    if steps and len(given) < sum(map(bool, texts)):
        raise InputError("a part of the text has log-probabilities, and another has none")
    return Reply(
        *(body.get("id"), body.get("model"), text, _finish(body), found, tokens_of(steps)),
        prompt_tokens=(body.get("usage") or {}).get("input_tokens") or 0,
        displaces=True,
        unusable=reply.why_unusable(found, text, facts),
        facts=facts,
    )


def _facts(kinds: set[Any]) -> dict[str, bool]:
    calls = any(str(kind).endswith("_call") for kind in kinds)
    return {"refusal": "refusal" in kinds, "tool calls": calls, "reasoning": "reasoning" in kinds}


def _finish(body: Mapping[str, Any]) -> str:
    status = body.get("status")
    if status == "completed":
        return "stop"
    why = (body.get("incomplete_details") or {}).get("reason")
    return "length" if why == "max_output_tokens" else reply.finish(why or status)
