"""The formats of logs that this package reads, declared in this folder's `__init__.py`.

The first format that recognises a record reads it, so special formats come first. Parquet files of this pipeline need
no entry.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from entropy_sentinel.sources.logs.chunks import is_chunk
from entropy_sentinel.sources.logs.envelopes import ENVELOPES, PAIRS
from entropy_sentinel.sources.logs.format import Container, Format, envelope_reader, of_envelope, of_layout
from entropy_sentinel.sources.logs.layouts import LAYOUTS
from entropy_sentinel.sources.logs.record import BadRecord, PlacedRecord
from entropy_sentinel.sources.opening import Stream

if TYPE_CHECKING:
    from entropy_sentinel.sources.logs.reader import Reader


def _inspect_reader() -> "Callable[..., Reader]":
    from entropy_sentinel.sources.logs.inspect_samples import InspectReader

    return InspectReader


def _litellm_reader() -> "Callable[..., Reader]":
    from entropy_sentinel.sources.logs.litellm_payload import LiteLLMReader

    return LiteLLMReader


def _batch_reader() -> "Callable[..., Reader]":
    from entropy_sentinel.sources.logs.openai import BatchReader

    return BatchReader


def _openai_reader() -> "Callable[..., Reader]":
    from entropy_sentinel.sources.logs.openai import OpenAIReader

    return OpenAIReader


def _vllm_reader() -> "Callable[..., Reader]":
    from entropy_sentinel.sources.logs.vllm_outputs import VllmReader

    return VllmReader


def _table_reader() -> "Callable[..., Reader]":
    from entropy_sentinel.sources.logs.table import TableReader

    return TableReader


def _archived_samples(stream: Stream, name: str, longest: int) -> Iterator[PlacedRecord | BadRecord]:
    from entropy_sentinel.sources.logs.inspect_samples import archived_samples

    return archived_samples(stream, name, longest)


def _listed_samples(stream: Stream, name: str, longest: int) -> Iterator[PlacedRecord | BadRecord]:
    from entropy_sentinel.sources.logs.inspect_samples import listed_samples

    return listed_samples(stream, name, longest)


# Meaning, and what to ask of the server or to set.
_ASKED = "`logprobs: true, top_logprobs: 5` in the traced call"
_ENVELOPES = {
    "openinference": ("OpenTelemetry spans of OpenInference (Phoenix), with the reply in `output.value`", _ASKED),
    "mlflow": ("MLflow spans, with the reply in `mlflow.spanOutputs`", f"{_ASKED}; `mlflow.openai.autolog()`"),
    "weave": ("calls of W&B Weave", _ASKED),
    "langsmith": ("runs of LangSmith", "`ChatOpenAI(logprobs=True, top_logprobs=5)`; export the runs as JSON"),
    "gateway": ("calls of a gateway: `request_body` and `response_body` (Helicone and others)", _ASKED),
    "raw-response": ("any record with a reply in `raw_response`", _ASKED),
    "langchain-dump": ("LangChain's messages, by `dumps` or `dumpd`", "`ChatOpenAI(logprobs=True, top_logprobs=5)`"),
    "langchain-data": ("LangChain's messages, by `messages_to_dict`", "`ChatOpenAI(logprobs=True, top_logprobs=5)`"),
}
_LAYOUTS = {
    "gemini": (
        "replies of Gemini and Vertex AI, `logprobsResult`",
        "`responseLogprobs: true, logprobs: 5` in `generationConfig`",
    ),
    "ollama": ("replies and streams of Ollama's own API", "`logprobs: true, top_logprobs: 5`"),
    "tgi": ("replies of TGI's own API, with `details`", "`details: true, top_n_tokens: 5` in `parameters`"),
    "sglang": ("replies of SGLang's own API, with `meta_info`", "`return_logprob: true, top_logprobs_num: 5`"),
    "llama-cpp": (
        "replies and streams of llama.cpp's own `/completion`",
        "`n_probs: 5`, without `post_sampling_probs`",
    ),
    "langchain": ("LangChain's messages, with `response_metadata`", "`ChatOpenAI(logprobs=True, top_logprobs=5)`"),
    "nemo": (
        "rows of NeMo-Skills: `generation`, `tokens`, `logprobs`, `top_logprobs`",
        "`++inference.top_logprobs=5`",
    ),
}


_BY_PRIORITY = (
    Format(
        "inspect",
        "samples of an evaluation by inspect_ai, `.eval` and `.json`; their scores are labels",
        "`inspect eval ... --logprobs --top-logprobs 5`",
        _inspect_reader,
        lambda record: {"eval", "epoch"} <= set(record) and isinstance(record["eval"], Mapping),
        marks=("eval", "epoch", "output"),
        containers=(
            Container(lambda begin: begin.startswith(b"PK"), _archived_samples, ".eval"),
            Container(
                lambda begin: re.match(rb'\s*{\s*"version":\s*\d+,\s*"status":\s*"\w+",\s*"eval":', begin) is not None,
                _listed_samples,
                ".json",
            ),
        ),
        labels=True,
    ),
    Format(
        "litellm",
        "LiteLLM's StandardLoggingPayload, from its callbacks, S3 or generic API loggers, and its spend logs",
        "`logprobs: true, top_logprobs: 5` in the requests; for spend logs also "
        "`store_prompts_in_spend_logs: true` in the `general_settings` of the proxy",
        _litellm_reader,
        lambda record: (
            "standard_logging_object" in record
            or ("call_type" in record and bool({"model_parameters", "spend"} & set(record)))
        ),
        marks=("call_type", "model_parameters", "response"),
    ),
    Format(
        "openai-batch",
        "output or error file of OpenAI's batch API and of vLLM's `run-batch`",
        "`logprobs: true, top_logprobs: 5` in the body of each request",
        _batch_reader,
        lambda record: "custom_id" in record and ("response" in record or "error" in record),
        marks=("custom_id", "response"),
    ),
    Format(
        "openai-pairs",
        "requests and replies of an OpenAI-compatible server: `request`, `response`, and any other columns",
        "`logprobs: true, top_logprobs: 5` in the request; `es.capture` writes these pairs",
        envelope_reader,
        lambda record: "request" in record and "response" in record,
        marks=("request", "response"),
        form=PAIRS,
    ),
    *(of_envelope(name, *texts, ENVELOPES[name]) for name, texts in _ENVELOPES.items()),
    Format(
        "openai-stream",
        "chunks of streamed chat or text completions, one per line or as server-sent events, joined by id",
        "`stream: true, logprobs: true, top_logprobs: 5`; for text completions `logprobs: 5`",
        _openai_reader,
        is_chunk,
        marks=("object", "choices"),
    ),
    Format(
        "openai-responses",
        "replies or events of OpenAI's Responses API",
        "`include: [message.output_text.logprobs], top_logprobs: 5`",
        _openai_reader,
        lambda record: record.get("object") == "response" or str(record.get("type", "")).startswith("response."),
        marks=("object", "output"),
    ),
    Format(
        "openai",
        "replies of chat or text completions from OpenAI, vLLM and other servers",
        "`logprobs: true, top_logprobs: 5`; for text completions `logprobs: 5`",
        _openai_reader,
        lambda record: "choices" in record or set(record) == {"error"},
        marks=("choices", "model"),
    ),
    *(of_layout(name, *texts, LAYOUTS[name]) for name, texts in _LAYOUTS.items()),
    Format(
        "vllm",
        "vLLM's RequestOutput as JSON, from offline generation, and rows of Ray Data's LLM processor",
        "`SamplingParams(logprobs=20)`",
        _vllm_reader,
        lambda record: (
            ("outputs" in record and bool({"request_id", "prompt_token_ids"} & set(record)))
            or {"generated_tokens", "generated_text"} <= set(record)
        ),
        marks=("outputs", "request_id"),
    ),
    Format(
        "table",
        "any table: `token_logprobs` and `top_logprobs` per response, and any other columns",
        "write these columns yourself, as JSON Lines, Parquet or CSV",
        _table_reader,
        lambda record: {"token_logprobs", "top_logprobs"} <= set(record),
        marks=("token_logprobs", "top_logprobs"),
    ),
)
FORMATS: dict[str, Format] = {format.name: format for format in _BY_PRIORITY}
