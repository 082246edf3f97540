"""Servers' own formats, declared: where the tokens, their log-probabilities and the alternatives of a response stand.

A path has names and numbers joined by dots, such as `details.tokens` or `choices.0`. Of several paths, the first with
a value counts. A format with another structure has a reader of its own.
Clients in Python rename the fields of some servers, so a field `logProbability` may be `log_probability`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from entropy_sentinel.frames.entries import is_own
from entropy_sentinel.frames.extensions import declared
from entropy_sentinel.sources.logs.paths import Paths, first, look_up
from entropy_sentinel.sources.logs.step_forms import LOGPROB_NAMES, TOP_NAMES, are_steps
from entropy_sentinel.sources.logs.streams import (
    CHUNKS,
    GEMINI_STREAM,
    LLAMA_CPP_STREAM,
    OLLAMA_STREAM,
    RESPONSES,
    SGLANG_STREAM,
    TGI_STREAM,
    Stream,
)

# The place of a value in a step: a name, or a position in a list.
Key = str | int


@dataclass(frozen=True)
class Layout:
    """Where the parts of a response stand in a record of one server.

    Attributes:
        steps: Paths of the list of sampled tokens in a response, whose steps are objects or lists, or of an object in
            any form that `steps` reads.
        logprob: The place of the sampled token's log-probability in a step; null if a step is the number itself.
        token: The place of the token's text in a step; null if `tokens` has it. Usual names of both also count.
        token_id: The place of the token's id in a step.
        tokens: Path of the list of tokens' texts in a response.
        top: Path in a step of its alternatives; null if `all_top` has them, or for the usual names.
        all_top: Path in a response of the list with an entry per step.
        entries: Path in an entry of `all_top` of the list of alternatives.
        top_logprob: The place of the log-probability in an alternative.
        responses: Path in a record of a list of responses; null if the record is one response.
        text, thinking, finish: Paths in a response.
        item_id, model, time, prompt_tokens, error: Paths in a record.
        parts: Whether `text` may be a list of objects with a `text` or `content`.
        stream: Where the pieces of a streamed response have their parts; the whole response has this layout.
        displaces: As in `Reply`.
        needs: Paths of fields that a record must have besides its steps.
        sign: Paths of a field that only this server's replies have, also if log-probabilities were not requested. Like
            `needs` and `requests`, it may state the field's value and a further field: `type=message&content`.
        requests: Paths of fields by which records are recognised that are requests, and that precede their replies.
        any_record: Whether any record with readable steps has this layout, so that other formats come first.
    """

    steps: Paths
    text: Paths
    logprob: Key | None = "logprob"
    token: Key | None = "token"
    token_id: Key | None = None
    tokens: str | None = None
    top: str | None = None
    all_top: str | None = None
    entries: str | None = None
    top_logprob: Key = "logprob"
    responses: str | None = None
    thinking: Paths = ()
    finish: Paths = ("finish_reason",)
    item_id: Paths = ("id",)
    model: Paths = ("model",)
    time: Paths = ()
    prompt_tokens: Paths = ()
    error: Paths = ("error",)
    parts: bool = False
    stream: Stream | None = None
    displaces: bool = False
    needs: Paths = ()
    sign: Paths = ()
    requests: Paths = ()
    any_record: bool = False

    def recognises(self, record: Mapping[str, Any]) -> bool:
        """Return whether a record has this layout: its steps, a piece of its stream, or its `sign`."""
        return (
            self.has(record)
            or (self.stream is not None and self.stream.is_piece(record))
            or any(map(partial(_holds, record), (*self.sign, *self.requests)))
        )

    @property
    def has_usual_steps(self) -> bool:
        """Whether `steps` reads the steps: the log-probability and the alternatives of a step have usual names."""
        usual_top = self.all_top is None and (self.top is None or self.top in TOP_NAMES)
        return usual_top and self.logprob in LOGPROB_NAMES and self.tokens is None

    def is_request(self, record: Mapping[str, Any]) -> bool:
        """Return whether a record is a request, whose reply comes next."""
        return any(_holds(record, sign) for sign in self.requests)

    def has(self, record: Mapping[str, Any]) -> bool:
        """Return whether a record has the list of sampled tokens of this layout."""
        if not all(_holds(record, sign) for sign in self.needs):
            return False
        part: Any = record
        if self.responses is not None:
            several = look_up(record, self.responses)
            part = several[0] if isinstance(several, list) and several else None
        steps = [first(part, [path]) for path in self.steps]
        if self.any_record:
            return any(map(are_steps, steps))
        return any(isinstance(value, list) or are_steps(value) for value in steps)


def _holds(record: Mapping[str, Any], sign: str) -> bool:
    """Return whether a record has a value at each path of a sign, or the value that follows the path's `=`."""
    for part in sign.split("&"):
        path, _, must = part.partition("=")
        value = first(record, [path])
        if value is None or must not in ("", value):
            return False
    return True


