"""Compare this study's values with the published ones, table by table, with known reasons for differences.

`published/*.csv` hold the published values as printed. A comparison has the published rows whose model, benchmark or
training group occurs in this study under the same name. Errors are compared only over the paper's ten domains.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import polars as pl

from entropy_sentinel.estimators.estimator_registry import estimator_title
from entropy_sentinel.features.feature_registry import CATALOGUE
from entropy_sentinel.formatting.text_format import format_count
from entropy_sentinel.rendering.exhibit_declarations import load_function
from entropy_sentinel.rendering.table_exhibit import Table
from entropy_sentinel.study.analyses.accuracy.accuracy_exhibits import TABLES, list_compared_tables, list_paper_models
from entropy_sentinel.study.analyses.accuracy.counterparts import (
    LEVELS,
    METHODS,
    N_BENCHMARKS,
    N_ITEMS,
    read_published_values,
)
from entropy_sentinel.study.analyses.accuracy.exhibit_inputs import AccuracyTableInputs
from entropy_sentinel.study.analyses.accuracy.provenance import Provenance, describe_code_version
from entropy_sentinel.study.analyses.display_names import format_group

LABELS = (
    "Labels: the authors' judge was shown the whole response, and any of its replies that contained the word true "
    "counted as correct."
)
_FORMULA = "cannot be matched: the authors' code has {} instead"
_LNTP, _MTP = _FORMULA.format("sum(nll log nll)"), _FORMULA.format("max(nll log nll)")
_ORDER = "in the authors' later results 17D is better than 10D (0.111, 0.137)"
_OTHER_AEE = "the paper's .087 is not the .08 of its own Table 3 for the same group"


def explain_difference(table: str, row: Mapping[str, Any]) -> str | None:
    """Why a row of this table differs from the published one; None if unknown. `row` has the published columns."""
    number = table.partition("_")[0]
    # Each table has one of these columns at most.
    name = row.get("method") or row.get("setting") or row.get("group")
    match number, name:
        case ("3" | "8", "lntp"):
            return _LNTP
        case ("3" | "8", "mtp"):
            return _MTP
        case ("5", "17d" | "10d"):
            return _ORDER
        case ("9", "gsm8k+olympiadbench"):
            return _OTHER_AEE
    return None


def describe_basis(generations: Provenance, labels: Provenance) -> str:
    """One line that names the models, weights, engines, judges and code behind this study's values.

    `generations` and `labels` are the provenances of all its files of these stages.
    """
    models: dict[str, str] = {}
    engines: set[str] = set()
    for entry in generations:
        models[entry["model"]] = f"{entry['model']} ({_describe_weights(entry)})"
        engines.add(f"{entry.get('engine')} {entry.get('engine_version') or ''}".strip())
    judges = {f"{entry['judge']} ({_find_first(entry, 'judge_version', 'kind')})" for entry in labels}
    return (
        f"This study's values are based on the models {_join_sorted(models.values())}, run by "
        f"{_join_sorted(engines)}; labels by {_join_sorted(judges)}; code {describe_code_version()}."
    )


def _describe_weights(entry: Mapping[str, Any]) -> str:
    """`org/model at 0123456789ab`: a model's weights, its name behind an API, or its file of imported traces."""
    api_model = (entry.get("api") or {}).get("model")
    weights = entry.get("weights") or api_model or entry.get("source") or "unknown"
    commit = _find_first(entry, "commit", "revision")
    return weights if commit == "unknown" else f"{weights} at {commit[:12]}"


def _find_first(entry: Mapping[str, Any], *keys: str) -> str:
    """The value of the first of the keys that has one, or "unknown"."""
    for key in keys:
        if entry.get(key):
            return str(entry[key])
    return "unknown"


def _join_sorted(texts: Iterable[str]) -> str:
    return ", ".join(sorted(texts))


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


