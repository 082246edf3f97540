"""Read replies of OpenAI's APIs and of compatible servers: single replies, batches, request-reply pairs, and chunks.

- `n` choices are `n` samples of the same id.
- A refusal is used as the text, with the refusal's log-probabilities. A tool call has no text, and often no
  log-probabilities.
- Log-probabilities cover all tokens, including reasoning if the server returns it; `trace_after` leaves reasoning out.
- vLLM lists the sampled token first. If it is not among the k most likely tokens, it replaces the k-th.
- In the Responses API, each text of the output has its own log-probabilities. The texts and the traces of several
  messages are joined. Other items (reasoning, tool calls) have no log-probabilities.
- Chunks are joined (`joining`). A stream without a finish reason was interrupted; its finish reason is `unknown`.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.core.printable import describe_json
from entropy_sentinel.logs.event_joining import EventJoiner
from entropy_sentinel.logs.layout_reader import parse_layout_responses
from entropy_sentinel.logs.layouts import find_layout
from entropy_sentinel.logs.nested_replies import find_replies, has_messages
from entropy_sentinel.logs.parsed_response import (
    NotAResponse,
    Reply,
    explain_unusable,
    format_refusal,
    parse_finish_reason,
    parse_id,
    replace_surrogates,
)
from entropy_sentinel.logs.partial_reply import PartialReply
from entropy_sentinel.logs.reader_base import Reader, collect_columns, collect_request_columns, parse_time_column
from entropy_sentinel.logs.step_reading import NO_STEPS, read_steps
from entropy_sentinel.logs.stream_bodies import is_stream, join_events, join_lines
from entropy_sentinel.logs.stream_declarations import CHUNKS, RESPONSES
from entropy_sentinel.logs.stream_joiner import Joiner
from entropy_sentinel.logs.stream_replies import BrokenStream, close_streams, parse_streams


class OpenAIReader(Reader):
    """Reads replies and the pieces of streamed replies, which may be mixed."""

    def __init__(self) -> None:
        """Start a file."""
        self._chunks = Joiner(CHUNKS)
        self._events = EventJoiner(RESPONSES)
        self._broken = list[BrokenStream]()

    def replies(self, record: Mapping[str, Any]) -> Iterator[Reply]:
        """Yield a response for each choice of the reply, or of the streams that end before this piece."""
        if self.stated_format == "openai":
            yield from self._read_completion(record)
        elif RESPONSES.is_piece(record):
            yield from self._read_streams(self._events.add(record, self.place))
        elif (
            record.get("object") == "response"
            or ("choices" not in record and has_messages(record))
            or self.stated_format == "openai-responses"
        ):
            self._events.drop_reply(record)  # the whole reply replaces its events
            yield self._read_response(record)
        elif self.stated_format == "openai-stream" or CHUNKS.is_piece(record) or self._chunks.has_open_reply(record):
            yield from self._read_streams(self._chunks.add(record, self.place))
        else:
            yield from self._read_completion(record)

    def done(self) -> Iterator[Reply]:
        """Yield the responses of the streams that `[DONE]` ends."""
        yield from self._read_streams(self._chunks.end_stream())

    def rest(self) -> Iterator[Callable[[], Reply]]:
        """Yield the responses whose stream ends with the file, and the errors of streams that cannot be joined."""
        for joiner in (self._chunks, self._events):
            yield from close_streams(joiner, self._read_body, self._broken)

    def _read_streams(self, streams: Iterable[PartialReply]) -> Iterator[Reply]:
        """Yield the responses of streams that were closed."""
        return parse_streams(streams, self._read_body, self._broken)

    def _read_body(self, body: Mapping[str, Any]) -> Iterable[Reply]:
        """The responses of a whole reply, of either API."""
        return self._read_completion(body) if "choices" in body else [self._read_response(body)]

    def _read_completion(self, body: Mapping[str, Any]) -> Iterator[Reply]:
        """Yield the response of each choice of a chat or text completion, with its columns."""
        columns = self.columns(body, extract_completion_columns(body))
        for reply in parse_choices(body):
            reply.columns = columns
            yield reply

    def _read_response(self, body: Mapping[str, Any]) -> Reply:
        """The response of a reply of the Responses API, with its columns."""
        reply = parse_response(body)
        reply.columns = self.columns(body, extract_response_columns(body))
        return reply


def extract_completion_columns(body: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a reply that may define slices."""
    fields = {name: body[name] for name in ("system_fingerprint", "service_tier", "metadata") if name in body}
    return parse_time_column(body.get("created")) | collect_columns(fields)


