"""Contracts of this analysis' files in `{judge}/`: sweep, auroc, domains and repeats."""

from collections.abc import Sequence
from typing import TypedDict

import polars as pl

from entropy_sentinel.schemas.contract import Column, Contract
from entropy_sentinel.schemas.response_schema import BENCHMARK_COLUMN, MODEL_COLUMN

SWEEP = Contract(
    stage="sweep",
    key=("model", "group", "estimator", "scope"),
    columns=(
        MODEL_COLUMN,
        Column("group", pl.String, "training group: its benchmarks, sorted and joined with `+`"),
        Column("k", pl.UInt8, "size of the training group", "benchmarks"),
        Column("estimator", pl.String, "configuration or baseline"),
        Column(
            "scope",
            pl.String,
            "`held_out`: domains outside the group; `all`: also the group's, by their test split",
        ),
        Column("n_domains", pl.UInt8, "domains with an estimate and labels", "domains"),
        Column(
            "aee",
            pl.Float64,
            "accuracy estimation error: mean |estimated - true| over domains",
            "1",
            nullable=True,
        ),
        Column(
            "rho",
            pl.Float64,
            "Spearman correlation of estimated and true over domains, of accuracies rounded to 12 decimals",
            "1",
            nullable=True,
        ),
        Column("reason", pl.String, "why AEE or rho is null", nullable=True),
        Column("method", pl.String, "the estimator that a recommendation chose", nullable=True),
    ),
)

REPEATS = Contract(
    stage="repeats",
    key=("model", "group", "estimator", "scope", "seed"),
    columns=(*SWEEP.columns, Column("seed", pl.UInt32, "of folds, forests and networks")),
)

AUROC = Contract(
    stage="auroc",
    key=("model", "benchmark", "feature"),
    columns=(
        MODEL_COLUMN,
        BENCHMARK_COLUMN,
        Column("feature", pl.String, "name of a signal: one of the 17 features, or of another family"),
        Column("auroc", pl.Float64, "as a score for incorrect; 1 - AUROC for confidences", "1", nullable=True),
        Column("lower", pl.Float64, "lower end of its 95 % interval (DeLong)", "1", nullable=True),
        Column("upper", pl.Float64, "upper end of that interval", "1", nullable=True),
        Column("n_correct", pl.UInt32, "rows labelled correct, with features", "responses"),
        Column("n_incorrect", pl.UInt32, "rows labelled incorrect, with features", "responses"),
        Column("reason", pl.String, "why the AUROC is null", nullable=True),
    ),
)

DOMAINS = Contract(
    stage="domains",
    key=("model", "benchmark"),
    columns=(
        MODEL_COLUMN,
        BENCHMARK_COLUMN,
        Column("n_responses", pl.UInt32, "all rows", "responses"),
        Column("n_correct", pl.UInt32, "labelled correct", "responses"),
        Column("n_incorrect", pl.UInt32, "labelled incorrect", "responses"),
        Column("n_unlabelled", pl.UInt32, "label null: no reference, or the judge could not decide", "responses"),
        Column("n_featureless", pl.UInt32, "features null", "responses"),
        Column("n_truncated", pl.UInt32, "truncated: at the token limit or for another reason", "responses"),
        Column("n_truncated_correct", pl.UInt32, "of these, labelled correct", "responses"),
        Column("n_truncated_incorrect", pl.UInt32, "of these, labelled incorrect", "responses"),
        Column("mean_tokens", pl.Float64, "mean length of the responses", "tokens"),
        Column("accuracy", pl.Float64, "share correct among rows with label and features", "1", nullable=True),
        Column("accuracy_whole", pl.Float64, "the same without truncated responses", "1", nullable=True),
        Column("trace_tokens", pl.UInt64, "tokens that the features use", "tokens"),
        Column("captured_mass", pl.Float64, "mean probability of a step's top k together", "1", nullable=True),
        Column("open_steps", pl.Float64, "share of steps with much mass outside the top k", "1", nullable=True),
        Column(
            "entropy_error_bound",
            pl.Float64,
            "mean bound on the error of H(t); null if the size of the vocabulary is unknown",
            "nats",
            nullable=True,
        ),
        Column("clamped_tokens", pl.UInt64, "sampled tokens whose log-probability was -inf or <= -9999", "tokens"),
        Column("displaced_steps", pl.UInt64, "steps whose entropy may lack a term", "tokens"),
        Column("reasons", pl.String, "the null reasons and their counts, JSON"),
        Column(
            "n_ambiguous",
            pl.UInt32,
            "questions that repeatedly get several answers; null without several samples",
            "questions",
            nullable=True,
            added=True,
        ),
        Column(
            "n_questions", pl.UInt32, "questions for which n_ambiguous is known", "questions", nullable=True, added=True
        ),
        Column(
            "n_unanswered",
            pl.UInt32,
            "responses without a final answer, whatever their label",
            "responses",
            nullable=True,
            added=True,
        ),
        Column(
            "n_unanswered_incorrect",
            pl.UInt32,
            "of these, labelled incorrect: the judge's unanswered",
            "responses",
            nullable=True,
            added=True,
        ),
    ),
)


class AccuracyFiles(TypedDict):
    """Files from which all exhibits and the page are made; `estimates` and `validation` are those of all models."""

    sweep: str
    domains: str
    estimates: Sequence[str]
    validation: Sequence[str]
