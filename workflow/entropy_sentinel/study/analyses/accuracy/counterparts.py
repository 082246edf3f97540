"""This study's values in the columns of the published ones, and only values that are comparable with these.

AEE and rho are comparable only over the paper's ten domains, medians over models only if the study runs all nine of
its models, and medians over training groups only if it runs all groups of that size.
"""

from collections.abc import Sequence
from functools import cache
from math import comb

import polars as pl

from entropy_sentinel.estimators.estimator_registry import CLASSIFIERS
from entropy_sentinel.features.feature_registry import CATALOGUE, FEATURE_SETS
from entropy_sentinel.study.analyses.accuracy.accuracy_exhibits import PUBLISHED_FOLDER, list_paper_models
from entropy_sentinel.study.analyses.accuracy.exhibit_inputs import AccuracyTableInputs
from entropy_sentinel.study.analyses.accuracy.sweep_aggregation import (
    LARGEST_K,
    compute_group_accuracies,
    compute_spread,
    list_distinct,
    select_fully_swept,
)
from entropy_sentinel.study.analyses.accuracy.tables_of_groups import list_design_choices

N_BENCHMARKS = 10
N_ITEMS = 11_569  # of all benchmarks together
DEFAULT = "forest-10d-balanced-isotonic"
# The named training groups of the paper: benchmarks and the estimator shown for them.
GROUPS = {
    "extremes": ("gsm8k+olympiadbench", DEFAULT),
    "intermediate": ("math+scibench", DEFAULT),
    "cross-domain": ("gsm-symbolic+matscibench", "logistic-10d-balanced-isotonic"),
    "sci-math": ("gpqa+gsm8k+matscibench", "mlp-10d-balanced-isotonic"),
}
# Methods of Tables 3 and 8 as estimators; `se_max` is the feature `max`.
METHODS = {"default": DEFAULT, "se_max": "baseline-max", "se_mean": "baseline-mean"} | {
    name: f"baseline-{name}" for name in ("se_sum", "nll_avg", "nll_max", "nll_sum", "lntp", "mtp", "ppl")
}
# The paper's word for each level of Table 5's factors, by its name in `tables_of_groups.list_design_choices`.
LEVELS = {CLASSIFIERS["forest"]: "rf", CLASSIFIERS["logistic"]: "lr", CLASSIFIERS["mlp"]: "mlp"}
LEVELS |= {"isotonic": "yes", "none": "no"} | {name.upper(): name for name in FEATURE_SETS}


@cache
def read_published_values(file: str) -> pl.DataFrame:
    """The rows of a file in `published/`; `file` is its name without `.csv`."""
    return pl.read_csv(PUBLISHED_FOLDER / f"{file}.csv")


def _select_comparable(sweep: pl.DataFrame, scope: str = "all") -> pl.DataFrame:
    """The results at `scope` of the paper's models, only of estimators with an estimate on all ten benchmarks.

    The columns are model, group, k, estimator, aee and spearman (`rho` of the sweep).
    """
    is_comparable = (pl.col("scope") == "all") & (pl.col("n_domains") == N_BENCHMARKS)
    comparable = sweep.filter(is_comparable).select("model", "group", "estimator")
    rows = sweep.filter(pl.col("scope") == scope, pl.col("model").is_in(list_paper_models()))
    return rows.join(comparable, on=["model", "group", "estimator"], how="semi").select(
        "model", "group", "k", "estimator", "aee", spearman="rho"
    )


