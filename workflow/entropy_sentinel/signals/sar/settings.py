"""What says how alike two texts are: the config's section `signals.sar`."""

from pydantic import Field

from entropy_sentinel.frames.sections import Positive, Text
from entropy_sentinel.grouping.settings import TextModel

_USUAL = "cross-encoder/stsb-roberta-large"


class Sar(TextModel):
    """SAR: how unsure the answers to an item are, with what matters to their meaning counted more."""

    model: Text | None = Field(None, description=f"Hugging Face id of the cross-encoder; null for the usual, {_USUAL}")
    samples: Positive | None = Field(
        30,
        description="of each item so many answers are compared, the first ones; null for all. The pairs grow with the "
        "square",
    )

    @property
    def usual(self) -> str:
        """That of the paper and of LM-Polygraph."""
        return _USUAL
