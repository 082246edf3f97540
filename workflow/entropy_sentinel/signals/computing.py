"""The signals of responses from their traces."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import polars as pl

from entropy_sentinel.frames.errors import ConfigError, InputError
from entropy_sentinel.signals.catalogue import FAMILIES, FAMILY_OF, SIGNALS, TOKENS, module_of, rules_of


def compute_signals(family: str, traces: pl.LazyFrame, **settings: Any) -> tuple[pl.DataFrame, dict[str, Any]]:
    """What a family makes of traces: a row per response, in their order; its signals as numbers, and columns beside.

    With it comes what the family says of how they were made, for the provenance. Raises InputError where what it makes
    has other rows, or lacks a signal.
    """
    made: pl.DataFrame | tuple[pl.DataFrame, dict[str, Any]] = import_module(module_of(family)).compute(
        traces, **settings
    )
    values, told = made if isinstance(made, tuple) else (made, {})
    n_rows = traces.select(pl.len()).collect().item()
    if len(values) != n_rows:
        raise InputError(
            f"signals/{family}: compute must give a row for each of {n_rows} responses, gave {len(values)}"
        )
    names = [signal.name for signal in FAMILIES[family].signals]
    for name in names:
        if name not in values.columns:
            raise InputError(f"signals/{family}: compute must give a column '{name}', gave {', '.join(values.columns)}")
    return values.with_columns(pl.col(names).cast(pl.Float64)), told


def with_signals(features: pl.DataFrame, traces: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Features with the signals `names` of responses of a log: its columns of these names, computed where one is null.

    A signal is null that the log does not have, and that takes more than the traces of one response. Raises
    ConfigError for a name that is no signal.
    """
    for name in names:
        if name not in SIGNALS:
            raise ConfigError(f"signals: unknown signal '{name}'; known: {', '.join(SIGNALS)}")
    own = {name: _numbers(features, name) for name in names}
    families = dict.fromkeys(FAMILY_OF[name] for name in names if own[name].has_nulls())
    computed = [compute_signals(family, traces.lazy())[0] for family in families if is_computed(family)]
    made = {name: frame[name] for frame in computed for name in names if name in frame.columns}
    filled = {name: own[name].fill_null(column) for name, column in made.items()}
    return features.with_columns(**own | filled)


def _numbers(features: pl.DataFrame, name: str) -> pl.Series:
    """A column as numbers, null where it has none, and all null where it is not there."""
    if name not in features.columns:
        return pl.Series(name, [None] * len(features), pl.Float64)
    return features[name].cast(pl.Float64, strict=False)


def is_computed(family: str) -> bool:
    """Whether a family is made of the traces of one response alone."""
    declared = FAMILIES[family]
    return family != TOKENS and rules_of(family) is None and not declared.per_item and declared.asks is None