def _require_all_models(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows if they include all the paper's models; else no row, because other medians are not comparable."""
    return rows if set(list_paper_models()) <= set(rows["model"]) else rows.clear()


def _aggregate_medians(rows: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Median and interquartile range of AEE and rho over the rows with equal `keys`, names of columns.

    The columns are `keys`, aee_median, aee_iqr, spearman_median and spearman_iqr.
    """
    medians = []
    for key, part in rows.group_by(keys, maintain_order=True):
        (aee, aee_iqr), (rho, rho_iqr) = compute_spread(part["aee"]), compute_spread(part["spearman"])
        medians.append((*key, aee, aee_iqr, rho, rho_iqr))
    numbers = ("aee_median", "aee_iqr", "spearman_median", "spearman_iqr")
    schema = {key: rows.schema[key] for key in keys} | dict.fromkeys(numbers, pl.Float64)
    return pl.DataFrame(medians, schema=schema, orient="row").with_columns(pl.col("^k$").cast(pl.Int64))


def select_first_auroc(inputs: AccuracyTableInputs) -> pl.DataFrame:
    """The rows of the models in Table 1: `model`, `benchmark`, `statistic`, `auroc`."""
    return _sort_auroc(inputs.auroc.filter(pl.col("model").is_in(inputs.auroc_models)))


def select_other_auroc(inputs: AccuracyTableInputs) -> pl.DataFrame:
    """The rows of all other models (Table 6), with the same columns."""
    return _sort_auroc(inputs.auroc.filter(~pl.col("model").is_in(inputs.auroc_models)))


def _sort_auroc(auroc: pl.DataFrame) -> pl.DataFrame:
    """The non-null AUROCs of the paper's features, by model and then in the order of the features' catalogue."""
    models = list_distinct(auroc, "model")
    features = list(CATALOGUE)
    feature_rows = auroc.filter(pl.col("feature").is_in(features))
    rows = feature_rows.sort(pl.col("model").cast(pl.Enum(models)), pl.col("feature").cast(pl.Enum(features)))
    return rows.select("model", "benchmark", "auroc", statistic="feature").drop_nulls("auroc")


def select_named_groups(inputs: AccuracyTableInputs) -> pl.DataFrame:
    """Tables 2 and 7: `model`, `configuration` (the group's name), `aee`, `spearman`."""
    groups = pl.DataFrame(
        [(name, group, estimator) for name, (group, estimator) in GROUPS.items()],
        schema=["configuration", "group", "estimator"],
        orient="row",
    )
    return _select_comparable(inputs.sweep).join(groups, on=["group", "estimator"], maintain_order="left")


def select_methods(inputs: AccuracyTableInputs) -> pl.DataFrame:
    """Table 8: `model`, `method`, `aee`, `spearman` of the group Extremes."""
    methods = pl.DataFrame(list(METHODS.items()), schema=["method", "estimator"], orient="row")
    rows = _select_comparable(inputs.sweep).filter(pl.col("group") == GROUPS["extremes"][0])
    return rows.join(methods, on="estimator", maintain_order="left")


def aggregate_methods(inputs: AccuracyTableInputs) -> pl.DataFrame:
    """Table 3: `method` with medians and IQRs over models."""
    return _aggregate_medians(_require_all_models(select_methods(inputs)), ["method"])


def _select_complete_sizes(sweep: pl.DataFrame) -> pl.DataFrame:
    """The 48 configurations' comparable results, only of models and sizes `k` for which all C(10, k) groups ran."""
    rows = _select_comparable(select_fully_swept(sweep))
    n_run = pl.col("group").n_unique().over("model", "k")
    n_groups = pl.col("k").replace_strict({k: comb(N_BENCHMARKS, k) for k in range(1, LARGEST_K + 1)})
    return rows.filter(n_run == n_groups)


def aggregate_by_size(inputs: AccuracyTableInputs) -> pl.DataFrame:
    """Table 4: `model`, `k` with medians and IQRs over groups and configurations."""
    return _aggregate_medians(_select_complete_sizes(inputs.sweep), ["model", "k"])


def aggregate_by_design(inputs: AccuracyTableInputs) -> pl.DataFrame:
    """Table 5: `factor`, `setting` with medians and IQRs over models, groups and configurations."""
    rows = _require_all_models(_select_complete_sizes(inputs.sweep))
    if rows["k"].n_unique() < LARGEST_K:
        rows = rows.clear()  # the published medians are over all four sizes
    parts = []
    for factor, settings in list_design_choices().items():
        for setting, names in settings.items():
            chosen = rows.filter(pl.col("estimator").is_in(names))
            level_rows = chosen.with_columns(
                factor=pl.lit(factor.lower()), setting=pl.lit(LEVELS.get(setting, setting))
            )
            parts.append(_aggregate_medians(level_rows, ["factor", "setting"]))
    return pl.concat(parts)


def aggregate_by_group(inputs: AccuracyTableInputs) -> pl.DataFrame:
    """Table 9: `rank`, `k`, `group` with median and IQR over models, and `group_accuracy`."""
    rows = _require_all_models(
        _select_comparable(inputs.sweep).filter(pl.col("estimator") == DEFAULT, pl.col("k") <= LARGEST_K)
    )
    accuracies = compute_group_accuracies(
        inputs.domains.filter(pl.col("model").is_in(list_paper_models())), rows["group"]
    )
    cells = _aggregate_medians(rows, ["k", "group"]).join(accuracies, on="group")
    # A group is compared with the same group, whatever its rank is in this study.
    ranks = pl.DataFrame({"rank": ["best", "worst"]})
    return cells.join(ranks, how="cross")


def aggregate_leave_one_out(inputs: AccuracyTableInputs) -> pl.DataFrame:
    """Table 10: `model` with medians and IQRs over its ten groups of nine benchmarks.

    AEE and rho are over all domains; `held_out_aee_median` and `held_out_aee_iqr` are on the benchmark left out.
    """
    conditions = (pl.col("estimator") == DEFAULT, pl.col("k") == N_BENCHMARKS - 1)
    has_all_groups = pl.col("group").n_unique().over("model") == N_BENCHMARKS
    over_all = _select_comparable(inputs.sweep, "all").filter(*conditions).filter(has_all_groups)
    held_out = _select_comparable(inputs.sweep, "held_out").filter(*conditions).filter(has_all_groups)
    held_out_medians = _aggregate_medians(held_out, ["model"]).select(
        "model", held_out_aee_median="aee_median", held_out_aee_iqr="aee_iqr"
    )
    return _aggregate_medians(over_all, ["model"]).join(held_out_medians, on="model", maintain_order="left")