def compare_table(name: str, inputs: AccuracyTableInputs) -> Table | None:
    """Compare this study's values of the table `name` with the published ones, without rows that this study lacks.

    None if nothing was published or the study runs none of the paper's models.
    """
    published = TABLES[name].published
    if published is None or not list_compared_tables([name], inputs.domains["model"]):
        return None
    study_values: pl.DataFrame = load_function(published.counterpart_function)(inputs)
    paper_values = read_published_values(published.file)
    if published.tables:
        paper_values = paper_values.filter(pl.col("table").is_in(published.tables))
    paper_values = paper_values.drop("table", strict=False).with_columns(pl.col("^k$").cast(pl.Int64))
    order: Literal["left", "right"] = "left"  # of the paper's rows
    if "benchmark" in paper_values.columns:
        study_values = _pivot_benchmarks(study_values)
        paper_values = _pivot_benchmarks(paper_values)
        order = "right"  # of this study's models
    numbers = [
        column for column in paper_values.columns if column not in published.keys and column in study_values.columns
    ]
    joined = paper_values.join(study_values, on=published.keys, how="inner", suffix=": ours", maintain_order=order)
    return Table(
        "This study's values, the paper's printed values, and the differences.",
        _tabulate_differences(joined, name, published.keys, numbers),
        (*published.notes, LABELS, _describe_responses(inputs.domains), inputs.basis_note),
    )


def _describe_responses(domains: pl.DataFrame) -> str:
    """One line with the numbers of responses in this study (frame DOMAINS) and in the paper, which may differ."""
    models = format_count(domains["model"].n_unique(), "model")
    benchmarks = format_count(domains["benchmark"].n_unique(), "benchmark")
    return (
        f"This study has {domains['n_responses'].sum():,} responses of {models} to {benchmarks}, "
        f"the paper {len(list_paper_models()) * N_ITEMS:,} of {len(list_paper_models())} models to {N_BENCHMARKS}."
    )


def _pivot_benchmarks(frame: pl.DataFrame) -> pl.DataFrame:
    """Pivot AUROC from one row to one column per benchmark."""
    return frame.pivot("benchmark", index=["model", "statistic"], values="auroc", maintain_order=True)


def _tabulate_differences(joined: pl.DataFrame, name: str, keys: Sequence[str], numbers: Sequence[str]) -> pl.DataFrame:
    """The keys, why values differ, and for each of `numbers` this study's value, the paper's and the difference.

    In `joined`, the column of a number is the paper's, and with the suffix `: ours` this study's.
    """
    columns: list[pl.Expr | pl.Series] = [_format_names(joined[key]).alias(_HEADINGS[key]) for key in keys]
    reasons = [explain_difference(name, row) for row in joined.iter_rows(named=True)]
    if any(reasons):
        columns.append(pl.Series("Why they differ", [reason or "" for reason in reasons]))
    for number in numbers:
        heading = _HEADINGS.get(number, number)
        study_value = pl.col(f"{number}: ours")
        paper_value = pl.col(number)
        columns += [
            study_value.alias(heading),
            paper_value.alias(f"{heading}: paper"),
            # 0.0 is added because a difference may be -0.0, which would be shown with its sign.
            ((study_value - paper_value).round(12) + 0.0).alias(f"{heading}: difference"),
        ]
    return joined.select(columns)


def _format_names(values: pl.Series) -> pl.Series:
    """The names in a key column of published values, as the study's tables show them."""
    match values.name:
        case "statistic":
            return values.replace_strict({key: feature.title for key, feature in CATALOGUE.items()})
        case "method":
            titles = {key: estimator_title(method) for key, method in METHODS.items()}
            return values.replace_strict(titles | {"default": "Default"})
        case "configuration" | "factor":
            return values.str.to_titlecase()
        case "setting":
            # "yes" and "no" stay, because they are settings of two factors.
            words = {code: word for word, code in LEVELS.items() if code not in ("yes", "no")}
            return values.replace(words)
        case "group":
            return pl.Series(map(format_group, values))
        case _:
            return values
