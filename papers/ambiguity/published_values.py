"""Comparison of a study's values with the paper's, for the same models and benchmarks."""

from collections.abc import Sequence

import polars as pl

from entropy_sentinel.rendering.table_exhibit import Table, select_headings
from papers.ambiguity.ambiguity_exhibits import (
    ESTIMATOR_TITLES,
    PUBLISHED_FOLDER,
    AmbiguityExhibitSettings,
    is_table_comparable,
)

# The benchmarks of the paper's tables, and whether the items of each have one answer or several.
_ANSWERS_BY_BENCHMARK = {"triviaqa": "one", "maqa": "several", "ambigqa": "several"}
# The model behind the tables whose rows do not name a model.
_UNNAMED_MODEL = "gemma-3-12b"
_STATISTICS = {"n": "Items", "count_mean": "Count", "count_sd": "SD", "entropy_mean": "H(p*)", "entropy_sd": "SD of H"}


def read_published(table: str) -> pl.DataFrame:
    """The values that the paper prints in a table, a row for each: keys of its row, model, benchmark and others.

    In the CSV file a printed column is `<benchmark>_<name>`, such as `maqa_se`; here it gives the columns `benchmark`,
    `answers` (`one` or `several` right answers) and `name`, an estimator or statistic. `paper` is the value.
    """
    # The paper's Tables 2 and 6 have one model in common.
    wide = pl.read_csv(PUBLISHED_FOLDER / f"table_{table}.csv").drop("table", strict=False).unique(maintain_order=True)
    keys = [name for name in wide.columns if name.partition("_")[0] not in _ANSWERS_BY_BENCHMARK]
    long = wide.unpivot(index=keys, value_name="paper").drop_nulls("paper")
    if "model" not in keys:
        long = long.with_columns(model=pl.lit(_UNNAMED_MODEL))
    # A benchmark has no `_` in its name here, but a statistic may.
    benchmark = pl.col("variable").str.extract(r"^([a-z]+)_")
    return long.select(
        *("model", *[key for key in keys if key != "model"]),
        benchmark=benchmark,
        answers=benchmark.replace_strict(_ANSWERS_BY_BENCHMARK),
        name=pl.col("variable").str.replace(r"^[a-z]+_", ""),
        paper="paper",
    )


def compare_published(
    table: str,
    study_values: pl.DataFrame,
    settings: AmbiguityExhibitSettings,
    value_column: str,
    value_title: str,
    extra_keys: Sequence[str] = (),
) -> Table | None:
    """Our estimators' values next to the paper's, by model, benchmark and `extra_keys`; None if none match.

    `value_column` is a column of `study_values`, which also has lower and upper, and `value_title` its heading.
    """
    if not is_table_comparable(table, settings["models"], settings["benchmarks"]):
        return None
    published = read_published(table).rename({"name": "estimator"})
    on = ["model", "benchmark", "answers", "estimator", *extra_keys]
    joined = published.join(study_values, on=on, how="inner", maintain_order="left")
    headings = {
        **{name: name.title() for name in ("model", "benchmark", *extra_keys, "estimator")},
        value_column: value_title,
        "lower": "from",
        "upper": "to",
        "paper": f"{value_title}: paper",
        "difference": "difference",
    }
    compared_values = joined.with_columns(difference=pl.col(value_column) - pl.col("paper"))
    shown_values = select_headings(compared_values, headings, {"estimator": ESTIMATOR_TITLES.__getitem__})
    note = "from, to: 95 % interval of this study's value. The paper prints two digits and no interval."
    return Table(f"{value_title}, here and in the paper.", shown_values, (note,))


def compare_statistics(study_values: pl.DataFrame, settings: AmbiguityExhibitSettings) -> Table | None:
    """Our statistics of p* next to the paper's, by benchmark and source of its counts; None if none match.

    `study_values` has benchmark, source and a column for each statistic (`summarise_p_stars`).
    """
    if not is_table_comparable("8_p_star", settings["models"], settings["benchmarks"]):
        return None
    long = study_values.unpivot(index=["benchmark", "source"], value_name="ours", variable_name="name")
    joined = read_published("8_p_star").join(
        long, on=["benchmark", "source", "name"], how="inner", maintain_order="left"
    )
    columns = {"benchmark": "Benchmark", "source": "Source", "name": "Statistic", "ours": "Here", "paper": "Paper"}
    shown_values = select_headings(joined, columns, {"name": _STATISTICS.__getitem__})
    return Table("Statistics of p*, here and in the paper.", shown_values, decimals=2)
