"""Contracts of this analysis' files: `agreement/pairs.parquet`, `judged.parquet`, `errors.parquet`."""

import polars as pl

from entropy_sentinel.schemas.contract import Column, Contract
from entropy_sentinel.schemas.response_schema import BENCHMARK_COLUMN, MODEL_COLUMN

_LIMITS = "limit of its 95 % confidence interval"

PAIRS = Contract(
    stage="pairs",
    key=("first", "second", "model", "benchmark"),
    columns=(
        Column("first", pl.String, "judge that comes first in run.judges"),
        Column("second", pl.String, "judge"),
        Column("model", pl.String, "language model; null for all", nullable=True),
        Column("benchmark", pl.String, "domain; null for all", nullable=True),
        Column("n_responses", pl.UInt32, "all rows", "responses"),
        Column("n_pairs", pl.UInt32, "labelled by both", "responses"),
        Column("n_both_correct", pl.UInt32, "correct by both", "responses"),
        Column("n_first_correct", pl.UInt32, "correct by the first, incorrect by the second", "responses"),
        Column("n_second_correct", pl.UInt32, "incorrect by the first, correct by the second", "responses"),
        Column("n_both_incorrect", pl.UInt32, "incorrect by both", "responses"),
        Column("n_first_null", pl.UInt32, "labelled only by the second", "responses"),
        Column("n_second_null", pl.UInt32, "labelled only by the first", "responses"),
        Column("n_both_null", pl.UInt32, "labelled by neither", "responses"),
        Column("agreement", pl.Float64, "share of pairs with equal labels", "1", nullable=True),
        Column("agreement_lower", pl.Float64, f"lower {_LIMITS} (Wilson)", "1", nullable=True),
        Column("agreement_upper", pl.Float64, f"upper {_LIMITS}", "1", nullable=True),
        Column("kappa", pl.Float64, "Cohen's kappa", "1", nullable=True),
        Column("kappa_lower", pl.Float64, f"lower {_LIMITS} (asymptotic)", "1", nullable=True),
        Column("kappa_upper", pl.Float64, f"upper {_LIMITS}", "1", nullable=True),
        Column("reason", pl.String, "why agreement, kappa or its interval is null", nullable=True),
    ),
)

JUDGED = Contract(
    stage="judged",
    key=("judge", "model", "group", "benchmark"),
    columns=(
        Column("judge", pl.String, "judge whose labels the estimator was fitted on and is compared with"),
        MODEL_COLUMN,
        Column("group", pl.String, "training group: its benchmarks, sorted and joined with `+`"),
        BENCHMARK_COLUMN,
        Column("role", pl.String, "`training` (by its test split) or `held_out`"),
        Column("estimator", pl.String, "the group's own"),
        Column("n_labelled", pl.UInt32, "rows with features and a label", "responses"),
        Column("true_accuracy", pl.Float64, "share of correct ones among them", "1", nullable=True),
        Column("estimated_accuracy", pl.Float64, "over all rows with features", "1", nullable=True),
        Column("estimated_on_labelled", pl.Float64, "over rows with features and a label", "1", nullable=True),
    ),
)

ERRORS = Contract(
    stage="errors",
    key=("judge", "model", "group"),
    columns=(
        Column("judge", pl.String, "judge whose labels the estimators were fitted on and are compared with"),
        MODEL_COLUMN,
        Column("group", pl.String, "training group"),
        Column("estimator", pl.String, "the group's own"),
        Column("n_domains", pl.UInt32, "unseen domains with its estimate and labels", "domains"),
        Column("aee", pl.Float64, "its AEE over these", "1", nullable=True),
        Column("rho", pl.Float64, "its rank correlation over these", "1", nullable=True),
        Column("best", pl.String, "estimator with the lowest AEE, known afterwards; ties by name", nullable=True),
        Column("best_aee", pl.Float64, "AEE of the best", "1", nullable=True),
        Column("best_rho", pl.Float64, "rank correlation of the best", "1", nullable=True),
        Column("reason", pl.String, "why AEE or rho of the group's own is null", nullable=True),
    ),
)
