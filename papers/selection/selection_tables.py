"""The tables of the catalogue: overlap of selections, their difficulty and length, and the sources of their items."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import polars as pl

from entropy_sentinel.rendering.exhibit_files import FigureInputs
from entropy_sentinel.rendering.table_exhibit import Table, select_headings
from entropy_sentinel.schemas.response_schema import ITEM
from papers.selection.selection_exhibits import STRATEGIES

# The name of the row for all candidates of a model.
EVERY = "all"
_PROFILE = {
    "items": pl.len(),
    "pass_rate": pl.col("pass_rate").mean(),
    "accuracy": pl.col("label").mean(),
    "n_tokens": pl.col("n_tokens").mean(),
    "eas": pl.col("eas").mean(),
}


@dataclass(frozen=True, kw_only=True)
class SelectionInputs(FigureInputs):
    """Frames of the contracts CANDIDATES and SELECTIONS of all models, and notes on what strategies lack."""

    candidates: pl.DataFrame
    selections: pl.DataFrame
    notes: Sequence[str]


def measure_overlaps(selections: pl.DataFrame) -> pl.DataFrame:
    """Compare every two selections of a model: `shared` items, and `jaccard`, their share of the union.

    `jaccard` is null if both are empty.
    """
    schema = {"model": pl.String, "first": pl.String, "second": pl.String, "shared": pl.Int64, "jaccard": pl.Float64}
    return pl.DataFrame(list(_iterate_overlaps(selections)), schema=schema, orient="row")


def _iterate_overlaps(selections: pl.DataFrame) -> Iterator[tuple[str, str, str, int, float | None]]:
    """Yield model, two strategies, the number of items that both select, and the Jaccard index."""
    for (model,), model_rows in selections.group_by("model", maintain_order=True):
        items: dict[object, set[tuple[object, ...]]] = {}
        for (name,), part in model_rows.group_by("strategy", maintain_order=True):
            items[name] = set(part.select(ITEM).rows())
        for first, second in combinations(items, 2):
            n_shared = len(items[first] & items[second])
            n_union = len(items[first] | items[second])
            yield str(model), str(first), str(second), n_shared, n_shared / n_union if n_union else None


def profile_selections(candidates: pl.DataFrame, selections: pl.DataFrame) -> pl.DataFrame:
    """Means over all candidates of each model, and over each selection, ignoring unknown values.

    Columns model, strategy (`all` for the candidates), items, pass_rate, accuracy (of the first responses), n_tokens,
    eas.
    """
    rows = stack_selections(candidates, selections)
    return rows.group_by("model", "strategy", maintain_order=True).agg(**_PROFILE)


def count_domains(candidates: pl.DataFrame, selections: pl.DataFrame) -> pl.DataFrame:
    """Count items by model and benchmark, with a column `all` for the candidates and one for each strategy."""
    rows = stack_selections(candidates, selections)
    counts = rows.group_by("model", "benchmark", "strategy", maintain_order=True).len()
    return counts.pivot("strategy", index=["model", "benchmark"], values="len").fill_null(0)


def stack_selections(candidates: pl.DataFrame, selections: pl.DataFrame) -> pl.DataFrame:
    """The columns of CANDIDATES and `strategy`: by model, all candidates as `all`, then those of each selection."""
    all_candidates = candidates.with_columns(strategy=pl.lit(EVERY))
    selected_rows = selections.select("model", *ITEM, "strategy").join(
        candidates, on=["model", *ITEM], how="left", maintain_order="left", validate="m:1"
    )
    order: Any = {name: position for position, name in enumerate(candidates["model"].unique(maintain_order=True))}
    stacked_rows = pl.concat([all_candidates, selected_rows.select(all_candidates.columns)])
    return stacked_rows.sort(pl.col("model").replace_strict(order, return_dtype=pl.Int64), maintain_order=True)


def strategy_title(name: str) -> str:
    """A strategy in words, or the words for all candidates."""
    return "All candidates" if name == EVERY else STRATEGIES[name].title


def _title_strategies(*columns: str) -> pl.Expr:
    """An expression that replaces the names of strategies in the columns by their titles."""
    titles = {name: strategy_title(name) for name in (EVERY, *STRATEGIES)}
    return pl.col(columns).replace_strict(titles)


def table_selections(inputs: SelectionInputs) -> Table:
    """Compare each strategy's selection with all candidates."""
    headings = {
        "model": "Model",
        "strategy": "Selection",
        "items": "Items",
        "pass_rate": "Pass rate",
        "accuracy": "Accuracy",
        "n_tokens": "Tokens",
        "eas": "EAS",
    }
    rows = profile_selections(inputs.candidates, inputs.selections).with_columns(_title_strategies("strategy"))
    return Table(
        "Means of difficulty and length over the items.",
        select_headings(rows, headings),
        (
            "Pass rate: share of correct tries. Accuracy: of the first response. Tokens: length of the first response. "
            "EAS: in bits. Each mean is over the items with a value.",
            *inputs.notes,
        ),
    )


def table_overlap(inputs: SelectionInputs) -> Table:
    """Tabulate the overlap of every two selections."""
    rows = measure_overlaps(inputs.selections).with_columns(_title_strategies("first", "second"))
    headings = {
        "model": "Model",
        "first": "Selection",
        "second": "and selection",
        "shared": "Shared items",
        "jaccard": "Jaccard",
    }
    return Table(
        "Number of items that two selections share.",
        select_headings(rows, headings),
        ("Jaccard: shared items over the items of either; 1: the same items, 0: none in common.",),
    )


def table_domains(inputs: SelectionInputs) -> Table:
    """Tabulate the benchmarks of the selected items."""
    rows = count_domains(inputs.candidates, inputs.selections)
    names = {name: strategy_title(name) for name in (EVERY, *STRATEGIES) if name in rows.columns}
    return Table("Items by benchmark.", rows.rename({"model": "Model", "benchmark": "Domain", **names}))
