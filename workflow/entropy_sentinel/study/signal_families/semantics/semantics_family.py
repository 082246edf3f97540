"""Family `semantics`: how an item's answers spread over classes of equal meaning.

Kuhn et al., Semantic Uncertainty (2023). The probability of a class is the sum over its answers, divided by the sum
over all: a text that was sampled twice counts twice (Tomov et al., Entropy Is Not Enough, Appendix B.1).
"""

from typing import Any, Literal, cast

import polars as pl
from pydantic import Field

from entropy_sentinel.schemas.signal_schema import Family, Signal
from entropy_sentinel.statistics.ambiguity import LEAST_SAMPLES
from entropy_sentinel.study.semantic_clustering.backend_settings import Grouping


class Semantics(Grouping):
    """Semantic entropy: how the answers to an item spread over classes of equal meaning."""

    probabilities: Literal["sequence", "frequencies"] = Field(
        "sequence",
        description="how the probability of a class is computed. sequence: the probabilities of the answers in it, "
        "summed; frequencies: their number, which is also used for items without all log-probabilities",
    )


_ENTROPY = "entropy over the classes of an item's answers, by their probabilities; the same for all its responses"
_CLASSES = "number of classes of an item's answers; the same for all its responses"
_STABLE = (
    "number of these that occur repeatedly, by the lower limits of their shares of the samples; null with fewer "
    f"than {LEAST_SAMPLES}"
)


def compute_semantics(
    traces: pl.LazyFrame, benchmark: str, probabilities: str, **comparing: Any
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A row per response, in order, and facts about the comparison of answers.

    `benchmark` is the file of the items, `comparing` are GroupingSettings. Other columns: `answer`, the compared text;
    `answer_class`, from 0 in the order of the samples; `probability` of the whole response; `class_probability`; and
    `semantics_reason`, why there are no signals, or why they use frequencies.
    """
    from entropy_sentinel.study.semantic_clustering.backend_interface import make_backend
    from entropy_sentinel.study.semantic_clustering.backend_settings import GroupingSettings
    from entropy_sentinel.study.signal_families.semantics.answer_spread import compute_spread

    backend = make_backend(cast(GroupingSettings, comparing))
    spreads = compute_spread(traces, benchmark, backend, by_frequency=probabilities == "frequencies")
    return spreads, {"grouping": backend.provenance}


FAMILY = Family(
    "how an item's answers spread over classes of the same meaning: needs several samples",
    (
        Signal("semantic_entropy", "Semantic entropy", _ENTROPY, "nats"),
        Signal("answer_classes", "Answer classes", _CLASSES, "classes"),
        Signal("stable_classes", "Stable answer classes", _STABLE, "classes"),
    ),
    per_item=True,
    settings=Semantics,
    compares_texts=True,
    compute=compute_semantics,
)