GEMINI = Layout(
    responses="candidates",
    steps=("logprobsResult.chosenCandidates",),
    logprob="logProbability",
    token_id="tokenId",
    all_top="logprobsResult.topCandidates",
    entries="candidates",
    top_logprob="logProbability",
    text=("content.parts",),
    parts=True,
    finish=("finishReason",),
    item_id=("responseId",),
    model=("modelVersion",),
    time=("createTime",),
    prompt_tokens=("usageMetadata.promptTokenCount",),
    error=("error", "promptFeedback.blockReason"),
    stream=GEMINI_STREAM,
    sign=("usageMetadata.promptTokenCount", "usage_metadata.prompt_token_count"),
)
OLLAMA = Layout(
    steps=("logprobs",),
    top="top_logprobs",
    text=("message.content", "response"),
    thinking=("message.thinking", "thinking"),
    finish=("done_reason",),
    time=("created_at",),
    prompt_tokens=("prompt_eval_count",),
    stream=OLLAMA_STREAM,
    needs=("done",),
)
TGI = Layout(
    steps=("details.tokens",),
    token="text",
    token_id="id",
    all_top="details.top_tokens",
    text=("generated_text",),
    finish=("details.finish_reason",),
    stream=TGI_STREAM,
    sign=("details.generated_tokens",),
)
SGLANG = Layout(
    steps=("meta_info.output_token_logprobs",),
    logprob=0,
    token_id=1,
    token=2,
    all_top="meta_info.output_top_logprobs",
    top_logprob=0,
    text=("text",),
    finish=("meta_info.finish_reason.type", "meta_info.finish_reason"),
    item_id=("meta_info.id", "rid"),
    prompt_tokens=("meta_info.prompt_tokens",),
    stream=SGLANG_STREAM,
    sign=("meta_info.completion_tokens",),
)
LLAMA_CPP = Layout(
    steps=("completion_probabilities",),
    token_id="id",
    top="top_logprobs",
    text=("content",),
    finish=("stop_type",),
    item_id=("id_slot_request", "request_id"),
    prompt_tokens=("tokens_evaluated",),
    stream=LLAMA_CPP_STREAM,
)
LANGCHAIN = Layout(
    steps=(
        "response_metadata.logprobs",
        "generation_info.logprobs",
        "content.*.logprobs",
        "response_metadata.logprobs_result",
    ),
    text=("content", "text"),
    parts=True,
    finish=(
        "response_metadata.finish_reason",
        "generation_info.finish_reason",
        "response_metadata.incomplete_details.reason",
        "response_metadata.status",
    ),
    item_id=("response_metadata.id", "id"),
    model=("response_metadata.model_name", "generation_info.model_name", "response_metadata.model"),
    time=("response_metadata.created_at",),
    prompt_tokens=("usage_metadata.input_tokens", "response_metadata.token_usage.prompt_tokens"),
    displaces=True,
    sign=("response_metadata.finish_reason", "response_metadata.logprobs", "response_metadata.model_name"),
)
NEMO = Layout(
    steps=("logprobs",),
    logprob=None,
    token=None,
    tokens="tokens",
    all_top="top_logprobs",
    text=("generation",),
    item_id=("item_id", "id", "problem_id"),
    prompt_tokens=("num_input_tokens",),
    needs=("generation", "tokens"),
)

