"""What the pass asks: the config's section `signals.forced_answer`."""

from typing import Annotated, Literal

from pydantic import Field

from entropy_sentinel.frames.sections import DISTINCT, Positive, Settings

Kind = Literal["own", "reference", "none"]


class ForcedAnswer(Settings):
    """Entropy area: how unsure the model is of an answer that is put in after each token of its response."""

    answers: Annotated[list[Kind], DISTINCT] = Field(
        ["own"],
        min_length=1,
        description="which answers are put in, each with a trajectory of its own. own: the response's final answer, "
        "which needs no label, and which the signals eas and mean_eas are of; reference: the benchmark's, as in the "
        "paper; none: nothing after the brace",
    )
    positions: Literal["all", "sentence-ends"] | Positive = Field(
        "all",
        description="after which tokens: all of them; sentence-ends; or a number n for every n-th. With fewer than all "
        "the first and the last one are asked too, and the area is interpolated",
    )
    options: bool = Field(
        False,
        description="whether the probabilities of the letters of the question's options are kept at each position",
    )
