"""What the pass follows: the config's section `signals.integers`."""

from pydantic import Field

from entropy_sentinel.frames.sections import Number, Settings


class Integers(Settings):
    """Integers: the model's distribution over the integers that it may answer with."""

    prune_below: Number = Field(
        1e-4,
        gt=0,
        lt=1,
        description="the beginning of an integer, such as 1 of 12, is not followed where it is less likely than this: "
        "its probability is missing",
    )
