"""Find the columns of a log whose values could be the domains, and how many domains they give."""

from collections.abc import Collection, Mapping

import polars as pl

from entropy_sentinel.estimators.verdict import FEWEST_LABELS
from entropy_sentinel.features.catalogue import FEATURE_FRAME
from entropy_sentinel.frames.generation import LOGPROBS
from entropy_sentinel.frames.response import ITEM

# Columns that never define domains.
_NO_DOMAINS = {*FEATURE_FRAME.schema, *LOGPROBS, "model", "question", "response", "time", "timestamp"} - {"benchmark"}
# Largest number of columns that a message names.
_SHOWN = 4


def n_domains(rows: pl.DataFrame, columns: Collection[str]) -> int:
    """Return how many combinations of values have at least FEWEST_LABELS items, and so count as domains."""
    items = rows.group_by(columns).agg(n=pl.struct(ITEM).n_unique())
    return int((items["n"] >= FEWEST_LABELS).sum())


def other_domains(rows: pl.DataFrame, columns: Collection[str], there: int) -> dict[str, int]:
    """Return the other columns of a log that give more than `there` domains, with their numbers, the most first."""
    names = [name for name, dtype in rows.schema.items() if dtype == pl.String and name not in _NO_DOMAINS]
    counts = {name: n_domains(rows, [name]) for name in names if name not in columns}
    return {name: n for name, n in sorted(counts.items(), key=lambda pair: -pair[1]) if n > there}


def remedy(others: Mapping[str, int], option: str) -> str:
    """Return advice on how to get more domains: name one of the columns `others` with `option`."""
    if not others:
        return "no column gives more: group the questions by topic, and write the topics to a column of the log"
    named = ", ".join(f"{name} ({n})" for name, n in list(others.items())[:_SHOWN])
    first = next(iter(others))
    return f"columns that give more: {named}. Choose one whose values are kinds of questions, such as {option} {first}"
