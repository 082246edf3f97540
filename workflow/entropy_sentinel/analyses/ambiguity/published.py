"""The paper's values, as printed. Light: planning asks of which tables there are any."""

from collections.abc import Iterable

import polars as pl

from entropy_sentinel.analyses.ambiguity.catalogue import PUBLISHED

# The benchmarks of its tables, and the items of each by how many answers they have.
_ANSWERS = {"triviaqa": "one", "maqa": "several", "ambigqa": "several"}
# The model of its tables that name none in their rows.
_MODEL = "gemma-3-12b"


def printed(table: str) -> pl.DataFrame:
    """A row for each value of a table: its keys, with model and benchmark, `name` of the column, and `paper`."""
    # Its Tables 2 and 6 have one model in common.
    wide = pl.read_csv(PUBLISHED / f"table_{table}.csv").drop("table", strict=False).unique(maintain_order=True)
    keys = [name for name in wide.columns if name.partition("_")[0] not in _ANSWERS]
    long = wide.unpivot(index=keys, value_name="paper").drop_nulls("paper")
    if "model" not in keys:
        long = long.with_columns(model=pl.lit(_MODEL))
    # A benchmark has no `_` in its name here, but a statistic may.
    benchmark = pl.col("variable").str.extract(r"^([a-z]+)_")
    return long.select(
        *("model", *[key for key in keys if key != "model"]),
        benchmark=benchmark,
        answers=benchmark.replace_strict(_ANSWERS),
        name=pl.col("variable").str.replace(r"^[a-z]+_", ""),
        paper="paper",
    )


def compared(table: str, models: Iterable[str], benchmarks: Iterable[str]) -> bool:
    """Whether the paper has values for a table of these models and benchmarks."""
    if not (PUBLISHED / f"table_{table}.csv").is_file():
        return False
    theirs = printed(table)
    same = theirs.filter(pl.col("benchmark").is_in(list(benchmarks)), pl.col("model").is_in(list(models)))
    return len(same) > 0
