"""What the verbs and commands can be asked that bring responses to an estimator."""

from typing import Annotated

from pydantic import Field

from entropy_sentinel.frames.options import Options, Panel, Shown
from entropy_sentinel.sources.logs.settings import LogOptions


class Matching(Options):
    """Whether responses may be of something else than the estimator."""

    any_model: Annotated[bool, Shown(Panel.READING)] = Field(
        False,
        description="Take responses of another model than the estimator was fitted on. Without it they are left out, "
        "or refused.",
    )
    any_logprobs: Annotated[bool, Shown(Panel.READING)] = Field(
        False, description="The same for another number or kind of log-probabilities than it was fitted on."
    )


class ResponseOptions(Matching, LogOptions):
    """How responses are read, and which of them are taken."""
