"""How logs are read: options of all that reads them."""

from typing import Annotated

from pydantic import Field

from entropy_sentinel.frames.options import Options, Panel, Shown
from entropy_sentinel.frames.sections import Number, Whole
from entropy_sentinel.sources.logs.catalogue import FORMATS, LONGEST_MB


class LogOptions(Options):
    """How logs are read, as every command and verb that reads them can be asked."""

    top_k: Annotated[Whole | None, Shown(Panel.READING, "K")] = Field(
        None, ge=1, description="Cut the alternatives to a token to so many."
    )
    logprobs_mode: Annotated[str | None, Shown(Panel.READING, "MODE")] = Field(
        None, description="What the log-probabilities are: raw_logprobs (assumed), processed_logprobs."
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


class FormatOptions(LogOptions):
    """The same, and what can be asked where logs are read once."""

    format: Annotated[str | None, Shown(Panel.READING, "NAME", "-f")] = Field(
        None, description=f"Instead of looking at each record: {', '.join(FORMATS)}."
    )
    max_record_mb: Annotated[Number, Shown(Panel.READING, "MB")] = Field(
        LONGEST_MB, gt=0, description="A record of more megabytes is left out, for it takes memory."
    )
