"""Contracts of this analysis' files: a model's classes aligned with the answers, uncertainties, estimators; measures.

The files are in `results/<study>/ambiguity/`.
"""

import polars as pl

from entropy_sentinel.schemas.contract import Column, Contract
from entropy_sentinel.schemas.response_schema import BENCHMARK_COLUMN, ITEM_COLUMN, MODEL_COLUMN
from papers.ambiguity.ambiguity_exhibits import ESTIMATOR_TITLES

_SOURCE = Column("source", pl.String, "the source of p*")
_FORM = Column("form", pl.String, "how it is computed: `kl`, `kl-renormalised`, `kl-frequencies`, `dirichlet-<gamma>`")
_ANSWERS = Column("answers", pl.String, "items with how many right answers: `one` or `several`")
_ESTIMATOR = Column("estimator", pl.String, "`se`, `msp`, `sar`, `ip` or `se_frequencies`")
_N_ITEMS = Column("n_items", pl.UInt32, "items with all estimators that any item has", "items")
_REASON = Column("reason", pl.String, "why there is none", nullable=True)


def _make_interval_columns(name: str, meaning: str) -> tuple[Column, ...]:
    """The column of a value, and those of its 95 % interval, lower and upper."""
    return (
        Column(name, pl.Float64, meaning, "1", nullable=True),
        Column("lower", pl.Float64, "lower end of its 95 % interval", "1", nullable=True),
        Column("upper", pl.Float64, "upper end", "1", nullable=True),
    )


ALIGNED_CLASSES = Contract(
    stage="ambiguity_aligned",
    key=("model", "benchmark", "source", "item_id", "class"),
    columns=(
        *(MODEL_COLUMN, BENCHMARK_COLUMN, _SOURCE, ITEM_COLUMN),
        Column("class", pl.UInt16, "the right answers from 0, then the model's further classes"),
        Column("name", pl.String, "the answer, or the first text of the class; may be empty"),
        Column("right", pl.Boolean, "whether it is a right answer"),
        Column("count", pl.Float64, "how often the answer occurs; null if unknown", nullable=True),
        Column("p_star", pl.Float64, "true probability; equal if counts are unknown; 0 for other classes"),
        Column("p", pl.Float64, "the model's probability; null for an answer that no sample gave", "1", nullable=True),
        Column("frequency", pl.Float64, "its share of the samples; null likewise", "1", nullable=True),
        Column("n_samples", pl.UInt16, "samples of the item that were grouped", "responses"),
    ),
)

UNCERTAINTIES = Contract(
    stage="ambiguity_uncertainties",
    key=("model", "benchmark", "source", "item_id", "form"),
    columns=(
        *(MODEL_COLUMN, BENCHMARK_COLUMN, _SOURCE, ITEM_COLUMN, _FORM),
        Column("n_answers", pl.UInt16, "right answers", "answers"),
        Column("n_imputed", pl.UInt16, "of these, answers that no sample gave", "answers"),
        Column("total", pl.Float64, "CE(p*, p)", "nats"),
        Column("aleatoric", pl.Float64, "H(p*)", "nats"),
        Column("epistemic", pl.Float64, "KL(p* || p); may be slightly negative", "nats"),
    ),
)

ESTIMATES = Contract(
    stage="ambiguity_estimators",
    key=("model", "benchmark", "item_id"),
    columns=(
        *(MODEL_COLUMN, BENCHMARK_COLUMN, ITEM_COLUMN),
        Column("n_samples", pl.UInt16, "samples that were grouped", "responses"),
        Column("n_classes", pl.UInt16, "classes of them", "classes"),
        *(Column(name, pl.Float64, title, nullable=True) for name, title in ESTIMATOR_TITLES.items()),
        *(Column(f"{name}_reason", pl.String, f"why there is no {name}", nullable=True) for name in ESTIMATOR_TITLES),
    ),
)

CONCORDANCES = Contract(
    stage="ambiguity_concordances",
    key=("model", "benchmark", "source", "answers", "form", "estimator"),
    columns=(
        *(MODEL_COLUMN, BENCHMARK_COLUMN, _SOURCE, _ANSWERS, _FORM, _ESTIMATOR, _N_ITEMS),
        *_make_interval_columns("auc_c", "P(EU_i > EU_j | estimator_i > estimator_j)"),
        Column("tied", pl.Float64, "share of the pairs that are left out: equal estimators", "1", nullable=True),
        Column("alike", pl.Float64, "share of the others that count half: equal uncertainties", "1", nullable=True),
        _REASON,
    ),
)

AUROCS = Contract(
    stage="ambiguity_aurocs",
    key=("model", "benchmark", "answers", "threshold", "estimator"),
    columns=(
        *(MODEL_COLUMN, BENCHMARK_COLUMN, _ANSWERS),
        Column("threshold", pl.Float64, "items with an epistemic uncertainty of at least its logarithm are uncertain"),
        *(_ESTIMATOR, _N_ITEMS),
        Column("n_uncertain", pl.UInt32, "of these, uncertain items", "items"),
        *_make_interval_columns("auroc", "area under the ROC curve for uncertain items"),
        _REASON,
    ),
)

P_STARS = Contract(
    stage="ambiguity_p_star",
    key=("benchmark", "source", "item_id"),
    columns=(
        *(BENCHMARK_COLUMN, _SOURCE, ITEM_COLUMN),
        Column("n_answers", pl.UInt16, "right answers", "answers"),
        Column("counts", pl.List(pl.Float64), "of each; null if unknown", nullable=True),
        Column("entropy", pl.Float64, "H(p*)", "nats"),
        Column("divergence", pl.Float64, "Jensen-Shannon, from the p* of the first source", "nats", nullable=True),
    ),
)
