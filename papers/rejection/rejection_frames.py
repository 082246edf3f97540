"""Contracts of this analysis' files per model: `questions/{model}.parquet` and `measures/{model}.parquet`."""

import polars as pl

from entropy_sentinel.schemas.contract import Column, Contract
from entropy_sentinel.schemas.estimate_schema import SCORES
from entropy_sentinel.schemas.response_schema import MODEL_COLUMN

GROUP = Column("group", pl.String, "training group: its benchmarks, sorted and joined with `+`")

# The scores of the assessor that sees only the question, to compare with those of the kept estimators.
ASSESSMENTS = Contract(stage="assessments", key=("group", *SCORES.key), columns=(GROUP, *SCORES.columns))

MEASURES = Contract(
    stage="measures",
    key=("model", "group", "role", "benchmark", "assessor", "measure"),
    columns=(
        MODEL_COLUMN,
        GROUP,
        Column("role", pl.String, "`training` (test split: in distribution) or `held_out` (out of distribution)"),
        Column("benchmark", pl.String, "domain; `*` is all labelled domains of the role together"),
        Column("n_responses", pl.UInt32, "rows with features and a label", "responses"),
        Column("accuracy", pl.Float64, "share of correct responses among them", "1", nullable=True),
        Column("assessor", pl.String, "an estimator that gives P(correct), or `question-only`"),
        Column(
            "measure",
            pl.String,
            "`auarc`; `prr`, its way from a random order (0) to a perfect one (1); `gain`, the AUARC minus that of "
            "`question-only`; `coverage_0.9`, the largest share that can be kept with an accuracy of at least 0.9, "
            "found with the labels of these very responses; `threshold_0.9`, the lowest score from which on the "
            "training group's test split has that accuracy; `kept_0.9` and `kept_accuracy_0.9`, of unseen domains the "
            "share of responses from that threshold on, and their accuracy",
        ),
        Column("value", pl.Float64, "for the responses themselves, without resampling", "1", nullable=True),
        Column("lower", pl.Float64, "2.5 % quantile over bootstrap samples of the items", "1", nullable=True),
        Column("upper", pl.Float64, "97.5 % quantile", "1", nullable=True),
        Column("reason", pl.String, "why the value is null", nullable=True),
    ),
)
