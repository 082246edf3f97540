"""How logs are read: options of all that reads them."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from entropy_sentinel.frames.options import Options, Panel, Shown
from entropy_sentinel.frames.sections import Number, Whole
from entropy_sentinel.sources.logs.catalogue import FORMATS, LONGEST_MB

# What log-probabilities can be, as vLLM calls it: before or after temperature and the like.
Mode = Literal["raw_logprobs", "processed_logprobs"]


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
    signals: Annotated[tuple[str, ...], Shown(Panel.READING, "NAME")] = Field(
        (), description="Names of signals: columns that are kept beside these, where the log has them."
    )
