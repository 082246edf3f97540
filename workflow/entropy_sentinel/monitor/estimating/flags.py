"""Flag the numbers of slices, with reasons."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.estimators.verdict import NO_USE, RANKING, TOO_FEW, USABLE
from entropy_sentinel.formatting.text_format import format_count
from entropy_sentinel.monitor.alert_codes import Flag, FlagCode
from entropy_sentinel.monitor.reading.problem_collection import describe_overrides
from entropy_sentinel.monitor.slice_columns import STATISTICS
from entropy_sentinel.monitor.summing.slice_sums import SliceSums
from entropy_sentinel.monitor.summing.sum_merging import RecentWindows, SliceTable
from entropy_sentinel.statistics.ambiguity import explain_ambiguity

# The flags of verdicts other than `usable`.
VERDICT_FLAGS = {RANKING: Flag.RANKING_ONLY, NO_USE: Flag.DO_NOT_USE, TOO_FEW: Flag.TOO_FEW_DOMAINS}
# If a larger share of the responses is truncated, or has no estimate, the rest does not represent the slice.
LARGEST_SHARE = 0.1

# Flags with their reasons.
Reasons = dict[FlagCode, str]


class SliceFlagger:
    """Flags slices for one estimator; `general` holds the flags of all slices whose responses match it."""

    def __init__(self, saved: FittedEstimator, min_responses: int, override_counts: Mapping[str, int]) -> None:
        """Flag slices with fewer than `min_responses` responses.

        `override_counts` counts responses whose model or log-probabilities do not match the estimator, by kind.
        """
        self._min_responses = min_responses
        self._support = saved.metadata.support
        self._familiarity = saved.metadata.familiarity
        self._model = saved.metadata.model
        self._has_estimates = saved.has_estimates
        self._has_overrides = bool(override_counts)
        self.general = find_general_flags(saved)
        self._general_overridden = find_general_flags(saved, override_counts)

    def find_overridden(self, sums: SliceSums) -> np.ndarray:
        """Whether the estimator's validation does not apply to each slice, (n,), because responses differ."""
        n_overridden = np.nan_to_num(sums.sum_of("n_overridden"), nan=1.0)  # an unknown number may be one
        return n_overridden > 0 if self._has_overrides else np.zeros(len(sums), dtype=bool)

    def select_general(self, sums: SliceSums) -> Reasons:
        """The flags that all slices have, with their reasons; `sums` (n,) are those of all slices."""
        return self._general_overridden if self.find_overridden(sums).all() else self.general

    def explain_unfamiliar(self, sums: SliceSums) -> list[str | None]:
        """Why each slice is unlike all labelled domains, or null."""
        return [None] * len(sums) if self._familiarity is None else self._familiarity.flags(sums.words)

    def flag_rows(
        self, rows: pl.DataFrame, sums: SliceSums, unfamiliar: Sequence[str | None], notes: Sequence[Reasons]
    ) -> list[Reasons]:
        """All flags of each row, with their reasons.

        `unfamiliar` says why a row is unlike all labelled domains, and `notes` are its flags that do not depend on its
        numbers.
        """
        outside = self._explain_outside(sums, rows["estimated_accuracy"].fill_null(np.nan).to_numpy())
        questions, is_overridden = sums.question_counts, self.find_overridden(sums)
        row_flags: list[Reasons] = []
        for number, row in enumerate(rows.iter_rows(named=True)):
            flags: Reasons = {}
            if unlike := unfamiliar[number]:
                flags[Flag.UNFAMILIAR] = unlike
            flags |= self._flag_numbers(row, questions[number])
            flags |= notes[number]
            flags |= self._general_overridden if is_overridden[number] else self.general
            if why := outside[number]:
                flags[Flag.OUTSIDE_SUPPORT] = why
            row_flags.append(flags)
        return row_flags

    def _flag_numbers(self, row: Mapping[str, Any], questions: tuple[int, int]) -> Reasons:
        """The flags from a row's numbers; `questions` are the numbers of ambiguous questions and of all."""
        flags: Reasons = {}
        if row["n_estimated"] < self._min_responses:
            kind = " with an estimate" if self._has_estimates else ""
            flags[Flag.FEW_RESPONSES] = (
                f"{format_count(row['n_estimated'], 'response')}{kind}, fewer than {self._min_responses}"
            )
        for statistic in STATISTICS.values():
            if statistic.flag and (row[statistic.name] or 0) > LARGEST_SHARE:
                flags[statistic.flag_code] = f"{row[statistic.name]:.0%} of the responses {statistic.flagged}"
        if row["n_excluded"] > LARGEST_SHARE * row["n_responses"]:
            problem = "could not be estimated" if self._has_estimates else "have no answer"
            flags[Flag.EXCLUDED] = f"{row['n_excluded']:,} of {row['n_responses']:,} responses {problem}"
        if n_same := row["n_same_model"]:
            flags[Flag.SAME_MODEL] = (
                f"{n_same:,} of {format_count(row['n_estimated'], 'response')} are of a model that counts as "
                f"'{self._model}' ({format_option('same_model')}), so the interval rests on this assumption"
            )
        if why := explain_ambiguity(*questions):
            flags[Flag.AMBIGUOUS] = why
        return flags

    def _explain_outside(self, sums: SliceSums, accuracy: np.ndarray) -> list[str | None]:
        """Why each slice is outside the estimator's training data, or null; `accuracy` is (n_slices,)."""
        if self._support is None:
            return [None] * len(sums)
        reasons: list[str | None] = [None] * len(sums)
        enough = np.flatnonzero(sums.n_estimated >= self._min_responses)  # the numbers of slices
        for place, why in zip(enough, self._support.flags(sums.histogram[enough], accuracy[enough]), strict=True):
            reasons[place] = why
        return reasons


