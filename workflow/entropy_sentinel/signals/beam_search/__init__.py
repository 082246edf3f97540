"""Family `beam_search`: the likeliest responses to an item by beam search, and how unlikely the likeliest one is.

MSP of Entropy is not enough (2025), Appendix B.2: 1 - max p(a | x), the maximum not over samples but over beams. A
search is of the item, so that all responses to it have the same value.
"""

import polars as pl

from entropy_sentinel.frames.response import RESPONSE, of_responses
from entropy_sentinel.frames.signals import EnginePass, Family, Signal
from entropy_sentinel.signals.beam_search.frame import BEAMS
from entropy_sentinel.signals.beam_search.settings import BeamSearch

_MSP = "1 - probability of the likeliest response that a beam search finds, as a whole; the same for all of an item"

FAMILY = Family(
    "how unlikely even the likeliest response to an item is: its beams are searched, on a GPU",
    (Signal("msp", "MSP", _MSP, "1", share=True),),
    per_item=True,
    asks=EnginePass(
        BEAMS,
        version=1,
        alike=(("texts", "logprobs", "lengths", "finish_reasons"),),
        # A search is of the item: as many contexts as one response has tokens, for each beam.
        contexts_per_token=lambda settings: settings["width"],
        first_responses=lambda settings: 1,
        told_of_servers=("end_tokens",),
    ),
    settings=BeamSearch,
)


def compute(traces: pl.LazyFrame, asked: str) -> pl.DataFrame:
    """A row per response, in their order: the signal, and `msp_reason` where there is none. `asked` is the pass."""
    rows = BEAMS.read(asked, [*RESPONSE, "logprobs", "reason"])
    found = of_responses(traces, rows)
    likeliest = pl.col("logprobs").list.first()
    return found.select(msp=1 - likeliest.exp(), msp_reason="reason")
