"""Estimate slices that have hardly any labels by people from a second opinion, or from a calibrated judge.

A second opinion counts raw: the share of the asked answers with which the other model agrees. It is an estimate of the
slices whose answers can be compared, unless labels show that the other model is not strong enough. Elsewhere the
judge's values count, calibrated by the labels of other slices. The errors of both are measured on the slices with
labels (`statistics.monitoring.requested_slices`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from entropy_sentinel.api.input_checks import WEIGHT
from entropy_sentinel.api.overlapping_samples import combine_weights
from entropy_sentinel.api.witness_reading import Witness
from entropy_sentinel.features.feature_registry import FEATURE_FRAME
from entropy_sentinel.formatting.text_format import format_count
from entropy_sentinel.judges.answer_matching import match_answers
from entropy_sentinel.monitor.alert_codes import AccuracyNote
from entropy_sentinel.monitor.labelling.label_corrected_estimates import prepare_labels
from entropy_sentinel.monitor.labelling.monitor_witnesses import LEAST_SHARE, require_weights
from entropy_sentinel.monitor.labelling.witness_support import PEOPLE, AskedWitness, describe_witness
from entropy_sentinel.monitor.monitor_options import FROM_JUDGE, FROM_MEAN, FROM_OPINION
from entropy_sentinel.monitor.monitor_result import name_slice
from entropy_sentinel.monitor.reading.dependence import CLUSTER
from entropy_sentinel.monitor.reading.window_times import find_window_starts
from entropy_sentinel.monitor.summing.monitor_state import State
from entropy_sentinel.monitor.summing.sum_merging import SliceTable
from entropy_sentinel.schemas.witness_schema import (
    ANSWER,
    COMPARABLE,
    LOGGED_RIGHT,
    PARTNER_RIGHT,
    RESPONSE_TEXT,
    SAMPLES,
    TARGET,
    VALUE,
)
from entropy_sentinel.statistics.monitoring.partner_strength import PartnerVerdict
from entropy_sentinel.statistics.monitoring.requested_slices import PRIOR, estimate_from_witness

# With fewer asked responses a row gets no estimate.
FEWEST_ASKED = 5
COLUMNS: dict[str, Any] = {
    "n_asked": pl.Int64,
    "asked_accuracy": pl.Float64,
    "asked_lower": pl.Float64,
    "asked_upper": pl.Float64,
    "asked_basis": pl.String,
    "asked_note": pl.String,
    "asked_note_codes": pl.List(pl.String),
    "witness": pl.String,
}
_OPTIONAL_COLUMNS = {
    "label": pl.Boolean,
    VALUE: pl.Float64,
    WEIGHT: pl.Float64,
    COMPARABLE: pl.Boolean,
    PARTNER_RIGHT: pl.Boolean,
    LOGGED_RIGHT: pl.Boolean,
}
_ORDER = (PartnerVerdict.STRONG, PartnerVerdict.UNCHECKED, PartnerVerdict.WEAK)


class _AskedEstimate(NamedTuple):
    """The values of COLUMNS for a row."""

    n_asked: int = 0
    accuracy: float | None = None
    lower: float | None = None
    upper: float | None = None
    basis: str | None = None
    note: str | None = None
    note_codes: tuple[str, ...] = ()
    witness: str | None = None


@dataclass(frozen=True)
class EstimatorPart:
    """What an estimator adds to rows of slices, NaN where it does not count.

    `accuracies`, (n_rows,), are its accuracies of the rows, with half the widths of their intervals, `half_widths`;
    `slice_accuracies`, (n_slices,), are those of whole slices. `is_needed`, (n_rows,), says which rows need another
    estimate.
    """

    accuracies: np.ndarray
    half_widths: np.ndarray
    slice_accuracies: np.ndarray
    is_needed: np.ndarray


class WitnessEstimates:
    """What several witnesses say of the slices of a run."""

    def __init__(
        self,
        state: State,
        witnesses: Sequence[Witness],
        labels: pl.DataFrame,
        merged: SliceTable,
        window: str | None,
        at_random: bool = False,
    ) -> None:
        """Match the rows of witnesses (judges or second models) with responses, and these with labels by people.

        Raises InputError if some responses of a witness have no weight and not all were asked about.
        """
        witnesses = [replace(witness, rows=_match_reference(witness.rows)) for witness in witnesses]
        people, key = prepare_labels(labels, "labels")
        people = people.select(*key, pl.col("label").alias(PEOPLE))
        parts: list[list[pl.DataFrame]] = [[] for _ in witnesses]
        untimed: list[pl.DataFrame] = []
        n_responses = 0
        for part in state.all_responses():
            n_responses += len(part)
            part = part.with_columns(
                slice=pl.Series(merged.number_slices(part), dtype=pl.Int64),
                window=find_window_starts(pl.col("grain"), window or "day"),
            ).join(people, on=key, how="left")
            untimed.append(part.filter(pl.col("grain").is_null()).group_by("slice").agg(n=pl.len()))
            for rows, witness in zip(parts, witnesses, strict=True):
                rows.append(_match_witness(part, witness))
        self._slices = merged.slices
        self._asked = [
            AskedWitness(witness, _combine_samples(pl.concat(rows), untimed), at_random)
            for witness, rows in zip(witnesses, parts, strict=True)
            if rows
        ]
        if not at_random:
            for asked in self._asked:
                if not asked.rows[WEIGHT].count() and len(asked.rows) < n_responses:
                    require_weights(asked.rows, f"judged: {asked.witness.name}")
        # Second opinions come first, those of strong models before others.
        self._asked.sort(key=lambda asked: _ORDER.index(asked.check.verdict) if asked.check else len(_ORDER))

    def estimate_slices(self, sizes: pl.DataFrame, estimator: EstimatorPart, level: float) -> pl.DataFrame:
        """COLUMNS for each slice; `sizes` has `n_estimated` and `n_effective` of each slice."""
        rows = sizes.select(slice=pl.int_range(pl.len()), window_from=None, window=None)
        return self._estimate_rows(rows, sizes, estimator, level, whole=True)

    def estimate_windows(
        self, rows: pl.DataFrame, sizes: pl.DataFrame, estimator: EstimatorPart, level: float
    ) -> pl.DataFrame:
        """COLUMNS for each row; rows have `slice`, the first (`window_from`) and last `window`."""
        return self._estimate_rows(rows.select("slice", "window_from", "window"), sizes, estimator, level, whole=False)

    @property
    def opinions(self) -> list[AskedWitness]:
        """The second opinions, those of strong models first."""
        return [asked for asked in self._asked if asked.is_opinion]

    def describe(self, accuracies: np.ndarray, sizes: np.ndarray) -> list[dict[str, Any]]:
        """What labels show of each witness (judge or second model), as dicts for JSON.

        `partial` are the slices that its answers do not represent. `accuracies`, (n_slices,), are an estimator's, NaN
        without one; `sizes`, (n_slices,), the numbers of responses.
        """
        described = []
        for asked in self._asked:
            partial = [
                name_slice(self._slices.row(number))
                for number in sorted(asked.estimable)
                if not _is_representative(asked.slices[number], int(sizes[number]), asked.at_random)
                or len(asked.slices[number]) < FEWEST_ASKED
            ]
            described.append(describe_witness(asked, accuracies) | {"partial": partial})
        return described

    def _estimate_rows(
        self, rows: pl.DataFrame, sizes: pl.DataFrame, estimator: EstimatorPart, level: float, whole: bool
    ) -> pl.DataFrame:
        """The COLUMNS of each row: the estimate of the first witness (judge or second model) that gives one.

        `rows` have `slice`, `window_from` and `window`, which do not count for `whole` slices; `sizes` have
        `n_estimated` and `n_effective` of each row.
        """
        estimates: list[_AskedEstimate] = []
        for place, (number, first, last) in enumerate(rows.iter_rows()):
            n, n_effective = sizes["n_estimated"][place], sizes["n_effective"][place]
            found = _AskedEstimate()
            for asked in self._asked:
                part = asked.slices.get(number)
                if part is not None and not whole:
                    part = _select_windows(part, first, last)
                if part is None or len(part) < FEWEST_ASKED:
                    continue
                found = found._replace(n_asked=max(found.n_asked, len(part)))
                if (
                    not estimator.is_needed[place]
                    or asked.is_refused
                    or not _is_representative(part, n, asked.at_random)
                ):
                    continue
                values = _estimate_row(
                    asked, number, part, n=n_effective, estimator=estimator, place=place, level=level
                )
                if values is not None:
                    found = values
                    break
            estimates.append(found)
        return pl.DataFrame(estimates, schema=COLUMNS, orient="row")


def _match_reference(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of a witness (judge or second model) with whether both answers match the reference; null without one."""
    texts = [name for name in (ANSWER, RESPONSE_TEXT, TARGET) if name in rows.columns]
    if len(texts) == 3:
        cases = rows.select(pl.col(texts).cast(pl.String)).rows()
        partner = [match_answers(answer, target) for answer, _, target in cases]
        logged = [match_answers(response, target) for _, response, target in cases]
        flags = {PARTNER_RIGHT: pl.Series(partner, dtype=pl.Boolean), LOGGED_RIGHT: pl.Series(logged, dtype=pl.Boolean)}
        rows = rows.with_columns(**flags)
    return rows.drop(texts)


