"""The formats of logs that this package reads, declared in this folder's `__init__.py`.

The first format that recognises a record reads it, so special formats come first. Parquet files of this pipeline need
no entry.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from entropy_sentinel.core.external_files import Stream
from entropy_sentinel.logs.envelopes import ENVELOPES, PAIRS
from entropy_sentinel.logs.format_declaration import (
    Container,
    Format,
    load_envelope_reader,
    make_envelope_format,
    make_layout_format,
)
from entropy_sentinel.logs.log_record import BadRecord, PlacedRecord, Record
from entropy_sentinel.logs.nested_replies import find_replies, has_messages
from entropy_sentinel.logs.server_layouts import LAYOUTS
from entropy_sentinel.logs.step_forms import is_keyed_by_id
from entropy_sentinel.logs.stream_declarations import CHUNKS, RESPONSES

if TYPE_CHECKING:
    from entropy_sentinel.logs.reader_base import Reader


def _load_inspect_reader() -> "Callable[..., Reader]":
    from entropy_sentinel.logs.inspect_samples import InspectReader

    return InspectReader


def _load_litellm_reader() -> "Callable[..., Reader]":
    from entropy_sentinel.logs.litellm_payload import LiteLLMReader

    return LiteLLMReader


def _load_batch_reader() -> "Callable[..., Reader]":
    from entropy_sentinel.logs.openai_format import BatchReader

    return BatchReader


def _load_openai_reader() -> "Callable[..., Reader]":
    from entropy_sentinel.logs.openai_format import OpenAIReader

    return OpenAIReader


def _load_vllm_reader() -> "Callable[..., Reader]":
    from entropy_sentinel.logs.vllm_outputs import VllmReader

    return VllmReader


def _load_nested_reader() -> "Callable[..., Reader]":
    from entropy_sentinel.logs.envelope_reader import NestedReader

    return NestedReader


def _load_table_reader() -> "Callable[..., Reader]":
    from entropy_sentinel.logs.table_format import TableReader

    return TableReader


def _load_text_table_reader() -> "Callable[..., Reader]":
    from entropy_sentinel.logs.table_format import TextTableReader

    return TextTableReader


def _is_table_of_texts(record: Record) -> bool:
    from entropy_sentinel.logs.table_format import is_table_of_texts

    return is_table_of_texts(record)


def _read_inspect_archive(stream: Stream, name: str, longest: int) -> Iterator[PlacedRecord | BadRecord]:
    from entropy_sentinel.logs.inspect_samples import read_archive

    return read_archive(stream, name, longest)


def _read_inspect_json(stream: Stream, name: str, longest: int) -> Iterator[PlacedRecord | BadRecord]:
    from entropy_sentinel.logs.inspect_samples import read_json_log

    return read_json_log(stream, name, longest)


# Meaning, and what to ask of the server or to set.
_TRACED_CALL = "`logprobs: true, top_logprobs: 20` in the traced call"
_BEDROCK_SETTINGS = (
    "an imported model, called in OpenAI's form with `logprobs: true, top_logprobs: 20`; `return_logprobs: true` gives "
    "no alternatives, and other models give no log-probabilities"
)
_ENVELOPES = {
    "openinference": ("OpenTelemetry spans of OpenInference (Phoenix), with the reply in `output.value`", _TRACED_CALL),
    "otlp": (
        "traces and logs in OTLP's JSON, as the collector's file exporter writes them: `resourceSpans`",
        _TRACED_CALL,
    ),
    "mlflow": ("MLflow spans, with the reply in `mlflow.spanOutputs`", f"{_TRACED_CALL}; `mlflow.openai.autolog()`"),
    "mlflow-traces": (
        "traces of MLflow, exported with `trace.to_json()`",
        f"{_TRACED_CALL}; `mlflow.openai.autolog()`",
    ),
    "weave": ("calls of W&B Weave", _TRACED_CALL),
    "langsmith": ("runs of LangSmith", "`ChatOpenAI(logprobs=True, top_logprobs=20)`; export the runs as JSON"),
    "braintrust": ("rows of Braintrust's logs", _TRACED_CALL),
    "gateway": ("calls of a gateway: `request_body` and `response_body` (Helicone and others)", _TRACED_CALL),
    "gemini-batch": (
        "output of Gemini's batch API: `key` and `response`",
        "`responseLogprobs: true, logprobs: 20` in `generationConfig`",
    ),
    "bedrock-batch": ("output of Bedrock's batch inference: `modelInput` and `modelOutput`", _BEDROCK_SETTINGS),
    "bedrock-log": ("Bedrock's log of model invocations", _BEDROCK_SETTINGS),
    "raw-response": ("any record with a reply in `raw_response`", _TRACED_CALL),
    "langchain-dump": ("LangChain's messages, by `dumps` or `dumpd`", "`ChatOpenAI(logprobs=True, top_logprobs=20)`"),
    "langchain-data": ("LangChain's messages, by `messages_to_dict`", "`ChatOpenAI(logprobs=True, top_logprobs=20)`"),
}
_LAYOUTS = {
    "gemini": (
        "replies and streams of Gemini and Vertex AI, `logprobsResult`",
        "`responseLogprobs: true, logprobs: 20` in `generationConfig`",
    ),
    "ollama": ("replies and streams of Ollama's own API", "`logprobs: true, top_logprobs: 20`"),
    "tgi": (
        "replies and streams of TGI's own API and of DJL's LMI, with `details`",
        "`details: true, top_n_tokens: 5` in `parameters`",
    ),
    "sglang": (
        "replies and streams of SGLang's own API, with `meta_info`",
        "`return_logprob: true, top_logprobs_num: 20`",
    ),
    "llama-cpp": (
        "replies and streams of llama.cpp's own `/completion`",
        "`n_probs: 20`, without `post_sampling_probs`",
    ),
    "langchain": ("LangChain's messages, with `response_metadata`", "`ChatOpenAI(logprobs=True, top_logprobs=20)`"),
    "nemo": (
        "rows of NeMo-Skills: `generation`, `tokens`, `logprobs`, `top_logprobs`",
        "`++inference.top_logprobs=20`",
    ),
    "watsonx": (
        "replies of IBM watsonx.ai's text generation, with `generated_tokens`",
        "`return_options: {generated_tokens: true, token_logprobs: true, top_n_tokens: 5}` in `parameters`",
    ),
    "bedrock": ("replies of models imported into Bedrock, with `generation`", _BEDROCK_SETTINGS),
    "pydantic-ai": (
        "messages of Pydantic AI, as `all_messages_json()` writes them",
        "`OpenAIModelSettings(openai_logprobs=True, openai_top_logprobs=20)`",
    ),
    "ai-sdk": (
        "results of Vercel's AI SDK, with `providerMetadata`",
        "`providerOptions: {openai: {logprobs: 20}}`",
    ),
    "llm-logs": ("logs of the command `llm`: `llm logs --json`", "`-o logprobs 5`, for completion models"),
    "anthropic": ("messages of Anthropic's API, which have no log-probabilities", "another model: Claude gives none"),
}
# These recognise what any record may have, so they come last.
_ANY_ENVELOPES = {
    "spans": ("any record with a list of `spans` or `observations`, such as an exported trace", _TRACED_CALL),
}
_ANY_LAYOUTS = {
    "any-logprobs": (
        "any record with `logprobs`: a list of steps, or lists in OpenAI's forms, and a text",
        "`logprobs: true, top_logprobs: 20`",
    ),
}


_PRIORITY_ORDER = (
    Format(
        "inspect",
        "samples of an evaluation by inspect_ai, `.eval` and `.json`; their scores are labels",
        "`inspect eval ... --logprobs --top-logprobs 20`",
        _load_inspect_reader,
        lambda record: {"eval", "epoch"} <= set(record) and isinstance(record["eval"], Mapping),
        marks=("eval", "epoch", "output"),
        containers=(
            Container(lambda begin: begin.startswith(b"PK"), _read_inspect_archive, ".eval"),
            Container(
                lambda begin: re.match(rb'\s*{\s*"version":\s*\d+,\s*"status":\s*"\w+",\s*"eval":', begin) is not None,
                _read_inspect_json,
                ".json",
            ),
        ),
        labels=True,
    ),
    Format(
        "litellm",
        "LiteLLM's StandardLoggingPayload, from its callbacks, S3 or generic API loggers, and its spend logs",
        "`logprobs: true, top_logprobs: 20` in the requests; for spend logs also "
        "`store_prompts_in_spend_logs: true` in the `general_settings` of the proxy",
        _load_litellm_reader,
        lambda record: (
            "standard_logging_object" in record
            or ("call_type" in record and bool({"model_parameters", "spend"} & set(record)))
        ),
        marks=("call_type", "model_parameters", "response"),
    ),
    Format(
        "openai-batch",
        "output or error file of the batch APIs of OpenAI, Mistral and Anthropic, and of vLLM's `run-batch`",
        "`logprobs: true, top_logprobs: 20` in the body of each request",
        _load_batch_reader,
        lambda record: "custom_id" in record and bool({"response", "error", "result"} & set(record)),
        marks=("custom_id", "response"),
    ),
    Format(
        "openai-pairs",
        "requests and replies of an OpenAI-compatible server: `request`, `response`, and any other columns",
        "`logprobs: true, top_logprobs: 20` in the request; `es.capture` writes these pairs",
        load_envelope_reader,
        lambda record: "request" in record and "response" in record,
        marks=("request", "response"),
        form=PAIRS,
    ),
    *(make_envelope_format(name, *texts, ENVELOPES[name]) for name, texts in _ENVELOPES.items()),
    Format(
        "openai-stream",
        "chunks of streamed chat or text completions, one per line or as server-sent events, joined by id",
        "`stream: true, logprobs: true, top_logprobs: 20`; for text completions `logprobs: 5`",
        _load_openai_reader,
        CHUNKS.is_piece,
        marks=("object", "choices"),
    ),
    Format(
        "openai-responses",
        "replies or events of OpenAI's Responses API, and what OpenAI's Agents keep of them: `output`",
        "`include: [message.output_text.logprobs], top_logprobs: 20`",
        _load_openai_reader,
        lambda record: record.get("object") == "response" or RESPONSES.is_piece(record) or has_messages(record),
        marks=("object", "output"),
    ),
    Format(
        "openai",
        "replies of chat or text completions from OpenAI, vLLM and other servers",
        "`logprobs: true, top_logprobs: 20`; for text completions `logprobs: 5`",
        _load_openai_reader,
        lambda record: "choices" in record or set(record) == {"error"},
        marks=("choices", "model"),
    ),
    *(make_layout_format(name, *texts, LAYOUTS[name]) for name, texts in _LAYOUTS.items()),
    Format(
        "vllm",
        "vLLM's RequestOutput as JSON, from offline generation, and rows of Ray Data's LLM processor",
        "`SamplingParams(logprobs=20)`",
        _load_vllm_reader,
        lambda record: (
            ("outputs" in record and bool({"request_id", "prompt_token_ids"} & set(record)))
            or {"generated_tokens", "generated_text"} <= set(record)
            or is_keyed_by_id(record)
        ),
        marks=("outputs", "request_id"),
    ),
    Format(
        "table",
        "any table: `token_logprobs` and `top_logprobs` per response, and any other columns",
        "write these columns yourself, as JSON Lines, Parquet or CSV",
        _load_table_reader,
        lambda record: {"token_logprobs", "top_logprobs"} <= set(record),
        marks=("token_logprobs", "top_logprobs"),
    ),
    *(make_layout_format(name, *texts, LAYOUTS[name]) for name, texts in _ANY_LAYOUTS.items()),
    *(make_envelope_format(name, *texts, ENVELOPES[name]) for name, texts in _ANY_ENVELOPES.items()),
    Format(
        "nested",
        "any record that has a reply of one of these formats within, at any depth and also as JSON text",
        _TRACED_CALL,
        _load_nested_reader,
        lambda record: any(find_replies(record)),
    ),
    Format(
        "texts",
        "any table with ids and texts of responses, in `text`, `response`, `completion`, `output` or `answer`, "
        "and no log-probabilities",
        "labels need none: `monitor --labels`",
        _load_text_table_reader,
        _is_table_of_texts,
    ),
)
FORMATS: dict[str, Format] = {format.name: format for format in _PRIORITY_ORDER}
