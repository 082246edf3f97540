"""Replies of chat or text completions: OpenAI's, vLLM's, and those of any server of the same form.

- `n` choices are as many samples of the same id.
- A refusal is the text, with its own log-probabilities. A tool call has no text, and often no log-probabilities.
- Log-probabilities cover all tokens, those of reasoning too where the server gives them; `trace_after` leaves it out.
- vLLM lists the sampled token first, and in place of the k-th where it is not among the k most likely.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.sources.logs import columns, reader, reply
from entropy_sentinel.sources.logs.reply import Reply


class Reader(reader.Reader):
    """One reply per record."""

    def replies(self, record: Mapping[str, Any]) -> Iterator[Reply]:
        """A reply of n choices is n responses."""
        found = self.columns(record, facts_of(record))
        for one in choices(record):
            one.columns = found
            yield one


def facts_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a reply says that may make slices."""
    named = {name: body[name] for name in ("system_fingerprint", "service_tier", "metadata") if name in body}
    return columns.time(body.get("created")) | columns.usual(named)


def choices(body: Any) -> Iterator[Reply]:
    """The responses in the body of a reply; that of an error is one that was refused. InputError for anything else."""
    if isinstance(body, Mapping) and body.get("error") and not body.get("choices"):
        yield error_reply(body["error"], body)
        return
    if not isinstance(body, Mapping) or not isinstance(body.get("choices"), list):
        raise InputError("a reply must have `choices`")
    if not body["choices"]:
        raise InputError("the `choices` of the reply are empty: it has no answer")
    for position, choice in enumerate(body["choices"]):
        one = _text_choice(choice) if "text" in choice else message_choice(choice, choice.get("message"))
        one.item_id, one.model = body.get("id"), body.get("model")
        one.sample = choice.get("index", position) if len(body["choices"]) > 1 else None
        one.prompt_tokens = (body.get("usage") or {}).get("prompt_tokens") or 0
        yield one


def error_reply(error: Any, body: Mapping[str, Any]) -> Reply:
    """A request that was answered with an error."""
    return Reply(body.get("id"), body.get("model"), "", reply.refused(error), None)


def message_choice(choice: Mapping[str, Any], message: Any) -> Reply:
    """A choice with a message, whole or put together from a stream's deltas."""
    if not isinstance(message, Mapping):
        raise InputError("a choice must have a `message` or a `text`")
    facts = [
        name
        for name, there in {
            "refusal": message.get("refusal"),
            "tool calls": message.get("tool_calls") or message.get("function_call"),
            "reasoning": message.get("reasoning_content") or message.get("reasoning"),
        }.items()
        if there
    ]
    content = message.get("content")
    if isinstance(content, list):  # in parts, as some servers have it
        content = "".join(part.get("text") or "" for part in content)
    text = reply.storable(content or message.get("refusal") or "")
    steps = _steps(choice.get("logprobs"))
    found, tokens = None if steps is None else trace_of(steps), tokens_of(steps or ())
    return Reply(
        *(None, None, text, reply.finish(choice.get("finish_reason")), found, tokens),
        token_ids=choice.get("token_ids"),
        displaces=True,
        unusable=reply.why_unusable(found, text or "tool calls" * ("tool calls" in facts), facts),
        facts=facts,
    )


def trace_of(steps: Sequence[Mapping[str, Any]]) -> reply.Trace:
    """The log-probabilities of steps {token, logprob, top_logprobs}; a step may lack its alternatives."""
    return reply.trace(
        [step["logprob"] for step in steps],
        [[entry["logprob"] for entry in step.get("top_logprobs") or ()] for step in steps],
    )


def tokens_of(steps: Sequence[Mapping[str, Any]]) -> list[str]:
    """The tokens of steps as text."""
    return [step["token"] for step in steps]


def _steps(logprobs: Any) -> list[Mapping[str, Any]] | None:
    """The steps of content and refusal, one after the other; None where there are none."""
    if not isinstance(logprobs, Mapping):
        return None
    parts = [logprobs.get("content"), logprobs.get("refusal")]
    return None if parts == [None, None] else [step for part in parts for step in part or ()]


def _text_choice(choice: Mapping[str, Any]) -> Reply:
    """A choice of text completions: lists side by side; the sampled token may be one alternative more."""
    logprobs, text = choice.get("logprobs") or {}, reply.storable(choice.get("text") or "")
    sampled, found = logprobs.get("token_logprobs"), None
    if sampled is not None:
        top = logprobs.get("top_logprobs") or [None] * len(sampled)
        found = reply.trace(sampled, [list((entries or {}).values()) for entries in top])
    return Reply(
        *(None, None, text, reply.finish(choice.get("finish_reason")), found, logprobs.get("tokens") or ()),
        token_ids=choice.get("token_ids"),
        unusable=reply.why_unusable(found, text, ()),
    )
