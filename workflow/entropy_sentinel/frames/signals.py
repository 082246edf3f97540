"""What a signal is, a named number per response; and what a family of them is. Stage `signals`: a family's files.

A family may ask the model again about its own responses: a pass, `EnginePass`, whose files lie in
`passes/{family}/{model}/{benchmark}.parquet` and from which the family's signals are then made.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from entropy_sentinel.frames.contract import Column, Contract
from entropy_sentinel.frames.response import RESPONSE, RESPONSE_COLUMNS
from entropy_sentinel.frames.sections import Settings


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
    # Its title as an estimator alone, where that differs.
    alone: str = field(default="", kw_only=True)

    @property
    def column(self) -> Column:
        """Its column in files."""
        return Column(self.name, pl.Float64, self.meaning, self.unit, nullable=True)


@dataclass(frozen=True)
class EnginePass:
    """What a family asks the model about its own responses, in a job of its own (stages/engine_pass.py).

    `contract` is of the rows that the job writes, whose key begins with RESPONSE. `version` is raised by hand when they
    move, which costs GPU time: it stands in for the code, as GENERATION_VERSION does.
    """

    contract: Contract
    version: int
    # Columns whose lists have an entry each for the same things, such as positions and their entropies.
    alike: tuple[tuple[str, ...], ...] = ()
    # How many contexts it asks about for a token of a response, by the family's settings; and how many responses to an
    # item, the first ones, it asks about, None for all: for the forecast.
    contexts_per_token: Callable[[Mapping[str, Any]], float] = field(default=lambda settings: 1.0, repr=False)
    first_responses: Callable[[Mapping[str, Any]], int | None] = field(default=lambda settings: None, repr=False)
    # What the config must say of a model behind a server, which does not tell it: keys of `models.NAME`.
    told_of_servers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Family:
    """Signals that are made together, into one file per model and benchmark.

    `per_item` where a response's signals depend on the other answers to its item. `asks` where they are made from what
    the model says when it is asked again: with `per_item` about all responses to an item in one part. `settings` is the
    class of its section in the config, `signals.NAME`.
    """

    meaning: str
    signals: tuple[Signal, ...]
    per_item: bool = False
    asks: EnginePass | None = None
    settings: type[Settings] | None = None


def contract_of(family: Family) -> Contract:
    """Return the contract of a family's files; columns of its own may follow."""
    columns = (*RESPONSE_COLUMNS, *(signal.column for signal in family.signals))
    return Contract(stage="signals", open=True, key=RESPONSE, columns=columns)


def with_reasons(frame: pl.DataFrame, signals: Iterable[str], reason: str = "reason") -> pl.DataFrame:
    """A frame that says in the column `reason`, where it says nothing yet, which of the signals a row lacks.

    What is no finite number is lacking. A row with a reason counts as one without features.
    """
    lacking = [
        pl.when(pl.col(name).is_finite().not_().fill_null(True)).then(pl.lit(f"no signal '{name}'")) for name in signals
    ]
    return frame.with_columns(pl.coalesce(reason, *lacking)) if lacking else frame
