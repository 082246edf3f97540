"""The column whose values are the domains: which columns of a log would do, and how many domains they give."""

from collections.abc import Collection, Mapping

import polars as pl

from entropy_sentinel.estimators.verdict import FEWEST_LABELS
from entropy_sentinel.features.catalogue import FEATURE_FRAME
from entropy_sentinel.frames.generation import LOGPROBS
from entropy_sentinel.frames.response import ITEM

# Columns that are no domains, whatever their values.
_NO_DOMAINS = {*FEATURE_FRAME.schema, *LOGPROBS, "model", "question", "response", "time", "timestamp"} - {"benchmark"}
# Columns that a line names.
_SHOWN = 4


def n_domains(rows: pl.DataFrame, columns: Collection[str]) -> int:
    """How many combinations of values have at least FEWEST_LABELS items, so that they count as domains."""
    items = rows.group_by(columns).agg(n=pl.struct(ITEM).n_unique())
    return int((items["n"] >= FEWEST_LABELS).sum())


def other_domains(rows: pl.DataFrame, columns: Collection[str], there: int) -> dict[str, int]:
    """The other columns of a log that give more domains than `there` are, those with most first, with how many."""
    names = [name for name, dtype in rows.schema.items() if dtype == pl.String and name not in _NO_DOMAINS]
    counts = {name: n_domains(rows, [name]) for name in names if name not in columns}
    return {name: n for name, n in sorted(counts.items(), key=lambda pair: -pair[1]) if n > there}


def remedy(others: Mapping[str, int], option: str) -> str:
    """How to get more domains: from `others`, the columns with their numbers of domains, given as `option`."""
    if not others:
        return "no column gives more: group the questions by topic, and write the topics to a column of the log"
    named = ", ".join(f"{name} ({n})" for name, n in list(others.items())[:_SHOWN])
    first = next(iter(others))
    return f"columns that give more: {named}. Take one whose values are kinds of questions, as {option} {first}"
