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
    wide = pl.read_csv(PUBLISHED / f"table_{table}.csv")
    keys = [name for name in wide.columns if name.partition("_")[0] not in _ANSWERS]
    parts = pl.col("variable").str.split_exact("_", 1).struct.rename_fields(["benchmark", "rest"])
    # A benchmark has no `_` in its name here, but a statistic may.
    rest = pl.col("variable").str.replace(r"^[a-z]+_", "")
    found = wide.unpivot(index=keys, value_name="paper").with_columns(
        benchmark=parts.struct.field("benchmark"), name=rest
    )
    if "model" not in keys:
        found = found.with_columns(model=pl.lit(_MODEL))
    return found.drop("variable").drop_nulls("paper").with_columns(answers=pl.col("benchmark").replace_strict(_ANSWERS))


def compared(table: str, models: Iterable[str], benchmarks: Iterable[str]) -> bool:
    """Whether the paper has values for a table of these models and benchmarks."""
    if not (PUBLISHED / f"table_{table}.csv").is_file():
        return False
    theirs = printed(table)
    same = theirs.filter(pl.col("benchmark").is_in(list(benchmarks)), pl.col("model").is_in(list(models)))
    return len(same) > 0
