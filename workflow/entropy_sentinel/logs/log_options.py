"""The options for reading logs."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from entropy_sentinel.core.option_classes import CliOption, Options, Panel
from entropy_sentinel.core.section_base import Number, Whole
from entropy_sentinel.logs.format_registry import FORMATS

# Default limit of a record. A token with 20 alternatives is about 6 kB of JSON from OpenAI's servers, so this limit
# allows a response of 40,000 tokens, which takes ten times as much memory as Python objects.
LONGEST_MB = 256


def _format_pairs(option: Any) -> Any:
    """Convert a mapping of names to values to `NAME=VALUE` texts, and one text to a list; leave other values as is."""
    if not isinstance(option, Mapping):
        return [option] if isinstance(option, str) else option
    pairs = []
    for name, value in option.items():
        values = value if isinstance(value, list | tuple) else [value]
        pairs += [f"{name}={value}" for value in values]
    return pairs


def _check_pairs(pairs: tuple[str, ...]) -> tuple[str, ...]:
    """The texts unchanged; raises ValueError for one that is not `NAME=VALUE`."""
    for pair in pairs:
        name, sign, _ = pair.partition("=")
        if not name or not sign:
            raise ValueError(f"must be NAME=VALUE, got '{pair}'")
    return pairs


Pairs = Annotated[
    tuple[str, ...],
    BeforeValidator(_format_pairs, json_schema_input_type=list[str] | dict[str, str | list[str]]),
    AfterValidator(_check_pairs),
]


class LogOptions(Options):
    """Options for reading logs, common to all commands and verbs."""

    top_k: Annotated[Whole | None, CliOption(Panel.READING, "K")] = Field(
        None, ge=1, description="Keep only this many alternatives per token."
    )
    logprobs_mode: Annotated[Literal["raw_logprobs", "processed_logprobs"] | None, CliOption(Panel.READING, "MODE")] = (
        Field(None, description="Kind of log-probabilities: raw_logprobs (the default) or processed_logprobs.")
    )
    trace_after: Annotated[str | None, CliOption(Panel.READING, "TOKEN")] = Field(
        None,
        description="The token that ends the thinking, such as </think>; features then use only the tokens after it.",
    )
    model: Annotated[str | None, CliOption(Panel.READING, "NAME")] = Field(
        None, description="The model, if the log does not name it."
    )
    column: Annotated[Pairs, CliOption(Panel.READING, "NAME=COLUMN")] = Field(
        (),
        description="A new name for a column, such as route=metadata.route, so that logs in several formats share "
        "the name. If a name has several columns, the first with a value is used.",
    )
    where: Annotated[Pairs, CliOption(Panel.READING, "COLUMN=VALUE")] = Field(
        (),
        description="Use only responses with this value, such as model=qwen3-4b. If a column has several values, any "
        "of them must match; if there are several columns, all of them must match.",
    )
    scorer: Annotated[str | None, CliOption(Panel.READING, "NAME")] = Field(
        None, description="The scorer whose scores are the labels, if the log of an evaluation has several."
    )
    reply: Annotated[str | None, CliOption(Panel.READING, "COLUMN")] = Field(
        None,
        description="The column that has the server's whole reply, as JSON text or as an object, such as "
        "a.b[0].c: for records of an unknown format.",
    )
    request: Annotated[str | None, CliOption(Panel.READING, "COLUMN")] = Field(
        None, description="The column that has the request of `reply`, for the question and the metadata."
    )
    strict: Annotated[bool, CliOption(Panel.READING)] = Field(
        False, description="Stop at the first unusable record instead of skipping and counting it."
    )


def _list_formats() -> str:
    """The names of the formats, in two parts, because there are many."""
    names = list(FORMATS)
    middle = len(names) // 2
    return f"{', '.join(names[:middle])}; {', '.join(names[middle:])}"


def _check_format(name: str) -> str:
    """The name; raises ValueError if no format has it."""
    if name not in FORMATS:
        raise ValueError(f"unknown name '{name}'; known: {', '.join(FORMATS)}")
    return name


class FormatOptions(LogOptions):
    """Options for reading logs once."""

    format: Annotated[Annotated[str, AfterValidator(_check_format)] | None, CliOption(Panel.READING, "NAME", "-f")] = (
        Field(None, description=f"The format of the logs, if it is not detected: {_list_formats()}.")
    )
    max_record_mb: Annotated[Number, CliOption(Panel.READING, "MB")] = Field(
        LONGEST_MB, gt=0, description="Skip larger records (in megabytes), to limit memory."
    )


class ReadOptions(FormatOptions):
    """All options for reading logs."""

    columns: Annotated[tuple[str, ...] | None, CliOption(Panel.READING, "NAME")] = Field(
        None, description="Names of the columns to keep, such as metadata.route; by default the usual columns."
    )
    places: Annotated[bool, CliOption(Panel.READING)] = Field(
        False, description="Add a column with the file and line of each response."
    )
    further: Annotated[tuple[str, ...], CliOption(Panel.READING, "NAME")] = Field(
        (), description="Names of additional columns to keep as signals, if the log has them."
    )


class MatchOptions(Options):
    """Whether responses may differ from the estimator's training data."""

    same_model: Annotated[Pairs, CliOption(Panel.READING, "OLD=NEW")] = Field(
        (),
        description="Estimate responses of NEW with the estimator of OLD, as the same model under a new name, such as "
        "gpt-x-2026-01=gpt-x-2026-03, or gpt-x-2026-01=gpt-x-* for all such names. Their intervals are wider, and rest "
        "on this assumption.",
    )
    any_model: Annotated[bool, CliOption(Panel.READING)] = Field(
        False,
        description="Also use responses of models other than the one that the estimator was fitted on. Otherwise they "
        "are skipped, and it is an error if no response matches.",
    )
    any_logprobs: Annotated[bool, CliOption(Panel.READING)] = Field(
        False,
        description="Also use responses whose number or kind of log-probabilities differs from the estimator's "
        "training data.",
    )


class ResponseOptions(MatchOptions, LogOptions):
    """Options for reading and selecting responses."""
