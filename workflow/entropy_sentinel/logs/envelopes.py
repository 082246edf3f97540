"""Records that hold a server's reply, and perhaps its request, among other fields: where these stand.

A reply is an object or its text; it may be of any format. Paths are those of `paths`. Of several, the first with a
value counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from entropy_sentinel.logs.value_paths import Paths, find_value, to_object

# Names of columns with a log's own id; the first existing column counts.
IDS = ("item_id", "prompt_id", "custom_id", "request_id", "id")
# The field in which capture says why a reply has no log-probabilities.
LOGPROBS_REFUSED = "logprobs_refused"


# Fields that say why a call has no reply.
ERRORS = (
    "error",
    "errors",
    "exception",
    "error_message",
    "errorMessage",
    "errorStatus",
    "status_message",
    "status.message",
)
# The kinds of a trace's spans that are calls of a model, in lower case.
_CALL_KINDS = ("llm", "chat_model", "chat", "generation", "completion", "text_completion", "generate_content")

# The kinds that are none, and whose output repeats that of the calls within.
_OTHER_KINDS = (
    "chain",
    "agent",
    "tool",
    "retriever",
    "parser",
    "embedding",
    "reranker",
    "guardrail",
    "evaluator",
    "workflow",
    "prompt",
)


@dataclass(frozen=True)
class Envelope:
    """Where a record has its parts.

    Attributes:
        reply: Paths of the reply; of a path with `*`, all values are samples of one reply.
        request: Paths of the request.
        metadata: Paths of an object whose values are columns `metadata.NAME`.
        item_id: Paths of the id of the call; without one, the reply's own id counts.
        model: Paths of the model's name, if neither reply nor request has it.
        time: Paths of the time of the call, if the reply has none.
        status: Paths of the status of HTTP, or of its words; from 400 on, a call without a reply is a refused request.
        error: Paths of the reason why there is no reply.
        needs: Paths that a record must have to be recognised, besides the reply or an error.
        reply_may_lack: Whether a record without a reply is recognised by `needs` alone.
        each: Paths of the calls in a record with several, such as the spans of a trace. All other paths are those of a
            call, or else of the record.
        kind: Paths of the kind of a call. If some are calls of a model, the others are not read.
        children: Paths of a list of records of the same form within one that is no call.
        needs_object: Whether the reply, or the error in its place, must be an object, because the names are common.
    """

    reply: Paths
    request: Paths = ()
    metadata: Paths = ()
    item_id: Paths = IDS
    model: Paths = ()
    time: Paths = ()
    status: Paths = ("status", "status_code", "response_status", "http_status")
    error: Paths = ERRORS
    needs: Paths = ()
    reply_may_lack: bool = False
    each: Paths = ()
    kind: Paths = ()
    children: Paths = ()
    needs_object: bool = False

    def recognises(self, record: Mapping[str, Any]) -> bool:
        """Whether a record has this form."""
        if any(find_value(record, [path]) is None for path in self.needs):
            return False
        if self.each:
            return find_value(record, self.each) is not None
        reply = find_value(record, self.reply)
        # An error alone shows no form, because any record may have one.
        error = find_value(record, self.error) if self.needs else None
        if self.needs_object:
            return isinstance(to_object(reply), Mapping) or isinstance(error, Mapping)
        return self.reply_may_lack or bool(error) or reply is not None

    def is_call(self, part: Mapping[str, Any]) -> bool:
        """Whether a part says that it is a call of a model."""
        return self._read_kind(part) in _CALL_KINDS

    def is_other_step(self, part: Mapping[str, Any]) -> bool:
        """Whether a part says that it is another step, such as a tool."""
        return self._read_kind(part) in _OTHER_KINDS

    def _read_kind(self, part: Mapping[str, Any]) -> str:
        """The kind of a call, such as `llm` or `tool`, in lower case; "" without one."""
        kind = find_value(part, self.kind)
        return kind.strip('"').lower() if isinstance(kind, str) else ""


# Also lines of Vertex AI's batches, whose status is empty or says why there is no response.
PAIRS = Envelope(
    reply=("response",), request=("request",), metadata=("request.labels",), time=("request_time", "processed_time")
)
# OpenTelemetry spans of OpenInference, as OTLP's attributes, flat columns (Phoenix) or objects.
OPENINFERENCE = Envelope(
    reply=("attributes.output.value", "attributes.output.value.value"),
    request=("attributes.input.value",),
    metadata=("attributes.metadata",),
    item_id=("context.span_id", "span_id"),
    model=("attributes.llm.model_name",),
    time=("start_time",),
    needs=("attributes.output.value",),
    kind=("attributes.openinference.span.kind", "span_kind"),
)
MLFLOW = Envelope(
    reply=("attributes.mlflow.spanOutputs", "response"),
    request=("attributes.mlflow.spanInputs", "request"),
    metadata=("tags",),
    item_id=("span_id", "trace_id", "request_id"),
    time=("start_time_ns", "start_time_unix_nano", "start_time"),
    needs=("attributes.mlflow.spanOutputs",),
    kind=("attributes.mlflow.spanType",),
)
# Spans of a trace, in the names of all tools that write them.
_SPAN = Envelope(
    reply=(
        *("attributes.output.value", "attributes.mlflow.spanOutputs", "attributes.gen_ai.output.messages"),
        *("attributes.gen_ai.completion", "attributes.lk.response", "attributes.output", "outputs", "output"),
    ),
    request=(
        *("attributes.input.value", "attributes.mlflow.spanInputs", "attributes.gen_ai.input.messages"),
        *("attributes.gen_ai.prompt", "attributes.input", "inputs", "input"),
    ),
    metadata=("attributes.metadata", "metadata", "tags", "info.tags", "info.trace_metadata"),
    item_id=("context.span_id", "spanId", "span_id", "id"),
    model=("attributes.llm.model_name", "attributes.gen_ai.response.model", "attributes.gen_ai.request.model", "model"),
    time=("startTimeUnixNano", "start_time_unix_nano", "start_time_ns", "startTime", "start_time"),
    kind=(
        *("attributes.openinference.span.kind", "attributes.mlflow.spanType", "attributes.gen_ai.operation.name"),
        *("span_type", "span_kind", "meta.span.kind", "type"),
    ),
)
OTLP = replace(
    _SPAN,
    each=(
        "resourceSpans[*].scopeSpans[*].spans[*]",
        "resourceSpans[*].instrumentationLibrarySpans[*].spans[*]",
        "resourceLogs[*].scopeLogs[*].logRecords[*]",
    ),
    time=(*_SPAN.time, "timeUnixNano"),
)
MLFLOW_TRACE = replace(_SPAN, each=("data.spans[*]", "spans[*]"), needs=("info",))
SPANS = replace(_SPAN, each=("spans[*]", "observations[*]", "trace.spans[*]"))
WEAVE = Envelope(
    reply=("output",),
    request=("inputs",),
    metadata=("attributes",),
    item_id=("id",),
    time=("started_at",),
    needs=("op_name", "inputs"),
)
LANGSMITH = Envelope(
    reply=(
        *("outputs.generations[*][*].message.kwargs", "outputs.generations[*][*].message", "outputs.generations[*][*]"),
        *("outputs.generations[*]", "outputs"),
    ),
    request=("inputs",),
    metadata=("extra.metadata",),
    item_id=("id",),
    model=("outputs.llm_output.model_name", "extra.metadata.ls_model_name"),
    time=("start_time",),
    needs=("run_type", "inputs"),
    kind=("run_type",),
    children=("child_runs",),
)
BRAINTRUST = Envelope(
    reply=("output",),
    request=("input",),
    metadata=("metadata",),
    item_id=("id", "span_id"),
    model=("metadata.model",),
    time=("created", "metrics.start"),
    needs=("span_attributes", "span_id"),
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
# Lines of Gemini's batches, which are named by their key.
GEMINI_BATCH = Envelope(reply=("response",), request=("request",), item_id=("key",), needs=("key",), needs_object=True)
BEDROCK_BATCH = Envelope(reply=("modelOutput",), request=("modelInput",), item_id=("recordId",), needs=("modelInput",))
BEDROCK_LOG = Envelope(
    reply=("output.outputBodyJson",),
    request=("input.inputBodyJson",),
    metadata=("requestMetadata",),
    item_id=("requestId",),
    model=("modelId",),
    time=("timestamp",),
    error=("errorCode", *ERRORS),
    needs=("schemaType", "modelId", "requestId"),
)
RAW = Envelope(reply=("raw_response",), request=("raw_request", "request"), time=("ts", "timestamp", "time"))
LANGCHAIN_DUMP = Envelope(reply=("kwargs", "data"), needs=("kwargs.response_metadata",), item_id=())
LANGCHAIN_DATA = Envelope(reply=("data",), needs=("data.response_metadata",), item_id=())

# In the order in which they are tried.
ENVELOPES: dict[str, Envelope] = {
    "openinference": OPENINFERENCE,
    "otlp": OTLP,
    "mlflow": MLFLOW,
    "mlflow-traces": MLFLOW_TRACE,
    "weave": WEAVE,
    "langsmith": LANGSMITH,
    "braintrust": BRAINTRUST,
    "gateway": GATEWAY,
    "gemini-batch": GEMINI_BATCH,
    "bedrock-batch": BEDROCK_BATCH,
    "bedrock-log": BEDROCK_LOG,
    "raw-response": RAW,
    "langchain-dump": LANGCHAIN_DUMP,
    "langchain-data": LANGCHAIN_DATA,
    "spans": SPANS,
}
# Of records with a reply at an unknown place.
ANYWHERE = Envelope(
    reply=(),
    request=("request", "inputs", "input", "body"),
    metadata=("metadata", "tags"),
    item_id=(*IDS, "key", "uuid", "call_id", "trace_id"),
    model=("model", "model_name", "metadata.model"),
    time=("time", "timestamp", "created", "created_at", "start_time", "startTime"),
)
