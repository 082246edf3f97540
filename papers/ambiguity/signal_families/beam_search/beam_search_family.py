"""Family `beam_search`: the likeliest responses to an item by beam search, and the improbability of the likeliest.

MSP of Entropy is not enough (2025), Appendix B.2: 1 - max p(a | x), with the maximum over beams instead of samples.
"""

from types import ModuleType
from typing import Annotated

import polars as pl
from pydantic import Field

from entropy_sentinel.core.section_base import Settings, Whole
from entropy_sentinel.schemas.generation_schema import TOP_K
from entropy_sentinel.schemas.response_schema import RESPONSE, align_rows
from entropy_sentinel.schemas.signal_schema import EnginePass, Family, Signal
from papers.ambiguity.signal_families.beam_search.beam_search_frames import BEAMS


class BeamSearch(Settings):
    """Beam search: the likeliest responses to an item, by the model's own probabilities, before temperature."""

    width: Annotated[Whole, Field(ge=1, le=TOP_K // 2)] = Field(
        5,
        description="number of sequences that each step continues, and that are kept; the paper has 5. A search runs "
        "up to the model's sampling.max_tokens, and its sampling.stop also ends a response",
    )


_MSP = "1 - probability of the likeliest response that a beam search finds; the same for all responses to an item"


def compute(traces: pl.LazyFrame, asked: str) -> pl.DataFrame:
    """A row per response in `traces`, in order: `msp`, or `msp_reason` if it is null; `asked` is a file BEAMS."""
    rows = BEAMS.read(asked, [*RESPONSE, "logprobs", "reason"])
    responses = align_rows(traces, rows)
    likeliest = pl.col("logprobs").list.first()
    return responses.select(msp=1 - likeliest.exp(), msp_reason="reason")


def _import_requery() -> ModuleType:
    """The module that asks an engine; imported only where that happens, because it imports the engines."""
    from papers.ambiguity.signal_families.beam_search.requery import beam_requests

    return beam_requests


FAMILY = Family(
    "how unlikely even the likeliest response to an item is: its beams are searched, on a GPU",
    (Signal("msp", "MSP", _MSP, "1", share=True),),
    per_item=True,
    requery=EnginePass(
        BEAMS,
        load_module=_import_requery,
        version=1,
        alike=(("texts", "logprobs", "lengths", "finish_reasons"),),
        # There is one search per item: for each beam, as many contexts as a response has tokens.
        contexts_per_token=lambda settings: settings["width"],
        first_responses=lambda settings: 1,
        needed_of_servers=("end_tokens",),
    ),
    settings=BeamSearch,
    compute=compute,
)
