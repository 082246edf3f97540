"""Records that hold a server's reply, and perhaps its request, among other fields: where these stand.

A reply is an object or its text; it may be of any format. Paths are those of `paths`. Of several, the first with a
value counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from entropy_sentinel.sources.logs.paths import Paths, first

# Names of columns with a log's own id; the first existing column counts.
IDS = ("item_id", "prompt_id", "custom_id", "request_id", "id")
# The field in which capture says why a reply has no log-probabilities.
LOGPROBS_REFUSED = "logprobs_refused"


@dataclass(frozen=True)
class Envelope:
    """Where a record has its parts.

    Attributes:
        reply: Paths of the reply.
        request: Paths of the request.
        metadata: Paths of an object whose values are columns `metadata.NAME`.
        item_id: Paths of the id of the call; without one, the reply's own id counts.
        model: Paths of the model's name, if neither reply nor request has it.
        time: Paths of the time of the call, if the reply has none.
        status: Paths of the status of HTTP; from 400 on, a record without a reply is a refused request.
        needs: Paths that a record must have to be recognised, besides the reply.
        reply_may_lack: Whether a record without a reply is recognised by `needs` alone.
    """

    reply: Paths
    request: Paths = ()
    metadata: Paths = ()
    item_id: Paths = IDS
    model: Paths = ()
    time: Paths = ()
    status: Paths = ("status", "status_code", "response_status", "http_status")
    needs: Paths = ()
    reply_may_lack: bool = False

    def recognises(self, record: Mapping[str, Any]) -> bool:
        """Return whether a record has this form."""
        there = all(first(record, [path]) is not None for path in self.needs)
        return there and (self.reply_may_lack or first(record, self.reply) is not None)


PAIRS = Envelope(reply=("response",), request=("request",), time=("request_time",))
# OpenTelemetry spans of OpenInference, as OTLP's attributes, flat columns (Phoenix) or objects.
OPENINFERENCE = Envelope(
    reply=("attributes.output.value", "attributes.output.value.value"),
    request=("attributes.input.value",),
    metadata=("attributes.metadata",),
    item_id=("context.span_id", "span_id"),
    model=("attributes.llm.model_name",),
    time=("start_time",),
    needs=("attributes.output.value",),
)
MLFLOW = Envelope(
    reply=("attributes.mlflow.spanOutputs", "response"),
    request=("attributes.mlflow.spanInputs", "request"),
    metadata=("tags",),
    item_id=("span_id", "trace_id", "request_id"),
    time=("start_time_ns", "start_time"),
    needs=("attributes.mlflow.spanOutputs",),
)
WEAVE = Envelope(
    reply=("output",),
    request=("inputs",),
    metadata=("attributes",),
    item_id=("id",),
    time=("started_at",),
    needs=("op_name", "inputs"),
)
LANGSMITH = Envelope(
    reply=("outputs.generations[0][0].message.kwargs", "outputs.generations[0][0].message", "outputs"),
    request=("inputs",),
    metadata=("extra.metadata",),
    item_id=("id",),
    time=("start_time",),
    needs=("run_type", "inputs"),
)
GATEWAY = Envelope(
    reply=("response_body", "responseBody"),
    request=("request_body", "requestBody"),
    metadata=("request_properties", "properties"),
    item_id=("request_id", "id"),
    model=("request_model", "response_model", "model"),
    time=("request_created_at", "created_at"),
    needs=("request_body",),
    reply_may_lack=True,
)
RAW = Envelope(reply=("raw_response",), request=("raw_request", "request"), time=("ts", "timestamp", "time"))
LANGCHAIN_DUMP = Envelope(reply=("kwargs", "data"), needs=("kwargs.response_metadata",), item_id=())
LANGCHAIN_DATA = Envelope(reply=("data",), needs=("data.response_metadata",), item_id=())

ENVELOPES: dict[str, Envelope] = {
    "openinference": OPENINFERENCE,
    "mlflow": MLFLOW,
    "weave": WEAVE,
    "langsmith": LANGSMITH,
    "gateway": GATEWAY,
    "raw-response": RAW,
    "langchain-dump": LANGCHAIN_DUMP,
    "langchain-data": LANGCHAIN_DATA,
}
