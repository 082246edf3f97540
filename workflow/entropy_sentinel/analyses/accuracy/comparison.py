"""The paper's published values beside this study's, table by table, where the study has what they are of.

`paper/*.csv` are the published values, as printed. A comparison has the published rows whose model, benchmark or
training group this study has under the same name; of errors only those over the paper's ten domains.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import signature
from math import comb
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.analyses.accuracy import comparison_notes as why
from entropy_sentinel.analyses.accuracy.aggregation import (
    LARGEST_K,
    fully_swept,
    group_accuracies,
    names_in,
    spread,
)
from entropy_sentinel.analyses.accuracy.headings import group_benchmarks
from entropy_sentinel.analyses.accuracy.tables_of_medians import design_choices
from entropy_sentinel.estimators.catalogue import CLASSIFIERS, title
from entropy_sentinel.features.catalogue import CATALOGUE, FEATURE_SETS
from entropy_sentinel.report.tables import Table

_PAPER = Path(__file__).with_name("paper")
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
_METHODS = {"default": DEFAULT, "se_max": "baseline-max", "se_mean": "baseline-mean"} | {
    name: f"baseline-{name}" for name in ("se_sum", "nll_avg", "nll_max", "nll_sum", "lntp", "mtp", "ppl")
}
# Levels of Table 5's factors: the paper's word for each of `tables_of_medians.design_choices`.
_LEVELS = {CLASSIFIERS["forest"]: "rf", CLASSIFIERS["logistic"]: "lr", CLASSIFIERS["mlp"]: "mlp"}
_LEVELS |= {"isotonic": "yes", "none": "no"} | {name.upper(): name for name in FEATURE_SETS}
_HEADINGS = {
    "model": "Model",
    "statistic": "Statistic",
    "configuration": "Group",
    "method": "Estimator",
    "k": "k",
    "factor": "Factor",
    "setting": "Setting",
    "rank": "Rank",
    "group": "The paper's group",
    "aee": "AEE",
    "spearman": "rho",
    "aee_median": "Median AEE",
    "aee_iqr": "IQR of AEE",
    "spearman_median": "Median rho",
    "spearman_iqr": "IQR of rho",
    "held_out_aee_median": "Median AEE, left out",
    "held_out_aee_iqr": "IQR of AEE, left out",
    "group_accuracy": "Weighted accuracy",
}


@dataclass(frozen=True)
class Published:
    """A published table: its file and `tables` in it, the columns that identify a row, and this study's counterpart.

    `ours` takes some of the inputs of tables and returns a frame with the columns of the file.
    """

    file: str
    keys: tuple[str, ...]
    ours: Callable[..., pl.DataFrame]
    notes: tuple[str, ...] = ()
    tables: tuple[int, ...] = ()


@cache
def published_values(file: str) -> pl.DataFrame:
    """The rows of one of the files of `paper/`."""
    return pl.read_csv(_PAPER / f"{file}.csv")


def compare(name: str, inputs: Mapping[str, Any]) -> Table | None:
    """This study's values of the table `name` beside the published ones; null where the study has none of them.

    `inputs` are those of tables, and `rests_on`, a line that says what this study's values rest on.
    """
    if name not in PUBLISHED:
        return None
    table = PUBLISHED[name]
    ours = table.ours(**{one: inputs[one] for one in signature(table.ours).parameters})
    theirs = published_values(table.file)
    if table.tables:
        theirs = theirs.filter(pl.col("table").is_in(table.tables))
    theirs = theirs.drop("table", strict=False).with_columns(pl.col("^k$").cast(pl.Int64))
    order = "left"
    if "benchmark" in theirs.columns:
        ours, theirs, order = _across(ours), _across(theirs), "right"
    numbers = [one for one in theirs.columns if one not in table.keys and one in ours.columns]
    joined = theirs.join(ours, on=table.keys, how="inner", suffix=": ours", maintain_order=order)
    if joined.is_empty() or not numbers:
        return None
    return Table(
        "This study's values, those that the paper printed, and the difference of the two.",
        _shown(joined, name, table.keys, numbers),
        (*table.notes, why.LABELS, _responses(inputs["domains"]), inputs["rests_on"]),
    )


def _responses(domains: pl.DataFrame) -> str:
    """One line: how many responses there are, here and in the paper. A study can be limited to a part of the items."""
    models, benchmarks = domains["model"].n_unique(), domains["benchmark"].n_unique()
    return (
        f"This study has {domains['n_responses'].sum():,} responses of {models} models to {benchmarks} benchmarks, the "
        f"paper {len(_models()) * N_ITEMS:,} of {len(_models())} models to {N_BENCHMARKS}."
    )


def _across(frame: pl.DataFrame) -> pl.DataFrame:
    """A column of AUROC for each benchmark, in place of a row."""
    return frame.pivot("benchmark", index=["model", "statistic"], values="auroc", maintain_order=True)


def _shown(joined: pl.DataFrame, name: str, keys: Sequence[str], numbers: Sequence[str]) -> pl.DataFrame:
    columns: list[pl.Expr | pl.Series] = [_key(joined[key]).alias(_HEADINGS[key]) for key in keys]
    reasons = [why.reason(name, row) for row in joined.iter_rows(named=True)]
    if any(reasons):
        columns.append(pl.Series("Why they differ", [reason or "" for reason in reasons]))
    for number in numbers:
        heading, ours, theirs = _HEADINGS.get(number, number), pl.col(f"{number}: ours"), pl.col(number)
        columns += [
            ours.alias(heading),
            theirs.alias(f"{heading}: paper"),
            ((ours - theirs).round(12) + 0.0).alias(f"{heading}: difference"),
        ]
    return joined.select(columns)


def _key(values: pl.Series) -> pl.Series:
    """Names as the other tables show them."""
    match values.name:
        case "statistic":
            return values.replace_strict({key: feature.title for key, feature in CATALOGUE.items()})
        case "method":
            return values.replace_strict({key: title(one) for key, one in _METHODS.items()} | {"default": "Default"})
        case "configuration" | "factor":
            return values.str.to_titlecase()
        case "setting":
            return values.replace({code: one for one, code in _LEVELS.items() if code not in ("yes", "no")})
        case "group":
            return pl.Series([group_benchmarks(one) for one in values])
        case _:
            return values


def _comparable(sweep: pl.DataFrame, scope: str = "all") -> pl.DataFrame:
    """Results over the paper's ten benchmarks, of its models, as `aee` and `spearman`."""
    whole = (pl.col("scope") == "all") & (pl.col("n_domains") == N_BENCHMARKS)
    there = sweep.filter(whole).select("model", "group", "estimator")
    rows = sweep.filter(pl.col("scope") == scope, pl.col("model").is_in(_models()))
    return rows.join(there, on=["model", "group", "estimator"], how="semi").rename({"rho": "spearman"})


