"""What the pass asks: the config's section `signals.beam_search`."""

from typing import Annotated

from pydantic import Field

from entropy_sentinel.frames.generation import TOP_K
from entropy_sentinel.frames.sections import Settings, Whole


class BeamSearch(Settings):
    """Beam search: the likeliest responses to an item, by the model's own probabilities, before temperature."""

    width: Annotated[Whole, Field(ge=1, le=TOP_K // 2)] = Field(
        5,
        description="sequences that are gone on with at each step, and that are kept; the paper has 5. A search goes "
        "as far as the model's sampling.max_tokens, and its sampling.stop ends a response there too",
    )
