"""The responses to label, their ids, and their random order."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from entropy_sentinel.frames.response import RESPONSE
from entropy_sentinel.monitor.reading.inputs import BY
from entropy_sentinel.monitor.reading.problems import Problems
from entropy_sentinel.sources.logs.reader import QUESTION
from entropy_sentinel.verbs.inputs import WEIGHT


@dataclass(frozen=True)
class Sample:
    """The responses to label, and what to expect of the slices.

    Attributes:
        responses: A row per response to label: the slice, its id, `stratum` (in 0 the model is least likely to be
            correct), `inclusion_probability`, `weight`, `question` and `response` if the log has them, and an empty
            `label`. P(correct) is omitted, because it could influence the person who labels.
        slices: A row per slice: `n_responses`, `n_to_label`, `estimated_accuracy`, and four widths of its interval:
            now (null without a validation); with only the labels; with labels and predictions if P(correct) is
            calibrated; and with the verdicts of a judge too (`width_with_judge`), who has a sensitivity and specificity
            of 0.9 and sees ten times as many responses (null if there are too few labels to correct the judge). And
            whether it is unlike all labelled domains, `unfamiliar`; such slices come first. Without an estimator, only
            the numbers of responses and labels. In both tables, a slice column with the name of another column is
            called `slice_NAME`.
        level: The level of these intervals.
        prospects: Without an estimator: the probability that a first `fit` is validated as `usable`, by number of
            `domains`, `labels` per domain, and mean `error`; the rows of this sample come first. `usable_with_judge` is
            that with a judge's verdicts, too. Else null.
        notes: How to get more domains, and which values of a slice column get no labels, and why.
        next_step: The command to run with the labels: `monitor`, or `fit` with its options.
        n_left_out: Number of responses in slices without any response to label.
        taken: Counts of the chosen responses that do not match the estimator, by kind.
        problems: Counts of unusable parts of the logs.
    """

    responses: pl.DataFrame
    slices: pl.DataFrame
    level: float
    prospects: pl.DataFrame | None = None
    notes: tuple[str, ...] = ()
    next_step: str = "monitor"
    n_left_out: int = 0
    taken: Mapping[str, int] = field(default_factory=dict)
    problems: Problems = field(default_factory=Problems)

    @property
    def n_responses(self) -> int:
        """The number of responses that could have been chosen, with those of slices left out."""
        return int(self.slices["n_responses"].sum()) + self.n_left_out


# Columns of the two tables that are not slices.
_OWN = {
    *("item_id", "stratum", "inclusion_probability", "weight", "question", "response", "label"),
    *("n_responses", "n_to_label", "estimated_accuracy", "width_before", "width_labels_alone", "width_expected"),
    "width_with_judge",
    "unfamiliar",
}


def slice_columns(by: Sequence[str]) -> dict[str, str]:
    """Return the names of the slice columns in the tables, by their names in rows with slices (`by.COLUMN`)."""
    return {f"{BY}{name}": f"slice_{name}" if name in _OWN else name for name in by}


def identity(rows: pl.DataFrame) -> tuple[str, ...]:
    """Return the columns that identify responses: if ids are unique, only the id, which survives renaming the log."""
    return ("item_id",) if rows["item_id"].is_unique().all() else RESPONSE


def to_label(rows: pl.DataFrame, by: Mapping[str, str], ids: Sequence[str], facts: Sequence[str]) -> pl.DataFrame:
    """Return the table of responses to label: slices (`by` is that of `slice_columns`), `ids`, `facts` and texts."""
    columns = {shown: pl.col(name) for name, shown in by.items()}
    for name in ids:
        columns.setdefault(name, pl.col(name))
    for name in (*facts, WEIGHT, QUESTION, "response"):
        columns[name] = pl.col(name)
    return rows.select(**columns, label=pl.lit(None, pl.Boolean))


def order_of(rows: pl.DataFrame, seed: int) -> pl.Series:
    """Return a pseudo-random number for each response, which does not depend on its position."""
    names = rows.select(identity(rows)).iter_rows()
    return pl.Series([drawn_number(f"{seed} {name}") for name in names], dtype=pl.UInt64)


def drawn_number(text: str) -> int:
    """Return a pseudo-random 64-bit number, the same for the same text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
