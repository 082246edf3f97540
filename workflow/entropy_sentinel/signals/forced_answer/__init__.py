r"""Family `forced_answer`: the entropy of an answer that is put in after each token of a response, and its area.

Zhu et al., Uncertainty Under the Curve (2025). For t = 1 .. T - 1 the model is asked for the next token after its
prompt, x_1 .. x_t, `\boxed{` and all but the last token of the answer. The signals are of the response's own final
answer, which needs no label; the pass also has the paper's, of the reference (frame.py).
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from entropy_sentinel.frames.response import RESPONSE, of_responses
from entropy_sentinel.frames.signals import EnginePass, Family, Signal
from entropy_sentinel.signals.forced_answer.frame import FORCED_ANSWERS
from entropy_sentinel.signals.forced_answer.settings import ForcedAnswer

_EAS = "entropy area score: sum of the entropies of the own final answer, put in after each token of the response"
_MEAN = "mean of these entropies: EAS over T - 1, the tokens before the last one of the answer"


def contexts_per_token(settings: Mapping[str, Any]) -> float:
    """At most: kinds of answers that are the same text are asked about once. Some 20 tokens make a sentence."""
    which = settings["positions"]
    every: float = {"all": 1, "sentence-ends": 20}.get(which, which)
    return len(settings["answers"]) / every


FAMILY = Family(
    "how unsure the model is of its final answer while it writes the response: it is asked again, on a GPU",
    (Signal("eas", "EAS", _EAS, "bits"), Signal("mean_eas", "Mean EAS", _MEAN, "bits")),
    asks=EnginePass(
        FORCED_ANSWERS,
        version=2,  # answers that the response takes back, and unboxed ones within a sentence, are none
        alike=(("positions", "entropies", "missing_masses", "bounds"), ("options", "option_probabilities")),
        contexts_per_token=contexts_per_token,
        first_responses=lambda settings: settings["samples"],
        told_of_servers=("vocabulary",),
    ),
    settings=ForcedAnswer,
)


def compute(traces: pl.LazyFrame, asked: str) -> pl.DataFrame:
    """A row per response, in their order: the signals, and `eas_reason` where there are none. `asked` is the pass."""
    rows = FORCED_ANSWERS.read(asked, [*RESPONSE, "answer", "eas", "mean_eas", "reason"]).filter(answer="own")
    found = of_responses(traces, rows)
    unasked = pl.lit("signals.forced_answer.answers has no 'own'")
    reason = pl.when(pl.col("answer").is_null()).then(unasked).otherwise("reason")
    return found.select("eas", "mean_eas", eas_reason=reason)
