"""The responses on which assessors are evaluated: those with a label and features, by domain and distribution."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import polars as pl

from entropy_sentinel.core.errors import ContractError
from entropy_sentinel.estimators.estimator_registry import ESTIMATORS, extra_signals
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.estimate_schema import SCORES
from entropy_sentinel.schemas.response_schema import RESPONSE
from papers.rejection.rejection_frames import ASSESSMENTS

# In distribution: the test split of the training domains. Out of distribution: unseen domains.
ROLES = ("training", "held_out")
# Stands for all domains of a role together.
EVERY = "*"


class Slice(NamedTuple):
    """One model's labelled responses on one domain, or on `EVERY` domain of one role.

    `rows` have RESPONSE, label, role, and P(correct) by each of `assessors`.
    """

    role: str
    benchmark: str
    rows: pl.DataFrame
    # The assessors with scores for this model, each a column of the rows. One that could not be fitted has none, even
    # if it could be for other models.
    assessors: tuple[str, ...]


def read_scores(scores: Sequence[str], questions: Sequence[str]) -> pl.DataFrame:
    """P(correct) by response, training group and assessor: one frame ASSESSMENTS.

    `scores` are files SCORES, whose provenance names their training group (`a+b`); `questions` are files ASSESSMENTS
    of the assessor that sees only the question.
    """
    frames = []
    for path in scores:
        group = pl.lit(read_provenance(path)["group"])
        frames.append(SCORES.read(path).with_columns(group=group).select(ASSESSMENTS.schema.names()))
    frames += map(ASSESSMENTS.read, questions)
    # Two named groups with the same benchmarks are one training group: an estimator that both keep is in both files.
    return pl.concat(frames).unique(ASSESSMENTS.key, maintain_order=True)


def slice_responses(
    observations: pl.DataFrame, scores: pl.DataFrame, group: str, assessors: Sequence[str]
) -> Iterator[Slice]:
    """Yield one model's labelled responses for each role and domain, and before them for all domains of the role.

    `observations` is a frame OBSERVATIONS, `scores` a frame ASSESSMENTS, `group` the training group (`a+b`). A slice's
    rows have RESPONSE, label, role, and a column of scores for each of `assessors` that has some for this model; a
    domain without labelled responses is a slice without rows. All assessors are compared on the same responses: one
    that lacks a signal needed by an assessor is left out. Raises ContractError if any other has no score.
    """
    is_training = pl.col("benchmark").is_in(group.split("+"))
    role = pl.when(is_training).then(pl.lit("training")).otherwise(pl.lit("held_out"))
    domains = observations.select("benchmark", role=role).unique(maintain_order=True)
    # Assessors were fitted on the training split of the training domains, so it is not evaluated.
    usable = observations.filter(
        pl.col("label").is_not_null(), pl.col("feature_reason").is_null(), ~is_training | (pl.col("split") == "test")
    ).select(*RESPONSE, "label", role=role)
    model_scores = scores.filter(
        pl.col("group") == group, pl.col("model").is_in(observations["model"].unique().implode())
    )
    scored_assessors = set(model_scores["estimator"].unique())
    available = tuple(name for name in assessors if name in scored_assessors)
    for name in available:
        usable = usable.join(
            model_scores.filter(estimator=name).select(*RESPONSE, pl.col("p").alias(name)),
            on=RESPONSE,
            how="left",
            maintain_order="left",
        )
        if name in ESTIMATORS and extra_signals(name):
            # Such an estimator gives no score where the signals are null; any other lacks a score only by an error.
            usable = usable.drop_nulls(name)
        if missing := usable[name].null_count():
            raise ContractError(
                f"{name}, trained on {group}: {missing} of {len(usable)} labelled responses have no score; its scores "
                "belong to other observations; delete them"
            )
    for name in ROLES:
        rows = usable.filter(pl.col("role") == name)
        yield Slice(name, EVERY, rows, available)
        for domain in domains.filter(pl.col("role") == name)["benchmark"]:
            yield Slice(name, domain, rows.filter(pl.col("benchmark") == domain), available)
