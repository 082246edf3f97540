"""Read the replies inside of records, whose places are declared (`envelopes`)."""

from collections.abc import Iterator, Mapping
from typing import Any

from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.sources.logs.envelopes import LOGPROBS_REFUSED, Envelope
from entropy_sentinel.sources.logs.openai import parsed, responses_in
from entropy_sentinel.sources.logs.paths import first, from_json
from entropy_sentinel.sources.logs.reader import Reader, metadata_columns, request_columns, time_column, usual_columns
from entropy_sentinel.sources.logs.reply import Reply, first_id, storable


class EnvelopeReader(Reader):
    """Reads the reply inside a record, with its request and the record's columns."""

    def __init__(self, envelope: Envelope) -> None:
        """Start a file with records of this form."""
        self._envelope = envelope

    def replies(self, record: Mapping[str, Any]) -> Iterator[Reply]:
        """Yield the responses to the request."""
        envelope = self._envelope
        content, status = first(record, envelope.reply), first(record, envelope.status)
        if content is None and type(status) is not int:
            raise InputError(f"has no reply in {' or '.join(envelope.reply)}; fields: {', '.join(record)[:200]}")
        request = _body(first(record, envelope.request))
        request = request if isinstance(request, Mapping) else {}
        # In an HTTP log, the body is a field next to the status.
        response = parsed(content) if isinstance(content, str) and _is_json(content) else content
        if isinstance(response, Mapping) and "body" in response and "choices" not in response:
            status = response.get("status_code", response.get("status", status))
            response = response["body"]
        replies, facts = responses_in(response, status)
        own_id, columns = first_id(record, envelope.item_id), self._columns(record, request, facts)
        seed = request.get("seed")
        for reply in replies:
            reply.item_id = reply.item_id if own_id is None else own_id
            reply.model = reply.model or request.get("model") or first(record, envelope.model)
            reply.columns = columns
            if reply.unusable and isinstance(why := record.get(LOGPROBS_REFUSED), str):
                reply.unusable = storable(f"{reply.unusable}: {why}")
            reply.seed = seed if type(seed) is int and 0 <= seed < 2**63 else -1
            yield reply

    def _columns(
        self, record: Mapping[str, Any], request: Mapping[str, Any], facts: Mapping[str, Any]
    ) -> dict[str, Any]:
        envelope = self._envelope
        paths = (*envelope.reply, *envelope.request, *envelope.item_id)
        fields_of_parts = {path.split(".")[0].split("[")[0] for path in paths}
        own = usual_columns(record, leave_out={LOGPROBS_REFUSED, *fields_of_parts})
        time = first(record, envelope.time)
        named = {"time": time} if isinstance(time, str) else time_column(time)
        metadata = first(record, envelope.metadata)
        metadata = from_json(metadata) if isinstance(metadata, str) else metadata
        usual = named | dict(facts) | request_columns(request) | own | metadata_columns({"metadata": metadata})
        return self.columns({**record, "request": request}, usual)


def _body(request: Any) -> Any:
    request = from_json(request) if isinstance(request, str) else request
    return request.get("body", request) if isinstance(request, Mapping) else request


def _is_json(text: str) -> bool:
    return text.lstrip().startswith(("{", "[", "data:", "event:"))
