"""Signals (named numbers per response), their families, and the files of a family (stage `signals`).

A family may ask the model again about its own responses. This is a pass, `EnginePass`; its files are
`passes/{family}/{model}/{benchmark}.parquet`, and the family's signals are computed from them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import polars as pl

from entropy_sentinel.core.section_base import Settings
from entropy_sentinel.schemas.contract import Column, Contract
from entropy_sentinel.schemas.response_schema import RESPONSE, RESPONSE_COLUMNS


@dataclass(frozen=True)
class Signal:
    """A named number per response; null if a response has none.

    `confident`: a larger value means more certain. `share`: values are in [0, 1].
    """

    name: str
    title: str
    meaning: str
    unit: str
    confident: bool = field(default=False, kw_only=True)
    share: bool = field(default=False, kw_only=True)
    # Its title as an estimator, if different.
    alone: str = field(default="", kw_only=True)

    @property
    def column(self) -> Column:
        """Its column in files."""
        return Column(self.name, pl.Float64, self.meaning, self.unit, nullable=True)


@dataclass(frozen=True)
class EnginePass:
    """A pass: a family's questions to the model about its own responses, in a job of study/stages/engine_pass.py.

    `contract` describes the job's rows; its key begins with RESPONSE. `version` replaces a hash of the code, like
    GENERATION_VERSION: raise it by hand when rows change, because making them again costs GPU time.
    `load_module` imports and returns the module with two functions: `ask`, the questions, and `unasked`, the rows of
    responses that are not asked about.
    """

    contract: Contract
    load_module: Callable[[], ModuleType] = field(repr=False, kw_only=True)
    version: int
    # Columns whose lists have corresponding entries, such as positions and their entropies.
    alike: tuple[tuple[str, ...], ...] = ()
    # For the forecast, by the family's settings: contexts per token of a response, and the number of first responses to
    # an item that it asks about (None for all).
    contexts_per_token: Callable[[Mapping[str, Any]], float] = field(default=lambda settings: 1.0, repr=False)
    first_responses: Callable[[Mapping[str, Any]], int | None] = field(default=lambda settings: None, repr=False)
    # Keys of `models.NAME` that the config must have for a model behind a server, which does not report them.
    needed_of_servers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Family:
    """Signals that are computed together, into one file per model and benchmark.

    `compute` takes a model's traces and returns a row per response (signal_families/signal_computation.py); planning
    imports its module, so it imports heavy packages itself.

    `per_item`: a response's signals depend on the other answers to its item. `requery`: the signals need this pass;
    with `per_item`, each part of the pass has all responses to its items. `settings` is the class of its config
    section, `signals.NAME`.
    """

    meaning: str
    signals: tuple[Signal, ...]
    # The features have none: their stage computes them.
    compute: Callable[..., "pl.DataFrame | tuple[pl.DataFrame, dict[str, Any]]"] | None = field(
        default=None, repr=False, kw_only=True
    )
    per_item: bool = False
    requery: EnginePass | None = None
    settings: type[Settings] | None = None
    # Whether it compares texts by the weights that its settings name: a subclass of
    # `study.semantic_clustering.backend_settings.TextModel`.
    compares_texts: bool = field(default=False, repr=False, kw_only=True)


def signal_contract(family: Family) -> Contract:
    """The contract of a family's files: RESPONSE and its signals; further columns may follow."""
    columns = (*RESPONSE_COLUMNS, *(signal.column for signal in family.signals))
    return Contract(stage="signals", open=True, key=RESPONSE, columns=columns)


def add_reasons(frame: pl.DataFrame, signals: Iterable[str], reason: str = "reason") -> pl.DataFrame:
    """The frame with, in the column `reason` where it is null, the first missing signal of a row.

    A signal is missing if it is not a finite number. A row with a reason counts as one without features.
    """
    reasons = []
    for name in signals:
        missing = pl.col(name).is_finite().not_().fill_null(True)
        reasons.append(pl.when(missing).then(pl.lit(f"no signal '{name}'")))
    return frame.with_columns(pl.coalesce(reason, *reasons)) if reasons else frame
