"""Stage `labels`: a judge's verdicts, `labels/{judge}/{model}/{benchmark}.parquet`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import polars as pl

from entropy_sentinel.contracts.frames import Column, Contract

# Raised by hand when verdicts move, for the reason given at GENERATION_VERSION: a judge may cost money.
LABEL_VERSION = 1

LABELS = Contract(
    stage="labels",
    key=("item_id", "sample"),
    columns=(
        Column("item_id", pl.String, "item of the benchmark"),
        Column("sample", pl.UInt16, "number of the response among those to the same item"),
        Column(
            "label",
            pl.Boolean,
            "whether the response is correct; null where the judge cannot say",
            nullable=True,
        ),
        Column("reason", pl.String, "why the label is null; null where there is a label", nullable=True),
        Column("answer", pl.String, "the final answer that the judge compared", nullable=True),
    ),
)


@dataclass(frozen=True)
class Case:
    """What a judge is shown."""

    question: str
    response: str
    reference: str
    truncated: bool


@dataclass(frozen=True)
class Verdict:
    """What a judge says: correct (True), incorrect (False), or None with the reason; never a guess."""

    label: bool | None
    answer: str | None = None
    reason: str | None = None


class Judge(Protocol):
    """Anything that labels responses. `version` names the software behind it, for the provenance."""

    version: str

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One verdict per case, in order."""
        ...