def _models() -> list[str]:
    return published_values("table_10_leave_one_out")["model"].to_list()


def _of_all_models(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows where all the paper's models are among them, else none: a median over others is another median."""
    return rows if set(_models()) <= set(rows["model"]) else rows.clear()


def _medians(rows: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    found = []
    for key, part in rows.group_by(keys, maintain_order=True):
        (aee, aee_iqr), (rho, rho_iqr) = spread(part["aee"]), spread(part["spearman"])
        found.append((*key, aee, aee_iqr, rho, rho_iqr))
    numbers = ("aee_median", "aee_iqr", "spearman_median", "spearman_iqr")
    schema = {key: rows.schema[key] for key in keys} | dict.fromkeys(numbers, pl.Float64)
    return pl.DataFrame(found, schema=schema, orient="row").with_columns(pl.col("^k$").cast(pl.Int64))


def _first_auroc(auroc: pl.DataFrame, auroc_models: Sequence[str]) -> pl.DataFrame:
    return _auroc(auroc.filter(pl.col("model").is_in(auroc_models)))


def _further_auroc(auroc: pl.DataFrame, auroc_models: Sequence[str]) -> pl.DataFrame:
    return _auroc(auroc.filter(~pl.col("model").is_in(auroc_models)))


def _auroc(auroc: pl.DataFrame) -> pl.DataFrame:
    models, features = names_in(auroc, "model"), list(CATALOGUE)
    known = auroc.filter(pl.col("feature").is_in(features))
    rows = known.sort(pl.col("model").cast(pl.Enum(models)), pl.col("feature").cast(pl.Enum(features)))
    return rows.select("model", "benchmark", "auroc", statistic="feature").drop_nulls("auroc")


def _named_groups(sweep: pl.DataFrame) -> pl.DataFrame:
    groups = pl.DataFrame(
        [(name, *one) for name, one in GROUPS.items()], schema=["configuration", "group", "estimator"], orient="row"
    )
    return _comparable(sweep).join(groups, on=["group", "estimator"], maintain_order="left")


def _methods(sweep: pl.DataFrame) -> pl.DataFrame:
    methods = pl.DataFrame(list(_METHODS.items()), schema=["method", "estimator"], orient="row")
    rows = _comparable(sweep).filter(pl.col("group") == GROUPS["extremes"][0])
    return rows.join(methods, on="estimator", maintain_order="left")


def _methods_over_models(sweep: pl.DataFrame) -> pl.DataFrame:
    return _medians(_of_all_models(_methods(sweep)), ["method"])


def _whole_sweep(sweep: pl.DataFrame) -> pl.DataFrame:
    """Results of all 48 configurations for the models and sizes of which every group of the ten benchmarks ran."""
    rows = _comparable(fully_swept(sweep))
    ran = pl.col("group").n_unique().over("model", "k")
    every = pl.col("k").replace_strict({k: comb(N_BENCHMARKS, k) for k in range(1, LARGEST_K + 1)})
    return rows.filter(ran == every)


def _by_size(sweep: pl.DataFrame) -> pl.DataFrame:
    return _medians(_whole_sweep(sweep), ["model", "k"])


def _by_design(sweep: pl.DataFrame) -> pl.DataFrame:
    rows = _of_all_models(_whole_sweep(sweep))
    rows = rows if rows["k"].n_unique() == LARGEST_K else rows.clear()
    parts = []
    for factor, settings in design_choices().items():
        for setting, names in settings.items():
            chosen = rows.filter(pl.col("estimator").is_in(names))
            named = chosen.with_columns(factor=pl.lit(factor.lower()), setting=pl.lit(_LEVELS.get(setting, setting)))
            parts.append(_medians(named, ["factor", "setting"]))
    return pl.concat(parts)


def _by_group(sweep: pl.DataFrame, domains: pl.DataFrame) -> pl.DataFrame:
    rows = _of_all_models(_comparable(sweep).filter(pl.col("estimator") == DEFAULT, pl.col("k") <= LARGEST_K))
    accuracies = group_accuracies(domains.filter(pl.col("model").is_in(_models())), rows["group"])
    found = _medians(rows, ["k", "group"]).join(accuracies, on="group")
    # A group is compared with itself, whatever its rank is here.
    ranks = pl.DataFrame({"rank": ["best", "worst"]})
    return found.join(ranks, how="cross")


def _leave_one_out(sweep: pl.DataFrame) -> pl.DataFrame:
    chosen = (pl.col("estimator") == DEFAULT, pl.col("k") == N_BENCHMARKS - 1)
    over_all, left_out = (_comparable(sweep, scope).filter(*chosen) for scope in ("all", "held_out"))
    complete = pl.col("group").n_unique().over("model") == N_BENCHMARKS
    columns = {"aee_median": "held_out_aee_median", "aee_iqr": "held_out_aee_iqr"}
    medians = _medians(left_out.filter(complete), ["model"]).select("model", *columns).rename(columns)
    return _medians(over_all.filter(complete), ["model"]).join(medians, on="model", maintain_order="left")


_ESTIMATION = (why.SCOPE, why.LATER_CODE)
_BY_MODEL = "table_2_7_estimation"
PUBLISHED: dict[str, Published] = {
    "1_auroc": Published("table_1_6_auroc", ("model", "statistic"), _first_auroc, (why.TABLE_1,)),
    "2_by_model": Published(_BY_MODEL, ("model", "configuration"), _named_groups, _ESTIMATION, (2,)),
    "3_simple_estimators": Published("table_3_baselines", ("method",), _methods_over_models, _ESTIMATION),
    "4_by_size": Published("table_4_group_size", ("model", "k"), _by_size, _ESTIMATION),
    "5_design_choices": Published("table_5_design", ("factor", "setting"), _by_design, _ESTIMATION),
    "6_auroc_further_models": Published("table_1_6_auroc", ("model", "statistic"), _further_auroc, (why.TABLE_1,)),
    "7_by_model_further_groups": Published(
        _BY_MODEL, ("model", "configuration"), _named_groups, (why.TABLE_7, *_ESTIMATION), (7,)
    ),
    "8_simple_estimators_by_model": Published("table_8_baselines_by_model", ("model", "method"), _methods, _ESTIMATION),
    "9_best_and_worst_groups": Published(
        "table_9_best_worst_groups", ("rank", "k", "group"), _by_group, (why.TABLE_9, *_ESTIMATION)
    ),
    "10_leave_one_out": Published("table_10_leave_one_out", ("model",), _leave_one_out, _ESTIMATION),
}
