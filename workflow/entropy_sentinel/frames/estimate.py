"""Stages `estimates` and `sweep`: accuracy per domain, and its errors.

`estimates/{judge}/{model}/{group}.parquet`; `{judge}/sweep.parquet`, `auroc.parquet` and `domains.parquet`.
"""

import polars as pl

from entropy_sentinel.frames.contract import Column, Contract

ESTIMATES = Contract(
    stage="estimates",
    key=("estimator", "benchmark"),
    columns=(
        Column(
            "estimator",
            pl.String,
            "a configuration, `forest-10d-balanced-isotonic`, or a baseline, `baseline-ppl`",
        ),
        Column("benchmark", pl.String, "the domain whose accuracy is estimated"),
        Column("role", pl.String, "`training` (its test split is evaluated) or `held_out` (all its rows are)"),
        Column("estimated_accuracy", pl.Float64, "mean P(correct) over the domain's rows", "1", nullable=True),
        Column("true_accuracy", pl.Float64, "share of correct labels over the same rows", "1", nullable=True),
        Column("n_rows", pl.UInt32, "rows with a label and features: those that both means are over", "responses"),
        Column("n_excluded", pl.UInt32, "rows without a label or features", "responses"),
        Column("n_training_rows", pl.UInt32, "rows that the estimator was trained on", "responses"),
        Column("hyperparameters", pl.String, "setting that the grid search chose, JSON", nullable=True),
        Column("reason", pl.String, "why the estimate is null", nullable=True),
    ),
)