def parse_choices(body: Any) -> Iterator[Reply]:
    """Yield the responses in a reply's body, or a refused response for an error; else raise InputError."""
    if isinstance(body, Mapping) and not body.get("choices") and (error := find_error(body)):
        yield make_error_reply(error, body)
        return
    if not isinstance(body, Mapping) or not isinstance(body.get("choices"), list):
        raise InputError("a reply must have `choices`")
    if not body["choices"]:
        raise InputError("the `choices` of the reply are empty, so it has no answer")
    usage = body.get("usage")
    for position, choice in enumerate(body["choices"]):
        if not isinstance(choice, Mapping):
            raise InputError(f"a choice must be an object, got {describe_json(choice)}"[:200])
        prompt_tokens = (usage.get("prompt_tokens") if isinstance(usage, Mapping) else 0) or 0
        if "text" in choice:
            reply = _parse_text_choice(choice, prompt_tokens if isinstance(prompt_tokens, int) else 0)
        else:
            # vLLM's endpoint for tokens has no message.
            reply = parse_message_choice(choice, choice.get("message", {} if "token_ids" in choice else None))
        reply.item_id = reply.reply_id = parse_id(body.get("id"))
        reply.model = body.get("model")
        reply.sample = choice.get("index", position) if len(body["choices"]) > 1 else None
        reply.prompt_tokens = prompt_tokens
        yield reply


def make_error_reply(error: Any, body: Mapping[str, Any]) -> Reply:
    """The response to a request that failed."""
    return Reply(body.get("id"), model=body.get("model"), text="", finish_reason=format_refusal(error), trace=None)


def parse_message_choice(choice: Mapping[str, Any], message: Any) -> Reply:
    """The response of a choice whose message may have been joined from a stream's chunks."""
    if not isinstance(message, Mapping):
        stream = format_option("format", "openai-stream")
        chunk = f"; chunks of a stream are {stream}" if "delta" in choice else ""
        raise InputError(f"a choice must have a `message` or a `text`{chunk}")
    facts = []
    if message.get("refusal"):
        facts.append("refusal")
    if message.get("tool_calls") or message.get("function_call"):
        facts.append("tool calls")
    if message.get("reasoning_content") or message.get("reasoning"):
        facts.append("reasoning")
    content = message.get("content")
    if isinstance(content, list):  # some servers send the content in parts
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    text = content or message.get("refusal") or ""
    if not isinstance(text, str):
        raise InputError(f"the `content` of a message must be a string, got {describe_json(text)}"[:200])
    text = replace_surrogates(text)
    logprobs = choice.get("logprobs")
    trace, tokens = read_steps(logprobs)
    reasoning_steps = logprobs.get("reasoning_content") if isinstance(logprobs, Mapping) else None
    # A tool call is an answer as well: without log-probabilities, it is unusable.
    answer = text or ("tool calls" if "tool calls" in facts else "")
    return Reply(
        item_id=None,
        model=None,
        text=text,
        finish_reason=parse_finish_reason(choice.get("finish_reason")),
        trace=trace,
        tokens=tokens,
        token_ids=choice.get("token_ids"),
        displaces=True,
        unusable=explain_unusable(trace, answer, facts),
        facts=facts,
        thinking=len(reasoning_steps) if reasoning_steps else None,
    )


