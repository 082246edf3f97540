"""Names as tables, figures and the page show them."""

from collections.abc import Mapping, Sequence

import polars as pl

from entropy_sentinel.estimators.estimator_registry import estimator_title
from entropy_sentinel.study.analyses.display_names import ExhibitSettings, TrainingGroup
from papers.rejection.evaluated_rows import EVERY
from papers.rejection.rejection_exhibits import QUESTION_ONLY
from papers.rejection.rejection_measures import NO_RESPONSE

# In the order shown: users first ask about new kinds of questions.
DISTRIBUTIONS: dict[str, str] = {"held_out": "out of distribution", "training": "in distribution"}
DISTRIBUTION_NOTE = (
    "In distribution: the test split of the benchmarks that the assessor was trained on. Out of distribution: all "
    "responses of domains that it has not seen."
)
EVERY_NOTE = "Domain all: these domains together; all responses have equal weight."
# For tables: with 10,000 bootstrap samples, another seed moves 95 % of AUARC's limits by less than 0.006.
DECIMALS = 2
INTERVAL_NOTE = (
    "From and to: 95 % bootstrap interval (percentiles over samples of the items, all responses to an item together)."
)
KEPT_NOTES = (
    "Coverage: the largest share that could be kept, chosen with the labels of these same responses: an upper bound "
    "for an order, not a guarantee.",
    "Kept, out of distribution: by the threshold that reaches the required accuracy on the test split of the training "
    "group, as users can do; if no threshold does, nothing is kept.",
)
OWN_TITLE = "Own"


class RejectionExhibitSettings(ExhibitSettings):
    """Settings of all exhibits and the page of this analysis, including the assessors by training group (`a+b`)."""

    assessors: Mapping[str, Sequence[str]]
    accuracies: Sequence[float]


def assessor_title(name: str) -> str:
    """An assessor, an estimator or the question-only baseline, in words."""
    return "Question only" if name == QUESTION_ONLY else estimator_title(name)


def short_title(name: str, group: TrainingGroup) -> str:
    """An assessor as the heading of a column that several groups share: the group's own estimator is "Own"."""
    return OWN_TITLE if name == group.estimator else assessor_title(name)


def domain_title(benchmark: str) -> str:
    """A domain in words, or all of its distribution."""
    return "all" if benchmark == EVERY else benchmark


def note_excluded_domains(measures: pl.DataFrame) -> list[str]:
    """One line for each domain without a labelled response, with the models concerned; from a frame MEASURES."""
    empty = measures.filter(pl.col("reason") == NO_RESPONSE, pl.col("benchmark") != EVERY)
    models = empty.select("benchmark", "model").unique(maintain_order=True).group_by("benchmark", maintain_order=True)
    notes = []
    for (benchmark,), part in models:
        notes.append(f"{benchmark} is excluded for {', '.join(part['model'])}: {NO_RESPONSE}.")
    return notes


def note_absent_assessors(
    measures: pl.DataFrame, groups: Sequence[TrainingGroup], assessors: Mapping[str, Sequence[str]]
) -> list[str]:
    """One line for each set of assessors without rows in `measures` (MEASURES), with the models and groups concerned.

    `assessors` are the expected ones by training group (`a+b`).
    """
    models = measures["model"].unique(maintain_order=True)
    # The titles of the absent assessors, with the pairs of model and training group that lack them all.
    by_absent: dict[str, list[str]] = {}
    for group in groups:
        for model in models:
            present = set(measures.filter(model=model, group=group.group_id)["assessor"])
            absent = [assessor_title(name) for name in assessors[group.group_id] if name not in present]
            if absent:
                by_absent.setdefault("; ".join(absent), []).append(f"{model} by {group.title}")
    notes = []
    for names, pairs in by_absent.items():
        if len(pairs) == len(models) * len(groups):
            pairs = ["all models", *(group.title for group in groups)]
        notes.append(f"Left out, because they give no P(correct) or could not be fitted: {names} ({', '.join(pairs)}).")
    return notes
