"""Read the replies inside of records, whose places are declared (`envelopes`)."""

from collections.abc import Iterator, Mapping
from typing import Any

from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.sources.logs.envelopes import LOGPROBS_REFUSED, Envelope
from entropy_sentinel.sources.logs.openai import parsed, responses_in
from entropy_sentinel.sources.logs.paths import first, from_json
from entropy_sentinel.sources.logs.reader import Reader, metadata_columns, request_columns, time_column, usual_columns
from entropy_sentinel.sources.logs.reply import Reply, storable


class EnvelopeReader(Reader):
    """Reads the reply inside a record, with its request and the record's columns."""

    def __init__(self, envelope: Envelope) -> None:
        """Start a file with records of this form."""
        self._envelope = envelope

    def replies(self, record: Mapping[str, Any]) -> Iterator[Reply]:
        """Yield the responses to the request."""
        envelope = self._envelope
        reply, status = first(record, envelope.reply), first(record, envelope.status)
        if reply is None and type(status) is not int:
            raise InputError(f"has no reply in {' or '.join(envelope.reply)}; fields: {', '.join(record)[:200]}")
        request = _body(first(record, envelope.request))
        request = request if isinstance(request, Mapping) else {}
        # In an HTTP log, the body is a field next to the status.
        response = parsed(reply) if isinstance(reply, str) and _is_json(reply) else reply
        if isinstance(response, Mapping) and "body" in response and "choices" not in response:
            status = response.get("status_code", response.get("status", status))
            response = response["body"]
        responses, facts = responses_in(response, status)
        own_id, columns = first(record, envelope.item_id), self._columns(record, request, facts)
        for each in responses:
            each.item_id = each.item_id if own_id is None else own_id
            each.model = each.model or request.get("model") or first(record, envelope.model)
            each.columns = columns
            if each.unusable and isinstance(why := record.get(LOGPROBS_REFUSED), str):
                each.unusable = storable(f"{each.unusable}: {why}")
            seed = request.get("seed")
            each.seed = seed if type(seed) is int and 0 <= seed < 2**63 else -1
            yield each

    def _columns(
        self, record: Mapping[str, Any], request: Mapping[str, Any], facts: Mapping[str, Any]
    ) -> dict[str, Any]:
        envelope = self._envelope
        paths = (*envelope.reply, *envelope.request, *envelope.item_id)
        own = usual_columns(record, leave_out=(LOGPROBS_REFUSED, *(path.split(".")[0].split("[")[0] for path in paths)))
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
