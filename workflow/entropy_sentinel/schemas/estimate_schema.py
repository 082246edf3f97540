"""Estimates of each domain's accuracy, and P(correct) of each response: the files of two stages.

Stage `estimate` writes `estimates/{judge}/{model}/{group}.parquet`.
Stage `estimator` writes `scores/{judge}/{model}/{name}.parquet`.
"""

import polars as pl

from entropy_sentinel.schemas.contract import Column, Contract
from entropy_sentinel.schemas.response_schema import MODEL_COLUMN, RESPONSE, RESPONSE_COLUMNS

ESTIMATES = Contract(
    stage="estimates",
    key=("model", "group", "estimator", "benchmark"),
    columns=(
        MODEL_COLUMN,
        Column("group", pl.String, "training group: its benchmarks, sorted and joined with `+`"),
        Column(
            "estimator",
            pl.String,
            "a name from estimators/estimator_registry.py, such as `forest-10d-balanced-isotonic`",
        ),
        Column("benchmark", pl.String, "the domain whose accuracy is estimated"),
        Column("role", pl.String, "`training` (its test split is evaluated) or `held_out` (all its rows are)"),
        Column("estimated_accuracy", pl.Float64, "estimate over the domain's rows with features", "1", nullable=True),
        Column(
            "estimated_on_labelled",
            pl.Float64,
            "estimate over the rows with features and a label, to compare with true_accuracy",
            "1",
            nullable=True,
        ),
        Column(
            "true_accuracy",
            pl.Float64,
            "share of correct rows among those with features and a label",
            "1",
            nullable=True,
        ),
        Column("n_rows", pl.UInt32, "rows with features, the basis of estimated_accuracy", "responses"),
        Column("n_labelled", pl.UInt32, "rows with features and a label", "responses"),
        Column("n_excluded", pl.UInt32, "rows without features", "responses"),
        Column("n_training_rows", pl.UInt32, "rows that the estimator was trained on", "responses"),
        Column(
            "hyperparameters",
            pl.String,
            "what was chosen on the training rows, and why, as JSON: the grid search's setting, or a method",
            nullable=True,
        ),
        Column("reason", pl.String, "why the estimates are null", nullable=True),
        Column("caution", pl.String, "warning about estimates from these training rows", nullable=True),
    ),
)


SCORES = Contract(
    stage="scores",
    key=(*RESPONSE, "estimator"),
    columns=(
        *RESPONSE_COLUMNS,
        Column(
            "estimator", pl.String, "a name from estimators/estimator_registry.py; only those that give a probability"
        ),
        Column("p", pl.Float64, "P(correct), also of rows that the estimator was fitted on", "1"),
    ),
)