def note_slices(merged: SliceTable, recent: RecentWindows | None, min_responses: int) -> list[Reasons]:
    """The flags of each slice that do not depend on its numbers: whether it pools others, and whether it is stale."""
    notes = note_pooled_slices(merged, np.arange(len(merged.slices)))
    if recent is not None:
        for place in np.flatnonzero(recent.stale):
            notes[place][Flag.STALE] = (
                f"fewer than {min_responses} responses since the window of {recent.last_usable[place]:%Y-%m-%d %H:%M}: "
                "its accuracy is now unknown"
            )
    return notes


def note_pooled_slices(merged: SliceTable, slices: np.ndarray) -> list[Reasons]:
    """The flags of each row, empty unless its slice contains others; `slices`, (n,), are the rows' slice numbers."""
    notes: list[Reasons] = [{} for _ in slices]
    if merged.n_pooled:  # the last slice contains the others
        for place in np.flatnonzero(slices == len(merged.slices) - 1):
            notes[place][Flag.POOLED] = f"contains {merged.n_pooled:,} smaller slices"
    return notes


def find_general_flags(saved: FittedEstimator, override_counts: Mapping[str, int] | None = None) -> Reasons:
    """The flags that apply to all slices, with reasons: about the estimator and its validation.

    `override_counts` counts responses that do not match the estimator, by kind; its validation does not apply to them.
    """
    flags: Reasons = {}
    if not saved.has_estimates:
        return flags
    metadata, validation = saved.metadata, saved.validation
    if metadata.caution:
        flags[Flag.TRAINING_ACCURACY] = metadata.caution
    if override_counts:
        flags[Flag.OVERRIDDEN] = describe_overrides(metadata, override_counts)
    elif validation is None:
        flags[Flag.NO_VALIDATION] = "the estimator's file lacks its errors on new domains; fit it again"
    elif validation.verdict != USABLE:
        flags[VERDICT_FLAGS[validation.verdict]] = "; ".join(validation.reasons)
    if metadata.support is None:
        flags[Flag.SUPPORT_UNKNOWN] = "the estimator's file lacks a description of its training rows; fit it again"
    return flags