# DJL's LMI writes the same fields as TGI, with `log_prob`.
WATSONX = Layout(
    responses="results",
    steps=("generated_tokens",),
    text=("generated_text",),
    finish=("stop_reason",),
    model=("model_id",),
    time=("created_at",),
    prompt_tokens=("results[0].input_token_count",),
    sign=("results[0].generated_token_count",),
)
BEDROCK = Layout(
    steps=("logprobs",),
    text=("generation",),
    finish=("stop_reason",),
    prompt_tokens=("prompt_token_count",),
    needs=("generation", "stop_reason"),
    sign=("generation_token_count",),
)
# Of a list of messages, those of the kind `response` are replies.
PYDANTIC_AI = Layout(
    steps=("provider_details.logprobs", "vendor_details.logprobs", "parts.*.provider_details.logprobs"),
    text=("parts",),
    parts=True,
    finish=("finish_reason", "provider_details.finish_reason", "vendor_details.finish_reason"),
    item_id=("provider_response_id", "vendor_id"),
    model=("model_name",),
    time=("timestamp",),
    prompt_tokens=("usage.input_tokens", "usage.request_tokens"),
    displaces=True,
    needs=("kind=response&parts",),
    sign=("kind=response&parts",),
    requests=("kind=request&parts",),
)
# Results of `generateText`, and the spans that the AI SDK's telemetry writes about them.
AI_SDK = Layout(
    steps=(
        "providerMetadata.*.logprobs",
        "experimental_providerMetadata.*.logprobs",
        "attributes.ai.response.providerMetadata.*.logprobs",
    ),
    text=("text", "content", "attributes.ai.response.text"),
    parts=True,
    finish=("finishReason.unified", "finishReason", "attributes.ai.response.finishReason"),
    item_id=("response.id", "attributes.ai.response.id"),
    model=("response.modelId", "attributes.ai.response.model"),
    time=("response.timestamp", "attributes.ai.response.timestamp"),
    prompt_tokens=("usage.inputTokens", "usage.promptTokens", "attributes.ai.usage.promptTokens"),
    displaces=True,
    sign=("providerMetadata", "experimental_providerMetadata", "attributes.ai.response.text"),
)
LLM_LOGS = Layout(
    steps=("response_json.logprobs",),
    text=("response", "response_json.content"),
    finish=("response_json.finish_reason",),
    model=("model", "response_json.model"),
    time=("datetime_utc", "response_json.created"),
    prompt_tokens=("input_tokens", "response_json.usage.prompt_tokens"),
    sign=("response_json&datetime_utc", "conversation_id&datetime_utc"),
)
ANTHROPIC = Layout(
    steps=("logprobs",),
    text=("content",),
    parts=True,
    finish=("stop_reason",),
    prompt_tokens=("usage.input_tokens",),
    needs=("type=message&content&usage",),
    sign=("type=message&content&usage",),
)
ANY_STEPS = Layout(
    steps=("logprobs", "logprobsResult", "logprobs_result", "token_logprobs", "meta.logprobs", "raw.logprobs"),
    text=(
        *(
            "text",
            "content",
            "generated_text",
            "generation",
            "completion",
            "answer",
            "output_text",
            "response",
            "output",
        ),
        *("message.content", "message"),
    ),
    parts=True,
    finish=("finish_reason", "finishReason", "stop_reason", "meta.finish_reason"),
    item_id=("id", "response_id", "request_id", "custom_id", "response.id"),
    model=("model", "model_name", "model_id", "modelId", "meta.model", "response.modelId"),
    time=("created", "created_at", "timestamp", "time", "response.timestamp"),
    prompt_tokens=("usage.prompt_tokens", "usage.input_tokens", "meta.usage.prompt_tokens"),
    displaces=True,
    any_record=True,
)

# In the order in which they are tried.
LAYOUTS: dict[str, Layout] = {
    "gemini": GEMINI,
    "ollama": OLLAMA,
    "tgi": TGI,
    "sglang": SGLANG,
    "llama-cpp": LLAMA_CPP,
    "langchain": LANGCHAIN,
    "nemo": NEMO,
    "watsonx": WATSONX,
    "bedrock": BEDROCK,
    "pydantic-ai": PYDANTIC_AI,
    "ai-sdk": AI_SDK,
    "llm-logs": LLM_LOGS,
    "anthropic": ANTHROPIC,
    "any-logprobs": ANY_STEPS,
}


def layout_of(record: Mapping[str, Any]) -> Layout | None:
    """Return the layout of a server's reply; None if no layout has its steps."""
    return next((layout for layout in declared_layouts() if layout.recognises(record)), None)


def layout_with_steps(record: Mapping[str, Any]) -> Layout | None:
    """Return the layout whose steps a record has; None if there is none."""
    return next((layout for layout in declared_layouts() if layout.has(record)), None)


def stream_of(record: Mapping[str, Any]) -> Stream | None:
    """Return the declaration of the stream of which a record is a piece; None if it is none."""
    streams = (CHUNKS, RESPONSES, *(layout.stream for layout in declared_layouts()))
    return next((stream for stream in streams if stream is not None and stream.is_piece(record)), None)


def are_pieces(records: Sequence[Any]) -> bool:
    """Return whether records are the pieces of a stream, of which the first is not the last."""
    first_one = records[0] if len(records) > 1 else None
    if not isinstance(first_one, Mapping) or (stream := stream_of(first_one)) is None:
        return False
    return stream.goes_on_after(first_one)


@cache
def declared_layouts() -> list[Layout]:
    """Return the layouts of all declared formats, those of extensions first. The catalogue imports this."""
    formats = declared("formats")
    forms = [formats[name].form for name in sorted(formats, key=partial(is_own, "formats"))]
    return [form for form in forms if isinstance(form, Layout)]
