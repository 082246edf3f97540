"""How the answers to an item become classes, and classes probabilities: the config's section `signals.semantics`."""

from typing import Literal

from pydantic import Field

from entropy_sentinel.grouping.settings import Grouping


class Semantics(Grouping):
    """Semantic entropy: how the answers to an item spread over classes of the same meaning."""

    probabilities: Literal["sequence", "frequencies"] = Field(
        "sequence",
        description="what the probability of a class is made of. sequence: the probabilities of the answers in it, "
        "summed; frequencies: their number, which is also taken for items of which a log-probability is not known",
    )
