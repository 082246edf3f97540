"""Contracts of this analysis' files: a model's answers, responses, items and truncation; correlations and spread.

The files are in `results/<study>/{judge}/entropy_area/`.
"""

import polars as pl

from entropy_sentinel.schemas.contract import Column, Contract
from entropy_sentinel.schemas.response_schema import (
    BENCHMARK_COLUMN,
    ITEM_COLUMN,
    MODEL_COLUMN,
    RESPONSE,
    RESPONSE_COLUMNS,
)
from papers.entropy_area.area_exhibits import ANSWERS, list_area_measures

_CLASS = Column(
    "answer_class",
    pl.UInt16,
    "number of the answer among those to the item: equal for answers that the judge considers equal, and for all "
    "correct ones; from 0 in the order of the samples; null without a readable answer",
    nullable=True,
)

ANSWER_CLASSES = Contract(
    stage="answer_classes",
    key=RESPONSE,
    columns=(
        *RESPONSE_COLUMNS,
        Column("label", pl.Boolean, "whether the response is correct", nullable=True),
        Column("answer", pl.String, "the final answer that the judge compared", nullable=True),
        _CLASS,
        Column("reason", pl.String, "why there is no readable answer; null if there is one", nullable=True),
    ),
)

_SET = Column("benchmark", pl.String, "domain, or several combined")
_AREA = tuple(
    Column(name, pl.Float64, f"{'mean ' if name.startswith('mean') else ''}entropy area score", "bits", nullable=True)
    for name in list_area_measures(list(ANSWERS))
)
_LENGTHS = (
    Column("ppl", pl.Float64, "perplexity of the response", "1", nullable=True),
    Column("n_tokens", pl.UInt32, "length of the response", "tokens"),
)

RESPONSES = Contract(
    stage="entropy_area_responses",
    key=RESPONSE,
    columns=(
        *RESPONSE_COLUMNS,
        Column("label", pl.Boolean, "whether the response is correct", nullable=True),
        _CLASS,
        *_AREA,
        *_LENGTHS,
    ),
)

ITEMS = Contract(
    stage="entropy_area_items",
    key=("model", "benchmark", "item_id"),
    columns=(
        MODEL_COLUMN,
        BENCHMARK_COLUMN,
        ITEM_COLUMN,
        Column("n_samples", pl.UInt32, "N, responses to the item", "responses"),
        Column("n_unreadable", pl.UInt32, "of these, without a readable answer", "responses"),
        Column("n_answers", pl.UInt32, "different answers among the others", "answers"),
        Column("accuracy", pl.Float64, "share of correct responses among all N", "1"),
        Column("answer_entropy", pl.Float64, "of the answers, with all unreadable ones as one answer", "bits"),
        Column(
            "answer_entropy_readable", pl.Float64, "of the readable answers; null without any", "bits", nullable=True
        ),
        Column("correctness_entropy", pl.Float64, "of being correct or not", "bits"),
        Column("sample", pl.UInt16, "the response that the following columns describe: the first"),
        *_AREA,
        *_LENGTHS,
    ),
)

TRUNCATION = Contract(
    stage="entropy_area_truncation",
    key=("model", "benchmark", "answer", "statistic"),
    columns=(
        MODEL_COLUMN,
        Column("benchmark", pl.String, "domain, or several combined; `*` is all"),
        Column("answer", pl.String, "which answer is inserted: `own`, `reference` or `none`"),
        Column("n_responses", pl.UInt32, "responses with a trajectory", "responses"),
        Column("n_positions", pl.UInt64, "their positions", "tokens"),
        Column("statistic", pl.String, "`mean`, `q90`, `q95` or `q99`, the bad end: of the mass 10, 5 and 1 %"),
        Column("top_20_mass", pl.Float64, "probability of the 20 most likely tokens", "1"),
        Column("bound_bits", pl.Float64, "largest amount by which H(t) may be too small", "bits"),
        Column("entropy", pl.Float64, "H(t), for comparison", "bits"),
    ),
)

CORRELATIONS = Contract(
    stage="entropy_area_correlations",
    key=("model", "benchmark", "measure", "target"),
    columns=(
        MODEL_COLUMN,
        _SET,
        Column("measure", pl.String, "measure of the first response: `eas_reference`, ..., `ppl`, `n_tokens`"),
        Column("target", pl.String, "entropy over all samples that it is compared with"),
        Column("n_items", pl.UInt32, "items with all measures and this entropy", "items"),
        Column("r", pl.Float64, "Pearson's", "1", nullable=True),
        Column("p", pl.Float64, "two-sided p of r = 0", "1", nullable=True),
        Column("lower", pl.Float64, "2.5 % quantile of r over bootstrap samples of the items", "1", nullable=True),
        Column("upper", pl.Float64, "97.5 % quantile", "1", nullable=True),
        Column("rho", pl.Float64, "Spearman's", "1", nullable=True),
        Column("rho_p", pl.Float64, "two-sided p of rho = 0", "1", nullable=True),
        Column("reason", pl.String, "why r is null", nullable=True),
    ),
)

SPREAD = Contract(
    stage="entropy_area_spread",
    key=("model", "benchmark", "answer"),
    columns=(
        MODEL_COLUMN,
        _SET,
        Column("answer", pl.String, "which answer is inserted"),
        Column("n_items", pl.UInt32, "items with scores of at least two samples", "items"),
        Column("n_scores", pl.UInt32, "their scores", "responses"),
        Column("within_sd", pl.Float64, "standard deviation of EAS within an item, pooled", "bits", nullable=True),
        Column("between_sd", pl.Float64, "standard deviation of the items' mean EAS", "bits", nullable=True),
        Column("r_first", pl.Float64, "r with the answer entropy, EAS of the first sample", "1", nullable=True),
        Column("r_lowest", pl.Float64, "lowest r with any other sample number instead", "1", nullable=True),
        Column("r_highest", pl.Float64, "highest", "1", nullable=True),
        Column("r_mean", pl.Float64, "r of the mean EAS over an item's samples", "1", nullable=True),
    ),
)
