"""The options for reading logs, and the catalogue of log formats.

A format is an entry of FORMATS: a test that recognises its records, and a subclass of `Reader` (`sources.logs.reader`).
The first entry that recognises a record is used, so special formats come first. Parquet files of this pipeline need no
entry.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from entropy_sentinel.frames.options import Options, Panel, Shown
from entropy_sentinel.frames.sections import Number, Whole
from entropy_sentinel.sources.logs.chunks import is_chunk
from entropy_sentinel.sources.logs.envelopes import ENVELOPES, PAIRS, Envelope
from entropy_sentinel.sources.logs.layouts import LAYOUTS, Layout
from entropy_sentinel.sources.logs.paths import look_up

Record = Mapping[str, Any]

# Default limit of a record. A token with 20 alternatives is about 6 kB of JSON from OpenAI's servers, so this limit
# allows a response of 40,000 tokens, which takes ten times as much memory as Python objects.
LONGEST_MB = 256
_ROOM = "entropy_sentinel.sources.logs"


@dataclass(frozen=True)
class Container:
    """A kind of file that is not a sequence of records, such as an archive.

    `recognises` tests the first bytes of a file: at least 8 kB, or the whole file if it is shorter. `records` names the
    function that yields the records, given the stream, the file's name and the size of the longest allowed record in
    bytes. If a folder is given, files with this `suffix` are read.
    """

    recognises: Callable[[bytes], bool]
    records: str
    suffix: str


@dataclass(frozen=True)
class Format:
    """A format of logs; `recognises` tests one record, and `reader` names the class that reads records.

    `request` says what to ask of the server, or to set, so that it writes the log-probabilities.

    `form` tells the reader where the parts stand, if it reads several formats. `marks` are names of the fields that
    show the format, for messages about records of no known format; a `form` has its own. `containers` are kinds of
    files with such records that are not a sequence of JSON, CSV or Parquet records. If the format has `labels`, its
    reader sets them, and its logs can also be used as label files.
    """

    name: str
    meaning: str
    request: str
    reader: str
    recognises: Callable[[Record], bool]
    marks: tuple[str, ...] = ()
    form: Layout | Envelope | None = None
    containers: tuple[Container, ...] = ()
    labels: bool = False


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


def _envelope(name: str, meaning: str, request: str) -> Format:
    form = ENVELOPES[name]
    marks = (*form.needs, *form.reply[:1])
    return Format(name, meaning, request, f"{_ROOM}.envelope_reader.EnvelopeReader", form.recognises, marks, form)


def _layout(name: str, meaning: str, request: str) -> Format:
    form = LAYOUTS[name]
    marks = (*form.needs, *form.steps[:1], *form.text[:1])
    return Format(name, meaning, request, f"{_ROOM}.layout_reader.LayoutReader", form.recognises, marks, form)


FORMATS: dict[str, Format] = {
    format.name: format
    for format in (
        Format(
            "inspect",
            "samples of an evaluation by inspect_ai, `.eval` and `.json`; their scores are labels",
            "`inspect eval ... --logprobs --top-logprobs 5`",
            f"{_ROOM}.inspect_samples.InspectReader",
            lambda record: {"eval", "epoch"} <= set(record) and isinstance(record["eval"], Mapping),
            marks=("eval", "epoch", "output"),
            containers=(
                Container(lambda begin: begin.startswith(b"PK"), f"{_ROOM}.inspect_samples.archived_samples", ".eval"),
                Container(
                    lambda begin: (
                        re.match(rb'\s*{\s*"version":\s*\d+,\s*"status":\s*"\w+",\s*"eval":', begin) is not None
                    ),
                    f"{_ROOM}.inspect_samples.listed_samples",
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
            f"{_ROOM}.litellm_payload.LiteLLMReader",
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
            f"{_ROOM}.openai.BatchReader",
            lambda record: "custom_id" in record and ("response" in record or "error" in record),
            marks=("custom_id", "response"),
        ),
        Format(
            "openai-pairs",
            "requests and replies of an OpenAI-compatible server: `request`, `response`, and any other columns",
            "`logprobs: true, top_logprobs: 5` in the request; `es.capture` writes these pairs",
            f"{_ROOM}.envelope_reader.EnvelopeReader",
            lambda record: "request" in record and "response" in record,
            marks=("request", "response"),
            form=PAIRS,
        ),
        *(_envelope(name, *texts) for name, texts in _ENVELOPES.items()),
        Format(
            "openai-stream",
            "chunks of streamed chat or text completions, one per line or as server-sent events, joined by id",
            "`stream: true, logprobs: true, top_logprobs: 5`; for text completions `logprobs: 5`",
            f"{_ROOM}.openai.OpenAIReader",
            is_chunk,
            marks=("object", "choices"),
        ),
        Format(
            "openai-responses",
            "replies or events of OpenAI's Responses API",
            "`include: [message.output_text.logprobs], top_logprobs: 5`",
            f"{_ROOM}.openai.OpenAIReader",
            lambda record: record.get("object") == "response" or str(record.get("type", "")).startswith("response."),
            marks=("object", "output"),
        ),
        Format(
            "openai",
            "replies of chat or text completions from OpenAI, vLLM and other servers",
            "`logprobs: true, top_logprobs: 5`; for text completions `logprobs: 5`",
            f"{_ROOM}.openai.OpenAIReader",
            lambda record: "choices" in record or set(record) == {"error"},
            marks=("choices", "model"),
        ),
        *(_layout(name, *texts) for name, texts in _LAYOUTS.items()),
        Format(
            "vllm",
            "vLLM's RequestOutput as JSON, from offline generation, and rows of Ray Data's LLM processor",
            "`SamplingParams(logprobs=20)`",
            f"{_ROOM}.vllm_outputs.VllmReader",
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
            f"{_ROOM}.table.TableReader",
            lambda record: {"token_logprobs", "top_logprobs"} <= set(record),
            marks=("token_logprobs", "top_logprobs"),
        ),
    )
}


_CONTAINERS = [(format, kind) for format in FORMATS.values() for kind in format.containers]
# Suffixes of the files to read in a folder; `.gz` may follow all but Parquet.
SUFFIXES = (".parquet", ".jsonl", ".ndjson", ".json", ".csv", *({kind.suffix for _, kind in _CONTAINERS} - {".json"}))


def container(begin: bytes) -> tuple[Format, Container] | None:
    """Return the format and the container of a file that begins with these bytes; None if it is not a container."""
    return next((pair for pair in _CONTAINERS if pair[1].recognises(begin)), None)


def recognise(record: Record) -> Format | None:
    """Return the format of a record; None if no format matches."""
    return next((format for format in FORMATS.values() if format.recognises(record)), None)


def nearest(record: Record) -> tuple[Format, list[str]] | None:
    """Return the format of which a record has the largest share of the marks, and those that it lacks; None if none."""
    lacking = [
        (format, [mark for mark in format.marks if look_up(record, mark) is None]) for format in FORMATS.values()
    ]
    return min(
        (pair for pair in lacking if len(pair[1]) < len(pair[0].marks)),
        key=lambda pair: len(pair[1]) / len(pair[0].marks),
        default=None,
    )


def _as_pairs(given: Any) -> Any:
    """Convert a mapping of names to values to `NAME=VALUE` texts, and one text to a list; leave other values as is."""
    if not isinstance(given, Mapping):
        return [given] if isinstance(given, str) else given
    several = {name: value if isinstance(value, list | tuple) else [value] for name, value in given.items()}
    return [f"{name}={value}" for name, values in several.items() for value in values]


def _checked_pairs(pairs: tuple[str, ...]) -> tuple[str, ...]:
    for pair in pairs:
        name, sign, _ = pair.partition("=")
        if not name or not sign:
            raise ValueError(f"must be NAME=VALUE, was '{pair}'")
    return pairs


Pairs = Annotated[
    tuple[str, ...],
    BeforeValidator(_as_pairs, json_schema_input_type=list[str] | dict[str, str | list[str]]),
    AfterValidator(_checked_pairs),
]


class LogOptions(Options):
    """Options for reading logs, common to all commands and verbs."""

    top_k: Annotated[Whole | None, Shown(Panel.READING, "K")] = Field(
        None, ge=1, description="Keep only this many alternatives per token."
    )
    logprobs_mode: Annotated[Literal["raw_logprobs", "processed_logprobs"] | None, Shown(Panel.READING, "MODE")] = (
        Field(None, description="Kind of log-probabilities: raw_logprobs (the default) or processed_logprobs.")
    )
    trace_after: Annotated[str | None, Shown(Panel.READING, "TOKEN")] = Field(
        None,
        description="The token that ends the thinking, such as </think>; features then use only the tokens after it.",
    )
    model: Annotated[str | None, Shown(Panel.READING, "NAME")] = Field(
        None, description="The model, if the log does not name it."
    )
    column: Annotated[Pairs, Shown(Panel.READING, "NAME=COLUMN")] = Field(
        (),
        description="A new name for a column, such as route=metadata.route, so that logs in several formats share "
        "the name. If a name has several columns, the first with a value is used.",
    )
    where: Annotated[Pairs, Shown(Panel.READING, "COLUMN=VALUE")] = Field(
        (),
        description="Use only responses with this value, such as model=qwen3-4b. If a column has several values, any "
        "of them must match; if there are several columns, all of them must match.",
    )
    scorer: Annotated[str | None, Shown(Panel.READING, "NAME")] = Field(
        None, description="The scorer whose scores are the labels, if the log of an evaluation has several."
    )
    reply: Annotated[str | None, Shown(Panel.READING, "COLUMN")] = Field(
        None,
        description="The column that has the server's whole reply, as JSON text or as an object, such as "
        "a.b[0].c: for records of an unknown format.",
    )
    request: Annotated[str | None, Shown(Panel.READING, "COLUMN")] = Field(
        None, description="The column that has the request of `reply`, for the question and the metadata."
    )
    strict: Annotated[bool, Shown(Panel.READING)] = Field(
        False, description="Stop at the first unusable record instead of skipping and counting it."
    )


def _known(name: str) -> str:
    if name not in FORMATS:
        raise ValueError(f"unknown name '{name}'; known: {', '.join(FORMATS)}")
    return name


class FormatOptions(LogOptions):
    """Options for reading logs once."""

    format: Annotated[Annotated[str, AfterValidator(_known)] | None, Shown(Panel.READING, "NAME", "-f")] = Field(
        None, description=f"The format of the logs, if it is not detected: {', '.join(FORMATS)}."
    )
    max_record_mb: Annotated[Number, Shown(Panel.READING, "MB")] = Field(
        LONGEST_MB, gt=0, description="Skip larger records (in megabytes), to limit memory."
    )


class ReadOptions(FormatOptions):
    """All options for reading logs."""

    columns: Annotated[tuple[str, ...] | None, Shown(Panel.READING, "NAME")] = Field(
        None, description="Names of the columns to keep, such as metadata.route; by default the usual columns."
    )
    places: Annotated[bool, Shown(Panel.READING)] = Field(
        False, description="Add a column with the file and line of each response."
    )
    further: Annotated[tuple[str, ...], Shown(Panel.READING, "NAME")] = Field(
        (), description="Names of additional columns to keep as signals, if the log has them."
    )


class Matching(Options):
    """Whether responses may differ from the estimator's training data."""

    any_model: Annotated[bool, Shown(Panel.READING)] = Field(
        False,
        description="Also use responses of models other than the one that the estimator was fitted on. Otherwise they "
        "are skipped, and it is an error if no response matches.",
    )
    any_logprobs: Annotated[bool, Shown(Panel.READING)] = Field(
        False,
        description="Also use responses whose number or kind of log-probabilities differs from the estimator's "
        "training data.",
    )


class ResponseOptions(Matching, LogOptions):
    """Options for reading and selecting responses."""
