"""The tables of the catalogue, from the candidates and the selections of all models."""

from collections.abc import Sequence

import polars as pl

from entropy_sentinel.analyses.selection.catalogue import STRATEGIES
from entropy_sentinel.analyses.selection.comparing import EVERY, domains, overlaps, profiles
from entropy_sentinel.report.tables import Table, headed


def strategy_title(name: str) -> str:
    """A strategy in words; all candidates, where it is none."""
    return "All candidates" if name == EVERY else STRATEGIES[name].title


def _titled(*columns: str) -> pl.Expr:
    titles = {name: strategy_title(name) for name in (EVERY, *STRATEGIES)}
    return pl.col(columns).replace_strict(titles)


def table_selections(candidates: pl.DataFrame, selections: pl.DataFrame, notes: Sequence[str]) -> Table:
    """What each strategy selects, beside all candidates."""
    headings = {
        "model": "Model",
        "strategy": "Selection",
        "items": "Items",
        "pass_rate": "Pass rate",
        "accuracy": "Accuracy",
        "n_tokens": "Tokens",
        "eas": "EAS",
    }
    rows = profiles(candidates, selections).with_columns(_titled("strategy"))
    return Table(
        "Difficulty and length of what each strategy selects: means over its items.",
        headed(rows, headings),
        (
            "Pass rate: share of correct tries. Accuracy: of the first response. Tokens: length of the first response. "
            "EAS: in bits. Each over the items of which it is known.",
            *notes,
        ),
    )


def table_overlap(selections: pl.DataFrame) -> Table:
    """How far every two selections overlap."""
    rows = overlaps(selections).with_columns(_titled("first", "second"))
    headings = {
        "model": "Model",
        "first": "Selection",
        "second": "and selection",
        "shared": "Shared items",
        "jaccard": "Jaccard",
    }
    return Table(
        "How many items two selections share.",
        headed(rows, headings),
        ("Jaccard: shared items over the items of either; 1 is the same items, 0 none in common.",),
    )


def table_domains(candidates: pl.DataFrame, selections: pl.DataFrame) -> Table:
    """Where the selected items are from."""
    rows = domains(candidates, selections)
    names = {name: strategy_title(name) for name in (EVERY, *STRATEGIES) if name in rows.columns}
    return Table("Items by benchmark.", rows.rename({"model": "Model", "benchmark": "Domain", **names}))
