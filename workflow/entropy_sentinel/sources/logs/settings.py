"""How logs are read: options of all that reads them."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from entropy_sentinel.frames.options import Options, Panel, Shown
from entropy_sentinel.frames.sections import Number, Whole
from entropy_sentinel.sources.logs.catalogue import FORMATS, LONGEST_MB

# What log-probabilities can be, as vLLM calls it: before or after temperature and the like.
Mode = Literal["raw_logprobs", "processed_logprobs"]


def _as_pairs(given: Any) -> Any:
    """A mapping of names to a value or several as `NAME=VALUE` texts; anything else as it is."""
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
    """How logs are read, as every command and verb that reads them can be asked."""

    top_k: Annotated[Whole | None, Shown(Panel.READING, "K")] = Field(
        None, ge=1, description="Cut the alternatives to a token to so many."
    )
    logprobs_mode: Annotated[Literal["raw_logprobs", "processed_logprobs"] | None, Shown(Panel.READING, "MODE")] = (
        Field(None, description="What the log-probabilities are: raw_logprobs (assumed), processed_logprobs.")
    )
    trace_after: Annotated[str | None, Shown(Panel.READING, "TOKEN")] = Field(
        None, description="The token that ends the thinking, as </think>: features are over what follows."
    )
    model: Annotated[str | None, Shown(Panel.READING, "NAME")] = Field(
        None, description="The model, where the log does not say it."
    )
    column: Annotated[Pairs, Shown(Panel.READING, "NAME=COLUMN")] = Field(
        (),
        description="A name for a column, as route=metadata.route, so that logs of several formats have it in common; "
        "of several columns for a name, the first that a response has a value in.",
    )
    where: Annotated[Pairs, Shown(Panel.READING, "COLUMN=VALUE")] = Field(
        (),
        description="Take only responses with this value, as model=qwen3-4b; of several values for a column, any; of "
        "several columns, all.",
    )
    strict: Annotated[bool, Shown(Panel.READING)] = Field(
        False, description="Stop at the first record that cannot be used; else it is named and left out."
    )


def _known(name: str) -> str:
    if name not in FORMATS:
        raise ValueError(f"unknown name '{name}'; known: {', '.join(FORMATS)}")
    return name


class FormatOptions(LogOptions):
    """The same, and what can be asked where logs are read once."""

    format: Annotated[Annotated[str, AfterValidator(_known)] | None, Shown(Panel.READING, "NAME", "-f")] = Field(
        None, description=f"Instead of looking at each record: {', '.join(FORMATS)}."
    )
    max_record_mb: Annotated[Number, Shown(Panel.READING, "MB")] = Field(
        LONGEST_MB, gt=0, description="A record of more megabytes is left out, for it takes memory."
    )


class ReadOptions(FormatOptions):
    """All that can be asked of what reads logs."""

    columns: Annotated[tuple[str, ...] | None, Shown(Panel.READING, "NAME")] = Field(
        None, description="Dotted names of the columns to keep (`metadata.route`); without, the usual ones."
    )
    places: Annotated[bool, Shown(Panel.READING)] = Field(
        False, description="Add a column that says the file and line of each response."
    )
    further: Annotated[tuple[str, ...], Shown(Panel.READING, "NAME")] = Field(
        (), description="Names of columns that are kept beside these, as signals, where the log has them."
    )
