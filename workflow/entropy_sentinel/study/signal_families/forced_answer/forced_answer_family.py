"""Family `forced_answer`: the entropy of an answer inserted after each token of a response, and its area.

Zhu et al., Uncertainty Under the Curve (2025). For t = 1 .. T - 1 the model predicts the next token after its prompt,
x_1 .. x_t, `\\boxed{` and all but the last token of the answer. The signals use the response's own final answer, which
needs no label; the pass also has the paper's variant with the reference.
"""

from collections.abc import Mapping
from types import ModuleType
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import Field

from entropy_sentinel.core.section_base import DISTINCT, Positive, Settings
from entropy_sentinel.schemas.response_schema import RESPONSE, align_rows
from entropy_sentinel.schemas.signal_schema import EnginePass, Family, Signal
from entropy_sentinel.study.signal_families.forced_answer.forced_answer_frames import FORCED_ANSWERS

Kind = Literal["own", "reference", "none"]


class ForcedAnswer(Settings):
    """Entropy area: how unsure the model is of an answer inserted after each token of its response."""

    answers: Annotated[list[Kind], DISTINCT] = Field(
        ["own"],
        min_length=1,
        description="which answers are inserted, each with its own trajectory. own: the response's final answer, "
        "which needs no label and gives the signals eas and mean_eas; reference: the benchmark's, as in the "
        "paper; none: nothing after the brace",
    )
    positions: Literal["all", "sentence-ends"] | Positive = Field(
        "all",
        description="after which tokens: all of them; sentence-ends; or a number n for every n-th. With fewer, "
        "the first and the last are always included, and the area is interpolated",
    )
    samples: Positive | None = Field(
        None,
        description="score only this many responses to each item, from the first; null for all. The cost of the pass "
        "is proportional to the number of responses",
    )
    options: bool = Field(
        False,
        description="keep the probabilities of the letters of the question's options at each position",
    )


# About, for the forecast.
_TOKENS_PER_SENTENCE = 20
_EAS = "entropy area score: sum of the entropies of the response's final answer, inserted after each of its tokens"
_MEAN = "mean of these entropies: EAS over T - 1, the tokens before the last one of the answer"


def contexts_per_token(settings: Mapping[str, Any]) -> float:
    """The contexts that the pass asks about per token of a response, at most: equal answers are asked about once.

    `settings` is the section `signals.forced_answer`: one context for each kind of answer and position.
    """
    positions = settings["positions"]  # `all`, `sentence-ends`, or a number n for every n-th token
    tokens_per_position: float = {"all": 1, "sentence-ends": _TOKENS_PER_SENTENCE}.get(positions, positions)
    return len(settings["answers"]) / tokens_per_position


def compute_entropy_areas(traces: pl.LazyFrame, asked: str) -> pl.DataFrame:
    """A row per response, in order: the signals eas and mean_eas, or `eas_reason`, why it has none.

    `asked` is the file of the pass, the model's second run over its responses (FORCED_ANSWERS).
    """
    rows = FORCED_ANSWERS.read(asked, [*RESPONSE, "answer", "eas", "mean_eas", "reason"]).filter(answer="own")
    scores = align_rows(traces, rows)  # a row of nulls for a response that the pass did not ask with this answer
    unasked = pl.lit("signals.forced_answer.answers has no 'own'")
    reason = pl.when(pl.col("answer").is_null()).then(unasked).otherwise("reason")
    return scores.select("eas", "mean_eas", eas_reason=reason)


def _import_requery() -> ModuleType:
    """The module that asks an engine; imported only where that happens, because it imports the engines."""
    from entropy_sentinel.study.signal_families.forced_answer.requery import forced_contexts

    return forced_contexts


FAMILY = Family(
    "how unsure the model is of its final answer while it writes the response: it is asked again, on a GPU",
    (Signal("eas", "EAS", _EAS, "bits"), Signal("mean_eas", "Mean EAS", _MEAN, "bits")),
    requery=EnginePass(
        FORCED_ANSWERS,
        load_module=_import_requery,
        version=2,  # retracted answers, and unboxed ones within a sentence, do not count
        alike=(("positions", "entropies", "missing_masses", "bounds"), ("options", "option_probabilities")),
        contexts_per_token=contexts_per_token,
        first_responses=lambda settings: settings["samples"],
        needed_of_servers=("vocabulary",),
    ),
    settings=ForcedAnswer,
    compute=compute_entropy_areas,
)
