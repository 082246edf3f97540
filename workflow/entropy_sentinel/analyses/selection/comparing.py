"""How selections differ: how far they overlap, how hard and how long their items are, and where these are from."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import polars as pl

from entropy_sentinel.frames.response import ITEM

# The row of all candidates, beside the selections of a model.
EVERY = "all"
_PROFILE = {
    "items": pl.len(),
    "pass_rate": pl.col("pass_rate").mean(),
    "accuracy": pl.col("label").mean(),
    "n_tokens": pl.col("n_tokens").mean(),
    "eas": pl.col("eas").mean(),
}


def overlaps(selections: pl.DataFrame) -> pl.DataFrame:
    """Every two selections of a model: `shared` items, and `jaccard`, their share of the items of either.

    `jaccard` is null where both are empty.
    """
    schema = {"model": pl.String, "first": pl.String, "second": pl.String, "shared": pl.Int64, "jaccard": pl.Float64}
    return pl.DataFrame(list(_overlaps(selections)), schema=schema, orient="row")


def _overlaps(selections: pl.DataFrame) -> Iterator[tuple[str, str, str, int, float | None]]:
    for (model,), of_model in selections.group_by("model", maintain_order=True):
        items = {
            name: set(part.select(ITEM).rows()) for (name,), part in of_model.group_by("strategy", maintain_order=True)
        }
        for first, second in combinations(items, 2):
            shared, either = len(items[first] & items[second]), len(items[first] | items[second])
            yield str(model), first, second, shared, shared / either if either else None


def profiles(candidates: pl.DataFrame, selections: pl.DataFrame) -> pl.DataFrame:
    """Of all candidates of each model and of each selection: means over the items whose value is known.

    Columns model, strategy (`all` for the candidates), items, pass_rate, accuracy (of the first responses), n_tokens,
    eas.
    """
    rows = chosen(candidates, selections)
    return rows.group_by("model", "strategy", maintain_order=True).agg(**_PROFILE)


def domains(candidates: pl.DataFrame, selections: pl.DataFrame) -> pl.DataFrame:
    """How many items of each benchmark there are, of all candidates and of each selection: a column for each."""
    rows = chosen(candidates, selections)
    counts = rows.group_by("model", "benchmark", "strategy", maintain_order=True).len()
    return counts.pivot("strategy", index=["model", "benchmark"], values="len").fill_null(0)


def chosen(candidates: pl.DataFrame, selections: pl.DataFrame) -> pl.DataFrame:
    """The candidates of each model as the selection `all`, then those of each selection, with all their columns."""
    every = candidates.with_columns(strategy=pl.lit(EVERY))
    own = selections.select("model", *ITEM, "strategy").join(
        candidates, on=["model", *ITEM], how="left", maintain_order="left", validate="m:1"
    )
    order: Any = {name: place for place, name in enumerate(candidates["model"].unique(maintain_order=True))}
    found = pl.concat([every, own.select(every.columns)])
    return found.sort(pl.col("model").replace_strict(order, return_dtype=pl.Int64), maintain_order=True)
