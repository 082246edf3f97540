"""Formats of logs: the name, what it is, how a record shows that it is of it, and the module that reads it.

Adding one is its module, with a class `Reader` (`sources.logs.reply`), and an entry here. The first entry that
recognises a record has it, so the more special ones stand first. Parquet files of this pipeline speak for themselves.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Record = Mapping[str, Any]

# The longest record that is read unless the user says otherwise. A token with 20 alternatives is some 6 kB of JSON as
# OpenAI's servers write it, so this is a response of 40,000 tokens; as objects in memory it takes ten times as much.
LONGEST_MB = 256


@dataclass(frozen=True)
class Format:
    """A format of logs; `recognises` is asked of one record, `module` has its class `Reader`."""

    name: str
    meaning: str
    module: str
    recognises: Callable[[Record], bool]


FORMATS: dict[str, Format] = {
    one.name: one
    for one in (
        Format(
            "litellm",
            "LiteLLM's StandardLoggingPayload, as its callbacks, S3 and generic API loggers write it",
            "entropy_sentinel.sources.logs.litellm_payload",
            lambda record: "standard_logging_object" in record or {"call_type", "model_parameters"} <= set(record),
        ),
        Format(
            "openai-batch",
            "output or error file of OpenAI's batch API and of vLLM's `run-batch`",
            "entropy_sentinel.sources.logs.openai_batch",
            lambda record: "custom_id" in record and ("response" in record or "error" in record),
        ),
        Format(
            "openai-pairs",
            "requests and replies of an OpenAI-compatible server: `request`, `response`, and any other columns",
            "entropy_sentinel.sources.logs.openai_pairs",
            lambda record: "request" in record and "response" in record,
        ),
        Format(
            "openai-stream",
            "chunks of streamed chat completions, one a line or as server-sent events, joined by id",
            "entropy_sentinel.sources.logs.openai_stream",
            lambda record: record.get("object") == "chat.completion.chunk",
        ),
        Format(
            "openai-responses",
            "replies or closing events of OpenAI's Responses API",
            "entropy_sentinel.sources.logs.openai_responses",
            lambda record: record.get("object") == "response" or str(record.get("type", "")).startswith("response."),
        ),
        Format(
            "openai",
            "replies of OpenAI's chat or text completions, of vLLM and other servers too",
            "entropy_sentinel.sources.logs.openai_replies",
            lambda record: "choices" in record or set(record) == {"error"},
        ),
        Format(
            "vllm",
            "vLLM's RequestOutput as JSON, from offline generation",
            "entropy_sentinel.sources.logs.vllm_outputs",
            lambda record: "outputs" in record and bool({"request_id", "prompt_token_ids"} & set(record)),
        ),
        Format(
            "table",
            "any table: `token_logprobs` and `top_logprobs` per response, and any other columns",
            "entropy_sentinel.sources.logs.table",
            lambda record: {"token_logprobs", "top_logprobs"} <= set(record),
        ),
    )
}


def recognise(record: Record) -> Format | None:
    """The format of a record; None where it is of none."""
    return next((one for one in FORMATS.values() if one.recognises(record)), None)
