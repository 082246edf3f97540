"""The responses that are to be labelled, and how they are told apart and drawn."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from entropy_sentinel.frames.response import RESPONSE
from entropy_sentinel.monitor.reading.problems import Problems


@dataclass(frozen=True)
class Sample:
    """The responses to label, and what to expect of the slices.

    Attributes:
        responses: A row per response to label: the slice, what identifies it, `stratum` (0 is where the model is least
            likely to be correct), `inclusion_probability`, `weight`, `question` and `response` where the log has them,
            and an empty `label`. P(correct) is not there, for who labels should not know it.
        slices: A row per slice: `n_responses`, `n_to_label`, `estimated_accuracy`, the width of its interval before
            (null where the estimator has no validation), the width with so many labels alone, and with predictions too,
            if P(correct) is calibrated. Without an estimator, the numbers of responses and labels alone.
        level: The level of these intervals.
        prospects: Without an estimator: the probability `usable` that the validation of a first `fit` says so, by
            number of `domains`, `labels` of each, and mean `error`; the row that was chosen first. Else null.
        notes: What would give more domains.
        next_step: The command that takes the labels, `monitor` or `fit` with its options.
        taken: What does not match the estimator and is taken all the same, counted by kind.
        problems: What in the logs could not be used, counted.
    """

    responses: pl.DataFrame
    slices: pl.DataFrame
    level: float
    prospects: pl.DataFrame | None = None
    notes: tuple[str, ...] = ()
    next_step: str = "monitor"
    taken: Mapping[str, int] = field(default_factory=dict)
    problems: Problems = field(default_factory=Problems)


def identity(rows: pl.DataFrame) -> tuple[str, ...]:
    """The ids alone, where they tell the responses apart: labels may be given back with a log of another name."""
    return ("item_id",) if rows["item_id"].is_unique().all() else RESPONSE


def order_of(rows: pl.DataFrame, seed: int) -> pl.Series:
    """A number for each response that looks drawn by chance, and is the same wherever the response stands."""
    names = rows.select(identity(rows)).iter_rows()
    return pl.Series([drawn_number(f"{seed} {name}") for name in names], dtype=pl.UInt64)


def drawn_number(text: str) -> int:
    """A number of 64 bits that looks drawn by chance, the same for the same text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
