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
    """Responses of one domain, or of `EVERY` domain of one role."""

    role: str
    benchmark: str
    rows: pl.DataFrame
    # The assessors with scores for this model, each a column of the rows. One that could not be fitted has none, even
    # if it could be for other models.
    assessors: tuple[str, ...]


def read_scores(scores: Sequence[str], questions: Sequence[str]) -> pl.DataFrame:
    """Read files SCORES, whose provenance names their group, and files ASSESSMENTS into one frame ASSESSMENTS.

    Two named groups with the same benchmarks share the estimators that both keep.
    """
    frames = []
    for path in scores:
        group = pl.lit(read_provenance(path)["group"])
        frames.append(SCORES.read(path).with_columns(group=group).select(ASSESSMENTS.schema.names()))
    frames += map(ASSESSMENTS.read, questions)
    return pl.concat(frames).unique(ASSESSMENTS.key, maintain_order=True)


def slice_responses(
    observations: pl.DataFrame, scores: pl.DataFrame, group: str, assessors: Sequence[str]
) -> Iterator[Slice]:
    """One model's labelled responses by role and domain, all domains first, with a score column per assessor.

    Of `assessors`, those with scores for this model are in it. A domain without labelled responses is a slice without
    rows. All assessors are compared on the same responses: responses that lack a signal needed by an assessor
    are left out. Raises ContractError if an assessor has no score for one of the other responses.
    """
    is_training = pl.col("benchmark").is_in(group.split("+"))
    role = pl.when(is_training).then(pl.lit("training")).otherwise(pl.lit("held_out"))
    domains = observations.select("benchmark", role=role).unique(maintain_order=True)
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