def _match_witness(part: pl.DataFrame, witness: Witness) -> pl.DataFrame:
    """The responses of a part that the witness (judge or second model) has, with what it says of them."""
    key, rows = witness.key, witness.rows
    absent = [pl.lit(None, dtype).alias(name) for name, dtype in _OPTIONAL_COLUMNS.items() if name not in rows.columns]
    rows = rows.with_columns(absent).select(
        *key, *(pl.col(name).cast(dtype) for name, dtype in _OPTIONAL_COLUMNS.items())
    )
    if witness.samples is not None:
        rows = rows.join(witness.samples, on=key, how="left", maintain_order="left")
    rows = rows.cast({name: FEATURE_FRAME.schema[name] for name in key})
    return part.select("slice", "window", "grain", CLUSTER, PEOPLE, *key).join(rows, on=key).drop(key)


def _combine_samples(asked: pl.DataFrame, untimed: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The responses that a witness (judge or second model) has with the weights of all its samples together."""
    if SAMPLES not in asked.columns:
        return asked
    n_untimed = pl.concat(untimed).group_by("slice").agg(pl.col("n").sum())
    return combine_weights(asked, SAMPLES, WEIGHT, n_untimed).drop(SAMPLES)


def _select_windows(part: pl.DataFrame, first: datetime | None, last: datetime | None) -> pl.DataFrame:
    """The responses from the first to the last window; those without a time if these are null."""
    window = pl.col("window")
    return part.filter(window.is_null() if last is None else window.is_between(first, last))


def _is_representative(part: pl.DataFrame, n: int, at_random: bool) -> bool:
    """Whether the asked responses represent all `n` of a row, and not only some of their time."""
    weights = part[WEIGHT]
    if at_random or not weights.count():
        return True
    return bool(weights.sum() >= LEAST_SHARE * n)


def _estimate_row(
    asked: AskedWitness,
    number: int,
    part: pl.DataFrame,
    n: float,
    estimator: EstimatorPart,
    place: int,
    level: float,
) -> _AskedEstimate | None:
    """The values of COLUMNS; null if the witness (judge or second model) gives no estimate of the slice.

    `part` are the responses of slice `number` about which the witness was asked, `n` is the effective number of all,
    and `place` the position of the row in what the estimator adds.
    """
    estimated = float(estimator.accuracies[place])
    alone = np.full(len(estimator.slice_accuracies), np.nan)  # no accuracies to average with
    one = asked.describe_slice(number, part, n, estimated)
    if one is None:
        return None
    averaged = not np.isnan(estimated)
    errors = asked.errors(estimator.slice_accuracies if averaged else alone)
    if averaged and len(errors.errors) < PRIOR.freedom:
        # The errors of the mean are unknown, but at most the mean of both errors.
        errors = asked.errors(alone)
        accuracy = estimate_from_witness(one._replace(estimated=None), errors, level)
        if accuracy is not None:
            accuracy = accuracy.average(estimated, float(estimator.half_widths[place]))
    else:
        accuracy = estimate_from_witness(one, errors, level)
    if accuracy is None:
        return None
    basis_of_witness = FROM_OPINION if asked.is_opinion else FROM_JUDGE
    basis = FROM_MEAN if averaged else basis_of_witness
    name = asked.witness.name if asked.is_opinion else f"{asked.witness.name}, calibrated"
    notes = _collect_notes(asked, len(errors.errors))
    return _AskedEstimate(
        n_asked=len(part),
        accuracy=accuracy.estimate,
        lower=accuracy.lower,
        upper=accuracy.upper,
        basis=basis,
        note="; ".join(notes.values()) or None,
        note_codes=tuple(code.number for code in notes),
        witness=name,
    )


def _collect_notes(asked: AskedWitness, n_slices: int) -> dict[AccuracyNote, str]:
    """The notes, by code, about an estimate that labels have not checked, or hardly: on `n_slices` slices."""
    notes = {}
    if asked.check is not None and asked.check.verdict == PartnerVerdict.UNCHECKED:
        notes[AccuracyNote.PARTNER_UNCHECKED] = AccuracyNote.PARTNER_UNCHECKED.words
    if not n_slices:
        code = AccuracyNote.ASSUMED_ERRORS
        notes[code] = f"{code.words}, so the interval assumes errors of {PRIOR.scale:.2f}"
    elif n_slices < PRIOR.freedom:
        slices = format_count(n_slices, "slice")
        notes[AccuracyNote.FEW_ERRORS] = (
            f"only {slices} with labels show its errors, so the interval rests mostly on an assumption"
        )
    return notes
