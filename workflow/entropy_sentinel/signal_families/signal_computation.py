"""Compute the signals of responses from their traces."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.core.extension_guard import guard_extension
from entropy_sentinel.signal_families.signal_registry import FAMILIES, FAMILY_OF, SIGNALS, TOKENS, find_rules


def compute_signals(family: str, traces: pl.LazyFrame, **settings: Any) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A family's signals of traces: a row per response, in order, with the signals as numbers and other columns.

    Also returns the family's facts about the computation, for the provenance. Raises InputError if the rows differ from
    those of the traces, or a signal is missing.
    """
    compute = FAMILIES[family].compute
    assert compute is not None  # only `tokens` has none
    with guard_extension("signals", family, f"signals/{family}: compute failed"):
        result = compute(traces, **settings)
    values, facts = result if isinstance(result, tuple) else (result, {})
    n_rows = traces.select(pl.len()).collect().item()
    if len(values) != n_rows:
        raise InputError(
            f"signals/{family}: compute must return a row for each of {n_rows} responses, returned {len(values)}"
        )
    names = [signal.name for signal in FAMILIES[family].signals]
    for name in names:
        if name not in values.columns:
            raise InputError(f"signals/{family}: compute must return column '{name}', gave {', '.join(values.columns)}")
    return values.with_columns(pl.col(names).cast(pl.Float64)), facts


def add_signals(features: pl.DataFrame, traces: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Features of a log's responses with the signals `names`: the log's columns, computed where they are null.

    A signal that needs more than the traces of one response is null if the log lacks it. Raises ConfigError for an
    unknown signal.
    """
    for name in names:
        if name in FAMILIES and name not in SIGNALS:
            own_signals = ", ".join(signal.name for signal in FAMILIES[name].signals)
            raise ConfigError(f"signals: '{name}' is a family; name the signals that you need: {own_signals}")
        if name not in SIGNALS:
            raise ConfigError(f"signals: unknown signal '{name}'; known: {', '.join(SIGNALS)}")
    columns = {name: _numeric_column(features, name) for name in names}
    # A family computes all of its signals at once.
    incomplete = dict.fromkeys(FAMILY_OF[name] for name in names if columns[name].has_nulls())
    for family in filter(can_compute_from_trace, incomplete):
        computed, _ = compute_signals(family, traces.lazy())
        for name in names:
            if name in computed.columns:
                columns[name] = columns[name].fill_null(computed[name])
    return features.with_columns(**columns)


def _numeric_column(features: pl.DataFrame, name: str) -> pl.Series:
    """A column as numbers; other values are null, and all are null if the column is missing."""
    if name not in features.columns:
        return pl.Series(name, [None] * len(features), pl.Float64)
    return features[name].cast(pl.Float64, strict=False)


def can_compute_from_trace(family: str) -> bool:
    """Whether `compute_signals` gives a response's signals of the family from its trace alone.

    Not those of `tokens`, which are the features; nor of a family with rules of its own, with signals over all answers
    to an item, or with a pass, which asks the model again.
    """
    declared = FAMILIES[family]
    return family != TOKENS and find_rules(family) is None and not declared.per_item and declared.requery is None
