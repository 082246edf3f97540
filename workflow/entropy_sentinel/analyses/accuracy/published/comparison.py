"""The paper's published values beside this study's, table by table, where the study has what they are of.

`published/*.csv` are the published values, as printed. A comparison has the published rows whose model, benchmark or
training group this study has under the same name; of errors only those over the paper's ten domains.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, Literal

import polars as pl

from entropy_sentinel.analyses.accuracy.catalogue import PUBLISHED_IN, compared, paper_models
from entropy_sentinel.analyses.accuracy.published import counterparts as ours_of
from entropy_sentinel.analyses.accuracy.published import notes as why
from entropy_sentinel.analyses.accuracy.published.counterparts import (
    LEVELS,
    METHODS,
    N_BENCHMARKS,
    N_ITEMS,
    published_values,
)
from entropy_sentinel.analyses.headings import group_benchmarks
from entropy_sentinel.estimators.catalogue import title
from entropy_sentinel.features.catalogue import CATALOGUE
from entropy_sentinel.frames.numbers import counted
from entropy_sentinel.report.tables import Table

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
    """A published table: the columns that identify a row, this study's counterpart, and its `tables` in the file.

    `ours` takes some of the inputs of tables and returns a frame with the columns of the file.
    """

    keys: tuple[str, ...]
    ours: Callable[..., pl.DataFrame]
    notes: tuple[str, ...] = ()
    tables: tuple[int, ...] = ()


def compare(name: str, inputs: Mapping[str, Any]) -> Table | None:
    """This study's values of the table `name` beside the published ones, without rows where it has none of them.

    Null where nothing was published, and in a study of none of the paper's models.
    `inputs` are those of tables, and `rests_on`, a line that says what this study's values rest on.
    """
    if not compared([name], inputs["domains"]["model"]):
        return None
    table = PUBLISHED[name]
    ours = table.ours(**{one: inputs[one] for one in signature(table.ours).parameters})
    theirs = published_values(PUBLISHED_IN[name])
    if table.tables:
        theirs = theirs.filter(pl.col("table").is_in(table.tables))
    theirs = theirs.drop("table", strict=False).with_columns(pl.col("^k$").cast(pl.Int64))
    order: Literal["left", "right"] = "left"
    if "benchmark" in theirs.columns:
        ours, theirs, order = _across(ours), _across(theirs), "right"
    numbers = [one for one in theirs.columns if one not in table.keys and one in ours.columns]
    joined = theirs.join(ours, on=table.keys, how="inner", suffix=": ours", maintain_order=order)
    return Table(
        "This study's values, those that the paper printed, and the difference of the two.",
        _shown(joined, name, table.keys, numbers),
        (*table.notes, why.LABELS, _responses(inputs["domains"]), inputs["rests_on"]),
    )


def _responses(domains: pl.DataFrame) -> str:
    """One line: how many responses there are, here and in the paper. A study can be limited to a part of the items."""
    models = counted(domains["model"].n_unique(), "model")
    benchmarks = counted(domains["benchmark"].n_unique(), "benchmark")
    return (
        f"This study has {domains['n_responses'].sum():,} responses of {models} to {benchmarks}, "
        f"the paper {len(paper_models()) * N_ITEMS:,} of {len(paper_models())} models to {N_BENCHMARKS}."
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
            return values.replace_strict({key: title(one) for key, one in METHODS.items()} | {"default": "Default"})
        case "configuration" | "factor":
            return values.str.to_titlecase()
        case "setting":
            return values.replace({code: one for one, code in LEVELS.items() if code not in ("yes", "no")})
        case "group":
            return pl.Series([group_benchmarks(one) for one in values])
        case _:
            return values


_ESTIMATION = (why.SCOPE, why.LATER_CODE)
PUBLISHED: dict[str, Published] = {
    "1_auroc": Published(("model", "statistic"), ours_of.first_auroc, (why.TABLE_1,)),
    "2_by_model": Published(("model", "configuration"), ours_of.named_groups, _ESTIMATION, (2,)),
    "3_simple_estimators": Published(("method",), ours_of.methods_over_models, _ESTIMATION),
    "4_by_size": Published(("model", "k"), ours_of.by_size, _ESTIMATION),
    "5_design_choices": Published(("factor", "setting"), ours_of.by_design, _ESTIMATION),
    "6_auroc_further_models": Published(("model", "statistic"), ours_of.further_auroc, (why.TABLE_1,)),
    "7_by_model_further_groups": Published(
        ("model", "configuration"), ours_of.named_groups, (why.TABLE_7, *_ESTIMATION), (7,)
    ),
    "8_simple_estimators_by_model": Published(("model", "method"), ours_of.methods, _ESTIMATION),
    "9_best_and_worst_groups": Published(("rank", "k", "group"), ours_of.by_group, (why.TABLE_9, *_ESTIMATION)),
    "10_leave_one_out": Published(("model",), ours_of.leave_one_out, _ESTIMATION),
}
