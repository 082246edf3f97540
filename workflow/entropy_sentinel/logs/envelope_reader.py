"""Read the replies inside of records, whose places are declared (`envelopes`)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.features.exclusion_reasons import UNREADABLE
from entropy_sentinel.logs.envelopes import ANYWHERE, LOGPROBS_REFUSED, Envelope
from entropy_sentinel.logs.layouts import find_layout
from entropy_sentinel.logs.nested_replies import find_replies
from entropy_sentinel.logs.openai_format import find_error, make_error_reply, parse_body, parse_responses
from entropy_sentinel.logs.parsed_response import NotAResponse, Reply, find_id, replace_surrogates
from entropy_sentinel.logs.reader_base import (
    Reader,
    collect_columns,
    collect_metadata,
    collect_request_columns,
    parse_time_column,
)
from entropy_sentinel.logs.value_paths import EVERY, find_value, parse_json

_STATUS = re.compile(r"\s*(-?\d{1,9})(?:\s|$)")
# The first status of HTTP that is an error.
_FIRST_ERROR = 400
# Words of a status that are no reason for a missing reply.
_SUCCESS_WORDS = ("", "ok", "success", "succeeded", "completed", "done")


class EnvelopeReader(Reader):
    """Reads the reply inside a record, with its request and the record's columns."""

    def __init__(self, envelope: Envelope) -> None:
        """Start a file with records of this form."""
        self._envelope = envelope

    def replies(self, record: Mapping[str, Any]) -> Iterator[Reply]:
        """Yield the responses to the request, or to each request of a record with several."""
        if self._envelope.each:
            yield from self._read_calls(record)
        elif self._envelope.is_other_step(record) and find_value(record, self._envelope.children):
            yield from self._read_children(record)
        elif self._envelope.is_other_step(record):
            raise NotAResponse("spans of other steps than a model's call")
        else:
            yield from self._read_call(record, {})

    def _read_children(self, record: Mapping[str, Any]) -> Iterator[Reply]:
        """Yield the responses of the records within a record, such as the runs of a chain."""
        children = find_value(record, self._envelope.children)
        for child in filter(self._envelope.recognises, children if isinstance(children, list) else ()):
            try:
                yield from self.replies(child)
            except NotAResponse:
                continue

    def _read_calls(self, record: Mapping[str, Any]) -> Iterator[Reply]:
        """Yield the responses of a record's calls, such as spans of a trace; spans that call no model are left out."""
        parts = [part for part in find_value(record, self._envelope.each) or () if isinstance(part, Mapping)]
        calls = [part for part in parts if self._envelope.is_call(part)]
        n = 0
        seen = set[bytes]()  # log-probabilities of responses
        for part in calls or parts:
            try:
                replies = list(self._read_call(part, record))
            except InputError as error:
                if not calls:  # the part does not say that it is a call of a model
                    continue
                replies = [
                    Reply(
                        item_id=None,
                        model=None,
                        text="",
                        finish_reason="unknown",
                        trace=None,
                        unusable=replace_surrogates(f"{UNREADABLE}{error}"),
                    )
                ]
            for reply in replies:
                content = b"" if reply.trace is None else reply.trace.sampled.tobytes()
                # Spans of unknown kinds may repeat the reply of a span within.
                if calls or (content and content not in seen):
                    n += 1
                    yield reply
                seen.add(content)
        if not n:
            raise NotAResponse("traces without a model's reply")

    def _read_call(self, call: Mapping[str, Any], record: Mapping[str, Any]) -> Iterator[Reply]:
        """Yield the responses of a model's call, a part of a `record` or all of it.

        Times and metadata that the call lacks are looked up in the record.
        """
        envelope = self._envelope
        contents = self._find_contents(call)
        status = find_value(call, envelope.status)
        failure = self._explain_missing_reply(call, status)
        if not contents and failure is None:
            raise InputError(f"has no reply in {' or '.join(envelope.reply)}; fields: {', '.join(call)[:200]}")
        call_id = find_id(call, envelope.item_id)
        try:
            replies, reply_columns = self._parse_contents(contents, status, failure)
        except InputError:
            if not any(find_replies(call)):
                raise
            # The declared field has only the text, but another one, such as the spans of a table of traces, has the
            # whole reply.
            replies, reply_columns = parse_responses(call)
            call_id = None if any(reply.item_id for reply in replies) else call_id
        request = self._read_request(call)
        columns = self._build_columns(call, record, request, reply_columns)
        seed = request.get("seed")
        for reply in replies:
            reply.item_id = reply.item_id if call_id is None else call_id
            reply.model = reply.model or request.get("model") or find_value(call, envelope.model)
            reply.columns = columns
            if reply.unusable and isinstance(refusal := call.get(LOGPROBS_REFUSED), str):
                reply.unusable = replace_surrogates(f"{reply.unusable}: {refusal}")
            reply.seed = seed if type(seed) is int and 0 <= seed < 2**63 else -1
            yield reply

    def _read_request(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        """The body of a call's request, empty without one; a list is its messages."""
        request = find_value(call, self._envelope.request)
        request = parse_json(request) if isinstance(request, str) else request
        request = request.get("body", request) if isinstance(request, Mapping) else request
        if isinstance(request, list):
            return {"messages": request}
        return request if isinstance(request, Mapping) else {}

    def _find_contents(self, call: Mapping[str, Any]) -> list[Any]:
        """The replies of a call: one, or several of a path with `*`."""
        for path in self._envelope.reply:
            found = find_value(call, [path])
            if found is not None:
                contents = found if EVERY in path else [found]
                return [content for content in contents if content not in ({}, "")]
        # A span may have the reply, or its parts, in other attributes.
        is_span = bool(self._envelope.each)
        return [call] if is_span and (find_layout(call) or any(find_replies(call))) else []

    def _explain_missing_reply(self, call: Mapping[str, Any], status: Any) -> Any:
        """Why a call has no reply, if it has none: an error, a status of HTTP, or its words; else None."""
        if error := find_value(call, self._envelope.error):
            return error
        number = _parse_status(status)
        if number is not None:
            return f"status {number}" if number >= _FIRST_ERROR or number < 0 else None
        is_reason = isinstance(status, str) and status.strip().lower() not in _SUCCESS_WORDS
        return _extract_reason(str(status)) if is_reason else None

    def _parse_contents(self, contents: list[Any], status: Any, failure: Any) -> tuple[list[Reply], dict[str, Any]]:
        """The responses in a call's replies, and the columns that these give by name.

        Without a response, one that says why there is none: `failure`, an error or a status.
        """
        responses: list[Reply] = []
        reply_columns: dict[str, Any] = {}
        for content in contents:
            try:
                content_responses, columns = _parse_content(content, status)
            except InputError:
                if failure is None:
                    raise
                continue
            responses += content_responses
            reply_columns = columns | reply_columns
        if not responses:
            return [make_error_reply(failure, {})], reply_columns
        if len(contents) > 1:
            for position, reply in enumerate(responses):
                reply.sample = position
        return responses, reply_columns

    def _build_columns(
        self,
        call: Mapping[str, Any],
        record: Mapping[str, Any],
        request: Mapping[str, Any],
        reply_columns: Mapping[str, Any],
    ) -> dict[str, Any]:
        """The columns of a call's responses: time, metadata, settings of the request, fields with one value."""
        envelope = self._envelope
        paths = (*envelope.reply, *envelope.request, *envelope.item_id)
        # The first names of the paths: these fields are not columns.
        fields_of_parts = {path.split(".")[0].split("[")[0] for path in paths}
        call_columns = collect_columns(call, leave_out={LOGPROBS_REFUSED, *fields_of_parts})
        time = parse_time_column(find_value(call, envelope.time) or find_value(record, envelope.time))
        metadata = find_value(call, envelope.metadata) or find_value(record, envelope.metadata)
        metadata = parse_json(metadata) if isinstance(metadata, str) else metadata
        usual = (
            time
            | dict(reply_columns)
            | collect_request_columns(request)
            | call_columns
            | collect_metadata({"metadata": metadata})
        )
        return self.columns({**record, **call, "request": request}, usual)


def _parse_content(content: Any, status: Any) -> tuple[list[Reply], dict[str, Any]]:
    """The responses in one reply, an object or its text, and its columns by name; `status` is that of the call."""
    # In an HTTP log, the body is a field next to the status.
    response = parse_body(content) if isinstance(content, str) and _is_json(content) else content
    if isinstance(response, Mapping) and "body" in response and "choices" not in response:
        status = response.get("status_code", response.get("status", status))
        response = response["body"]
    return parse_responses(response, _parse_status(status))


def _parse_status(status: Any) -> int | None:
    """A status of HTTP, or another number, which may be the beginning of a text such as `200 OK`."""
    if isinstance(status, str) and (number := _STATUS.match(status)):
        return int(number[1])
    return status if type(status) is int else None


def _extract_reason(status: str) -> Any:
    """The reason in the words of a status, which may end with the server's error as JSON."""
    words, brace, rest = status.partition("{")
    error = find_error(parse_json(brace + rest)) if brace else None
    return status if error is None else error


def _is_json(text: str) -> bool:
    """Whether a text may be JSON, or a stream of server-sent events with JSON."""
    return text.lstrip().startswith(("{", "[", '"', "data:", "event:"))


class NestedReader(EnvelopeReader):
    """Reads the replies anywhere within a record of no known format."""

    def __init__(self) -> None:
        """Start a file."""
        super().__init__(ANYWHERE)

    def _find_contents(self, call: Mapping[str, Any]) -> list[Any]:
        """The whole record, within which replies are searched for."""
        return [call]
