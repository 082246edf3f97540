"""The options that verbs take by name, as editors and type checkers see them (PEP 692).

The class that checks the options has their defaults, bounds and meanings; a test compares its names and types with
these. `core.option_classes.document_options` shows them in a notebook.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

# NAME=VALUE texts, or values by name.
Pairs = Sequence[str] | Mapping[str, str | Sequence[str]]


class LogKeywords(TypedDict, total=False):
    """The fields of `LogOptions`."""

    top_k: int | None
    logprobs_mode: Literal["raw_logprobs", "processed_logprobs"] | None
    trace_after: str | None
    model: str | None
    column: Pairs
    where: Pairs
    scorer: str | None
    reply: str | None
    request: str | None
    strict: bool


class FormatKeywords(LogKeywords, total=False):
    """The fields of `FormatOptions`."""

    format: str | None
    max_record_mb: float


class ReadKeywords(FormatKeywords, total=False):
    """The fields of `ReadOptions`, for `open_logs`, `read_logs` and `read_features`."""

    columns: Sequence[str] | None
    places: bool
    further: Sequence[str]


class ResponseKeywords(LogKeywords, total=False):
    """The fields of `ResponseOptions`."""

    same_model: Pairs
    any_model: bool
    any_logprobs: bool


class FitKeywords(TypedDict, total=False):
    """The fields of `Limits`, for `fit`."""

    usable_error: float
    far_off: float
    confidence: float


class EstimateKeywords(ResponseKeywords, total=False):
    """The fields of `EstimateOptions` but `by`, for `estimate` and `compare`."""

    level: float
    min_responses: int
    cluster: str | None


class MonitorKeywords(EstimateKeywords, total=False):
    """The fields of `MonitorOptions` but `by`, for `monitor`."""

    window: Literal["hour", "day", "week", "month"] | None
    timezone: str | None
    time: str | None
    number: Sequence[str]
    reference: str | None
    pool_windows: int
    max_slices: int
    fail_below: float | None
    alert_on: Sequence[str]
    min_drop: float
    false_alarms: str
    confirm: int
    acknowledged: str | Path | None
    now: str | None
    events: str | Sequence[str] | Mapping[str, str | Sequence[str]]
    remind: bool
    responses: int
    name: str | None
    page_url: str | None
    labels: Any
    judged: Any
    labels_at_random: bool


class SampleKeywords(FormatKeywords, ResponseKeywords, total=False):
    """The fields of `SampleOptions` but `by` and `budget`, for `sample`."""

    per_slice: int | None
    max_per_slice: int | None
    slices: str | Path | None
    seed: int
    level: float
    judge_usd: float | None
    judge_model: str | None
    usd_per_million_input_tokens: float | None
    usd_per_million_output_tokens: float | None
    judge_reply_tokens: int
    judge_sensitivity: float
    judge_specificity: float


class JudgeKeywords(TypedDict, total=False):
    """The fields of `JudgeOptions` but `model`, for `judge`."""

    second_opinion: str | None
    base_url: str | None
    prompt: str | Path | None
    budget_usd: float | None
    usd_per_million_input_tokens: float | None
    usd_per_million_output_tokens: float | None
    max_tokens: int
    temperature: float | None
    logprobs: Literal["auto", "on", "off"]
    concurrency: int
    requests_per_minute: float | None
    total_timeout_s: float