def _parse_text_choice(choice: Mapping[str, Any], prompt_tokens: int) -> Reply:
    """The response of a text completion.

    With `echo`, the prompt's tokens come first, and the first has no value; they are left out.
    """
    logprobs = choice.get("logprobs") or {}
    text = choice.get("text") or ""
    sampled = logprobs.get("token_logprobs")
    if sampled and sampled[0] is None:
        if not 0 < prompt_tokens < len(logprobs["token_logprobs"]):
            raise InputError(
                "the first token has no log-probability, because it is the prompt's; request `echo: false`"
            )
        logprobs = {name: value[prompt_tokens:] for name, value in logprobs.items() if isinstance(value, list)}
        text = "".join(logprobs.get("tokens") or ())
    trace, tokens = read_steps(logprobs)
    text = replace_surrogates(text)
    return Reply(
        item_id=None,
        model=None,
        text=text,
        finish_reason=parse_finish_reason(choice.get("finish_reason")),
        trace=trace,
        tokens=tokens,
        token_ids=choice.get("token_ids"),
        unusable=explain_unusable(trace, text, ()),
    )


def extract_response_columns(body: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a reply that may define slices; the reply repeats the settings of its request."""
    return parse_time_column(body.get("created_at")) | collect_request_columns(body)


def parse_response(body: Any) -> Reply:
    """The response in a reply's body, or a refused response for an error; else raise InputError."""
    if isinstance(body, Mapping) and body.get("error"):
        return make_error_reply(body["error"], body)
    if not isinstance(body, Mapping) or not isinstance(body.get("output"), list):
        raise InputError("a reply of the Responses API must have an `output`")
    parts: list[Mapping[str, Any]] = []
    for item in body["output"]:
        if item.get("type") == "message":
            parts += item.get("content") or ()
    texts = [part.get("text") or part.get("refusal") or "" for part in parts]
    facts = _list_facts([item.get("type") for item in (*body["output"], *parts)])
    lists_of_steps = [part["logprobs"] for part in parts if part.get("logprobs")]
    steps = list(chain.from_iterable(lists_of_steps))
    logprobs, tokens = read_steps(steps) if steps else NO_STEPS
    text = replace_surrogates("".join(texts))
    if steps and len(lists_of_steps) < sum(map(bool, texts)):
        raise InputError("only part of the text has log-probabilities")
    return Reply(
        item_id=parse_id(body.get("id") or body.get("response_id")),
        reply_id=parse_id(body.get("id") or body.get("response_id")),
        model=body.get("model"),
        text=text,
        finish_reason=_parse_finish(body),
        trace=logprobs,
        tokens=tokens,
        prompt_tokens=(body.get("usage") or {}).get("input_tokens") or 0,
        displaces=True,
        unusable=explain_unusable(logprobs, text, facts),
        facts=facts,
    )


def _list_facts(kinds: Sequence[Any]) -> list[str]:
    """What a reply with items and parts of these kinds has besides text: `refusal`, `tool calls`, `reasoning`."""
    facts = []
    if "refusal" in kinds:
        facts.append("refusal")
    if any(str(kind).endswith("_call") for kind in kinds):
        facts.append("tool calls")
    if "reasoning" in kinds:
        facts.append("reasoning")
    return facts


def _parse_finish(body: Mapping[str, Any]) -> str:
    """The finish reason of a reply; a client that keeps only the output has the status of its messages."""
    items = [item for item in body.get("output") or () if isinstance(item, Mapping)]
    status = body.get("status") or next((item["status"] for item in reversed(items) if item.get("status")), None)
    if status == "completed":
        return "stop"
    reason = (body.get("incomplete_details") or {}).get("reason")
    return "length" if reason == "max_output_tokens" else parse_finish_reason(reason or status)


def parse_body(body: Any) -> Any:
    """Parse a body that was logged as text, JSON or a stream's events; return any other body unchanged."""
    if not isinstance(body, str):
        return body
    if is_stream(body):
        return join_events(body)
    try:
        value = json.loads(body)
        return parse_body(value) if isinstance(value, str) else value
    except ValueError as error:
        if (reply := join_lines(body)) is not None:
            return reply
        raise InputError(f"the reply must be JSON: {error}; got {body[:80]!r}") from None


def parse_responses(body: Any, status: Any = None) -> tuple[list[Reply], dict[str, Any]]:
    """The responses in a body, and the columns that may define slices, by name; raises NotAResponse for lists.

    `status` is that of HTTP, if the log has it. A body that is no reply is the error of a refused request if the
    status says so. Otherwise replies are searched for within it.
    """
    has_failed = type(status) is int and status >= _FIRST_ERROR
    try:
        body = parse_body(body)
    except InputError:
        if not has_failed:
            raise
    if not isinstance(body, Mapping):
        if has_failed:
            return [make_error_reply(body or f"status {status}", {})], {}
        return _parse_nested(body)
    if body.get("object") == "list":
        raise NotAResponse("lists, for example of embeddings")
    if "choices" in body:
        responses = list(parse_choices(body))
        return responses, extract_completion_columns(body)
    if body.get("object") == "response" or has_messages(body):
        return [parse_response(body)], extract_response_columns(body)
    if layout := find_layout(body):
        return parse_layout_responses(layout, body)
    error = find_error(body) or None
    if has_failed:
        error = error or body or f"status {status}"
    if has_failed or (error is not None and not any(find_replies(body))):
        return [make_error_reply(error, body)], {}
    return _parse_nested(body)


def _parse_nested(body: Any) -> tuple[list[Reply], dict[str, Any]]:
    """The responses of the replies within a value, each once, and their columns; of several values, the first's."""
    replies = list(find_replies(body))
    if not replies:
        raise InputError("a reply must have `choices`")
    responses: list[Reply] = []
    columns: dict[str, Any] = {}
    seen = set[bytes]()  # log-probabilities of responses
    for reply in replies:
        reply_responses, reply_columns = parse_responses(reply)
        columns = reply_columns | columns
        for response in reply_responses:
            content = b"" if response.trace is None else response.trace.sampled.tobytes()
            if not content or content not in seen:
                responses.append(response)
            seen.add(content)
    return responses, columns


# The first status of HTTP that is an error.
_FIRST_ERROR = 400


def find_error(body: Any) -> Any:
    """The error in a server's body without an answer, in any of the usual forms; None if it is none.

    These are {"error"}, vLLM's {"object": "error", "message"}, {"detail"}, and {"error_code" or "code", "message"}.
    """
    if not isinstance(body, Mapping):
        return None
    if body.get("error"):
        return body["error"]
    if body.get("object") == "error" or ("message" in body and {"error_code", "code"} & set(body)):
        return body
    return body.get("detail")


class BatchReader(Reader):
    """Reads one request per record, identified by its `custom_id`."""

    def replies(self, record: Mapping[str, Any]) -> Iterator[Reply]:
        """Yield the responses to the request, or a refused response for an error."""
        body, status, error = _split_batch_line(record)
        if error or body in (None, "", {}):
            responses = [make_error_reply(error or {"message": "no response"}, {})]
            reply_columns: dict[str, Any] = {}
        else:
            responses, reply_columns = parse_responses(body, status)
        columns = self.columns(record, reply_columns)
        custom_id = parse_id(record["custom_id"])
        for reply in responses:
            reply.item_id = custom_id or reply.item_id
            reply.columns = columns
            yield reply


def _split_batch_line(record: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """The body, the status and the error in a line of a batch of OpenAI, Mistral or Anthropic."""
    result = record.get("result")
    if isinstance(result, Mapping) and "response" not in record:  # of Anthropic
        error = None if result.get("type") == "succeeded" else result.get("error") or {"message": result.get("type")}
        return result.get("message"), None, error
    response = record.get("response")
    if not isinstance(response, Mapping):
        return response, None, record.get("error")
    has_body = "body" in response or "status_code" in response
    body = response.get("body") if has_body else response
    return body, response.get("status_code"), record.get("error")
