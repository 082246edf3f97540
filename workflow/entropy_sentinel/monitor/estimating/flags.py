"""What speaks against the numbers of a slice: flags, each with its reason as a sentence."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.estimators.saved import SavedEstimator
from entropy_sentinel.estimators.verdict import USABLE
from entropy_sentinel.frames.numbers import counted
from entropy_sentinel.monitor.catalogue import STATISTICS
from entropy_sentinel.monitor.estimating.recent import Recent
from entropy_sentinel.monitor.reading.excluding import overridden
from entropy_sentinel.monitor.summing.merging import Merged
from entropy_sentinel.monitor.summing.scoring import support_of
from entropy_sentinel.monitor.summing.sums import Sums
from entropy_sentinel.statistics.ambiguity import why_ambiguous

# Flags of a slice, beside those of statistics (`monitor.catalogue`).
FEW, OUTSIDE, EXCLUDED, POOLED, STALE = "few responses", "outside support", "excluded", "pooled", "stale"
AMBIGUOUS = "ambiguous"
# Flags of all slices, which the estimator or the user has brought.
CAUTION, NO_SUPPORT, OVERRIDDEN = "training accuracy", "support unknown", "overridden"
NO_VALIDATION = "no validation"
# Above this share of responses that are cut off, or without an estimate, the rest does not stand for the slice.
LARGEST_SHARE = 0.1

# Flags with their reasons.
Reasons = dict[str, str]


class Flags:
    """Flags of slices by one estimator; `general` are those of all slices."""

    def __init__(self, saved: SavedEstimator, min_responses: int, taken: Mapping[str, int]) -> None:
        """`taken` counts responses by what they are of and the estimator is not."""
        self._support, self._few = support_of(saved.about), min_responses
        self.general = general_flags(saved, taken)

    def of(self, rows: pl.DataFrame, sums: Sums, notes: Sequence[Reasons]) -> list[Reasons]:
        """Of each row all flags; `notes` are those that are known of it."""
        outside = self._outside(sums, rows["estimated_accuracy"].fill_null(np.nan).to_numpy())
        return [
            self._own(row, questions) | note | self.general | ({OUTSIDE: why} if why else {})
            for row, questions, note, why in zip(
                rows.iter_rows(named=True), sums.of_questions, notes, outside, strict=True
            )
        ]

    def _own(self, row: Mapping[str, Any], questions: tuple[int, int]) -> Reasons:
        """Flags that a row's numbers show; of its `questions` so many look ambiguous, and could."""
        found = {}
        if row["n_estimated"] < self._few:
            found[FEW] = f"{counted(row['n_estimated'], 'response')} with an estimate, fewer than {self._few}"
        for one in STATISTICS.values():
            if one.flag and (row[one.name] or 0) > LARGEST_SHARE:
                found[one.flag] = f"{row[one.name]:.0%} of the responses {one.flagged}"
        if row["n_excluded"] > LARGEST_SHARE * row["n_responses"]:
            found[EXCLUDED] = f"{row['n_excluded']:,} of {row['n_responses']:,} responses could not be estimated"
        if why := why_ambiguous(*questions):
            found[AMBIGUOUS] = why
        return found

    def _outside(self, sums: Sums, accuracy: np.ndarray) -> list[str | None]:
        """Why each slice is outside of what the estimator has seen, or null."""
        if self._support is None:
            return [None] * len(sums)
        found = self._support.flags(sums.histogram, accuracy)
        return [why if n >= self._few else None for n, why in zip(sums.n_estimated, found, strict=True)]


def notes_of_slices(merged: Merged, recent: Recent | None, few: int) -> list[Reasons]:
    """What is known of slices whatever their numbers: which pools others, and which are stale."""
    notes = notes_of(merged, np.arange(len(merged.slices)))
    if recent is not None:
        for place in np.flatnonzero(recent.stale):
            notes[place][STALE] = (
                f"since the window of {recent.last_usable[place]:%Y-%m-%d %H:%M} there were fewer than {few} "
                "responses: nothing is known of it now"
            )
    return notes


def notes_of(merged: Merged, slices: np.ndarray) -> list[Reasons]:
    """What to say of rows of the slice that pools others; `slices` (n,) are row numbers of `Merged.slices`."""
    said = {POOLED: f"{merged.n_pooled:,} smaller slices together"}
    return [dict(said) if merged.n_pooled and one == len(merged.slices) - 1 else {} for one in slices]


def general_flags(saved: SavedEstimator, taken: Mapping[str, int]) -> Reasons:
    """Flags of all numbers of an estimator, with their reasons; `taken` counts responses of something else."""
    found, about, validation = {}, saved.about, saved.validation
    if about.get("caution"):
        found[CAUTION] = about["caution"]
    if taken:
        found[OVERRIDDEN] = overridden(about, taken)
    elif validation is None:
        found[NO_VALIDATION] = "the estimator's file does not say how far it is off on new domains: fit it again"
    elif validation.verdict != USABLE:
        found[validation.verdict] = "; ".join(validation.reasons)
    if not about.get("support"):
        found[NO_SUPPORT] = "the estimator's file does not say what its training rows were like: fit it again"
    return found
