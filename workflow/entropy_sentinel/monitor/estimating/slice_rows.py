"""Make a row per slice, or per slice and window: the estimated accuracy, its interval, flags and rank."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.estimators.familiarity import residuals_if_unfamiliar
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.estimators.verdict import RANKING, TOO_FEW
from entropy_sentinel.monitor.estimating.change_test import adjust_p_values, compute_p_value
from entropy_sentinel.monitor.estimating.flags import Reasons, SliceFlagger, note_pooled_slices, note_slices
from entropy_sentinel.monitor.labelling.accuracy_choice import (
    add_chosen_accuracy,
    add_expected_errors,
    is_reliable,
    use_asked_accuracy,
)
from entropy_sentinel.monitor.labelling.label_corrected_estimates import LabelledResponses
from entropy_sentinel.monitor.labelling.witness_estimates import EstimatorPart, WitnessEstimates
from entropy_sentinel.monitor.monitor_options import Reference
from entropy_sentinel.monitor.slice_columns import CATALOGUE, FLAG_COLUMNS, STATISTICS
from entropy_sentinel.monitor.summing.slice_sums import SliceSums
from entropy_sentinel.monitor.summing.sum_merging import ONLY_TESTED, RecentWindows, SliceTable
from entropy_sentinel.statistics.ambiguity import estimate_ambiguous_share
from entropy_sentinel.statistics.design_effects import ClusterMoments
from entropy_sentinel.statistics.monitoring.requested_slices import FEWEST_LABELS
from entropy_sentinel.statistics.slice_intervals import ASSUMED, PREDICTIVE, SAME_MODEL_WIDENING, Residuals

# The percentiles of numbers.
PERCENTILES = (50, 95)
# With these verdicts an estimate is averaged with that of a witness. It may be good (too few domains to say), or its
# level is wrong by an error like that of the witness (ranking only); with `do not use` it would make the mean worse.
_AVERAGED_VERDICTS = (RANKING, TOO_FEW)


class SliceRowMaker:
    """Makes the rows of slices from their sums, for one estimator."""

    def __init__(
        self,
        saved: FittedEstimator,
        level: float,
        min_responses: int,
        override_counts: Mapping[str, int],
        numbers: Sequence[str] = (),
        has_cluster_column: bool = False,
    ) -> None:
        """Set the `level` of the intervals; slices with fewer than `min_responses` responses are flagged.

        `override_counts` counts the responses that do not match the estimator, by kind: its validation does not apply
        to their slices. `numbers` are the columns whose quantiles the rows have. Without a cluster column, the clusters
        are repeated questions, whose answers count as right or wrong together.
        """
        self._has_cluster_column = has_cluster_column
        self._numbers = numbers
        self._estimator, self._level, self._min_responses = saved.estimator, level, min_responses
        validation, n_domains = saved.validation, max(len(saved.metadata.domains), 1)
        self._unvalidated = Residuals((), (), (), n_domains)
        self._residuals = validation.residuals if validation else self._unvalidated
        self._usable = is_reliable(saved)
        self._is_averaged = validation is not None and validation.verdict in _AVERAGED_VERDICTS
        # The errors on labelled domains say nothing about a slice that is unlike all of them.
        self._unfamiliar = residuals_if_unfamiliar(n_domains)
        self._flags = SliceFlagger(saved, min_responses, override_counts)

    def general_flags(self, sums: SliceSums) -> Reasons:
        """The flags that all slices have, with their reasons, from the `sums` of every slice."""
        return self._flags.select_general(sums)

    def make_slice_rows(
        self,
        merged: SliceTable,
        labelled: LabelledResponses | None = None,
        recent: RecentWindows | None = None,
        witnesses: WitnessEstimates | None = None,
    ) -> pl.DataFrame:
        """One row per slice, sorted by rank; `change` is from the reference to the responses after it."""
        notes = note_slices(merged, recent, self._min_responses)
        moments = merged.clusters.measure_rows(pl.DataFrame({"slice": range(len(merged.slices))}))
        frame = pl.concat([merged.slices, self._make_rows(merged.total, moments, notes)], how="horizontal")
        effects = merged.since_clusters.robust_effect, merged.before_clusters.robust_effect
        frame = self._add_change(frame, merged.since, merged.before, effects)
        label_columns = None if labelled is None else labelled.make_slice_columns(self._level)
        frame = self._add_labels(frame, label_columns, merged.total)
        if witnesses is not None:
            part = self._make_estimator_part(frame, merged.total, merged)
            frame = use_asked_accuracy(frame, witnesses.estimate_slices(frame, part, self._level))
        return add_rank(self._add_expected_errors(frame))

    def describe_witnesses(self, merged: SliceTable, witnesses: WitnessEstimates) -> list[dict[str, Any]]:
        """What labels show of each witness (judge or second model) as an estimate, beside the estimator; as JSON."""
        return witnesses.describe(self._compute_accuracy(merged.total), merged.total.n_estimated)

    def make_window_rows(
        self,
        merged: SliceTable,
        rows: pl.DataFrame,
        sums: SliceSums,
        reference: Reference | None,
        labelled: LabelledResponses | None,
        test_changes: bool = True,
        witnesses: WitnessEstimates | None = None,
    ) -> pl.DataFrame:
        """One row per slice and window, by window and rank; only windows after the reference have a `change`.

        Without `test_changes` its p and q are null. `rows` (n,) has `slice` (a row number of `merged.slices`) and
        the first and last window (`window_from` and `window`); `sums` (n,) are the sums of these rows.
        """
        slice_ = rows["slice"].to_numpy()
        moments = merged.clusters.measure_rows(rows)
        numbers = self._make_rows(sums, moments, note_pooled_slices(merged, slice_))
        frame = pl.concat([merged.slices[slice_], rows.drop("slice"), numbers], how="horizontal")
        is_later = np.zeros(len(frame), dtype=bool)
        if reference is not None:
            is_later = (frame["window_from"] >= reference.end).fill_null(False).to_numpy()
        effects = moments.robust_effect, merged.before_clusters.select(slice_).robust_effect
        frame = self._add_change(frame, sums, merged.before.select(slice_), effects, is_later, test_changes)
        label_columns = None if labelled is None else labelled.make_window_columns(rows, self._level)
        frame = self._add_labels(frame, label_columns, sums)
        if witnesses is not None:
            part = self._make_estimator_part(frame, sums, merged)
            frame = use_asked_accuracy(frame, witnesses.estimate_windows(rows, frame, part, self._level))
        if ONLY_TESTED in frame.columns:
            frame = frame.filter(~pl.col(ONLY_TESTED)).drop(ONLY_TESTED)
        return add_rank(self._add_expected_errors(frame), "window")

    def _make_rows(self, sums: SliceSums, moments: ClusterMoments, notes: list[Reasons]) -> pl.DataFrame:
        """A row per slice of `sums` with its estimate, interval and flags.

        `moments` tell the design effects of dependent responses, and `notes` are further flags of each slice.
        """
        n, accuracy = sums.n_estimated, self._compute_accuracy(sums)
        # Estimates of repeated questions differ less than their answers: these are right or wrong together.
        effect = moments.robust_effect if self._has_cluster_column else moments.counts_effect
        n_effective = n / effect
        unfamiliar = self._flags.explain_unfamiliar(sums)
        unlike = np.array([why is not None for why in unfamiliar], dtype=bool)
        # Which errors the interval of each slice rests on: 0 those of the validation, 1 none, 2 those assumed of
        # unfamiliar slices.
        residuals_number = np.where(unlike, 2, np.where(self._flags.find_overridden(sums), 1, 0))
        lower, upper, worth = np.full((3, len(n)), np.nan)
        basis = np.full(len(n), None, dtype=object)
        for number, residuals in enumerate((self._residuals, self._unvalidated, self._unfamiliar)):
            has_residuals = (residuals_number == number) & ~np.isnan(accuracy)
            intervals = residuals.intervals(accuracy[has_residuals], n_effective[has_residuals], self._level)
            lower[has_residuals], upper[has_residuals] = intervals.lower, intervals.upper
            worth[has_residuals] = residuals.effective_sample_size(accuracy[has_residuals])
            basis[has_residuals] = intervals.basis
        is_same_model = (residuals_number == 0) & (sums.sum_of("n_same_model") > 0)
        lower[is_same_model] = np.maximum(accuracy - SAME_MODEL_WIDENING * (accuracy - lower), 0)[is_same_model]
        upper[is_same_model] = np.minimum(accuracy + SAME_MODEL_WIDENING * (upper - accuracy), 1)[is_same_model]
        worth[is_same_model] /= SAME_MODEL_WIDENING**2
        basis[is_same_model & (basis == PREDICTIVE)] = ASSUMED
        conformal = self._residuals.conformal_intervals(accuracy, n_effective, self._level)
        ambiguous = [estimate_ambiguous_share(*counts) for counts in sums.question_counts]
        frame = pl.DataFrame(
            {
                **{name: sums.compute_column(statistic) for name, statistic in STATISTICS.items()},
                "n_excluded": sums.n_responses - n,
                "n_effective": n_effective,
                "ambiguous_lower": [interval.lower for interval in ambiguous],
                "ambiguous_upper": [interval.upper for interval in ambiguous],
                "estimated_accuracy": accuracy,
                "lower": lower,
                "upper": upper,
                "level": np.full(len(n), self._level),
                "basis": pl.Series(basis.tolist(), dtype=pl.String),
                "conformal_lower": np.where((residuals_number > 0) | is_same_model, np.nan, conformal.lower),
                "conformal_upper": np.where((residuals_number > 0) | is_same_model, np.nan, conformal.upper),
                "estimate_worth": worth,
                "expected_errors": n * (1 - accuracy),
                "expected_errors_lower": n * (1 - upper),
                "expected_errors_upper": n * (1 - lower),
            }
        ).fill_nan(None)
        frame = frame.select(name for name in CATALOGUE if name in frame.columns)
        for place, name in enumerate(self._numbers):
            for percent in PERCENTILES:  # such as metadata.latency_p95
                quantile = pl.Series(f"{name}_p{percent}", sums.quantile(place, percent / 100))
                frame = frame.with_columns(quantile.fill_nan(None))
        reasons = self._flags.flag_rows(frame, sums, unfamiliar, notes)
        return frame.with_columns(
            flags=_make_text_lists([tuple(flag.words for flag in flags) for flags in reasons]),
            reasons=_make_text_lists([tuple(flags.values()) for flags in reasons]),
            flag_codes=_make_text_lists([tuple(flag.number for flag in flags) for flags in reasons]),
        )

    def _add_labels(self, frame: pl.DataFrame, label_columns: pl.DataFrame | None, sums: SliceSums) -> pl.DataFrame:
        """Add the columns of labels and the accuracy to use, if there are labels."""
        if label_columns is None:
            return frame
        _, is_reliable = self._find_reliable(sums)
        residuals = [self._residuals if reliable else None for reliable in is_reliable]
        return add_chosen_accuracy(pl.concat([frame, label_columns], how="horizontal"), residuals, self._level)

    def _add_expected_errors(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Add the expected errors that follow from the accuracy to use, if no estimate gives them."""
        if self._estimator.has_estimates or "use_accuracy" not in frame.columns:
            return frame
        return add_expected_errors(frame)

    def _make_estimator_part(self, frame: pl.DataFrame, sums: SliceSums, merged: SliceTable) -> EstimatorPart:
        """What the estimator adds to a witness (judge or second model), and which rows need a witness.

        A row needs one if its estimate cannot be relied on and it has hardly any labels.
        """
        is_familiar, is_reliable = self._find_reliable(sums)
        accuracy = pl.col("estimated_accuracy")
        # Labels of only a part of the slice do not tell its accuracy.
        has_labels = (frame["n_labelled"] >= FEWEST_LABELS) & frame["improved_accuracy"].is_not_null()
        needs_witness = ~is_reliable & ~has_labels.to_numpy()
        is_slice_familiar = is_familiar if sums is merged.total else self._find_reliable(merged.total)[0]
        return EstimatorPart(
            np.where(is_familiar & self._is_averaged, self._compute_accuracy(sums), np.nan),
            # An interval may end at 0 or 1, so the longer side counts.
            frame.select(pl.max_horizontal(accuracy - pl.col("lower"), pl.col("upper") - accuracy))
            .to_series()
            .to_numpy(),
            np.where(is_slice_familiar & self._is_averaged, self._compute_accuracy(merged.total), np.nan),
            needs_witness,
        )

    def _find_reliable(self, sums: SliceSums) -> tuple[np.ndarray, np.ndarray]:
        """Where the validation is about the responses, and where their estimates may be used, (n,) each."""
        is_other_model = self._flags.find_overridden(sums) | (sums.sum_of("n_same_model") > 0)
        has_no_reason = np.array([why is None for why in self._flags.explain_unfamiliar(sums)], dtype=bool)
        is_familiar = has_no_reason & ~is_other_model
        return is_familiar, is_familiar & self._usable

    def _compute_accuracy(self, sums: SliceSums) -> np.ndarray:
        """The estimated accuracy of each slice, (n,); NaN without a response."""
        accuracy = np.full(len(sums), np.nan)
        has_estimate = sums.n_estimated > 0
        if has_estimate.any():
            accuracy[has_estimate] = self._estimator.accuracies_of(sums.select(has_estimate).mean())
        return accuracy

    def _add_change(
        self,
        frame: pl.DataFrame,
        current: SliceSums,
        reference: SliceSums,
        effects: tuple[np.ndarray, np.ndarray],
        is_later: np.ndarray | None = None,
        test: bool = True,
    ) -> pl.DataFrame:
        """Add `change`; its p, null if a side has too few responses; and its q over all slices (of the window).

        `current` and `reference` are the sums of each row's two sides, and `effects` their design effects, (n,) each.
        `is_later`, (n,), says which rows may have a change (by default all); without `test` p and q are null.
        """
        n_now, n_then = current.n_estimated, reference.n_estimated
        smaller = np.minimum(n_now, n_then)
        compared = (smaller > 0) & (True if is_later is None else is_later)
        change = np.where(compared, self._compute_accuracy(current) - self._compute_accuracy(reference), np.nan)
        p = np.full(len(frame), np.nan)
        for row in np.flatnonzero(~np.isnan(change) & (smaller >= max(self._min_responses, 2)) & test):
            after = n_now[row], current.values[row], current.products[row]
            before = n_then[row], reference.values[row], reference.products[row]
            row_effects = float(effects[0][row]), float(effects[1][row])
            p[row] = compute_p_value(self._estimator.accuracies_of, after, before, row_effects)
        windows = np.zeros(len(frame)) if is_later is None else frame["window"].rank("dense").fill_null(0).to_numpy()
        q = np.full(len(frame), np.nan)
        for window in np.unique(windows):
            q[windows == window] = adjust_p_values(p[windows == window])
        return frame.with_columns(
            pl.Series("change", change), pl.Series("change_p", p), pl.Series("change_q", q)
        ).with_columns(pl.col("change", "change_p", "change_q").fill_nan(None))


def _make_text_lists(rows: Sequence[tuple[str, ...]]) -> pl.Series:
    """Lists of texts, (n,); equal lists share their texts, because a verdict's reasons are long."""
    places = {texts: place for place, texts in enumerate(dict.fromkeys(rows))}
    distinct = pl.Series([list(texts) for texts in places], dtype=pl.List(pl.String))
    return distinct.gather([places[texts] for texts in rows])


def add_rank(frame: pl.DataFrame, window: str | None = None) -> pl.DataFrame:
    """Add `rank` (1 for the most expected errors, within a window if given), and sort by it."""
    rank = (-pl.col("expected_errors")).rank("ordinal").cast(pl.Int64)
    frame = frame.with_columns(rank=rank.over(window) if window else rank)
    last = ["rank", *FLAG_COLUMNS, *(name for name in ("note_codes",) if name in frame.columns)]
    frame = frame.select(pl.exclude(last), *last)
    return frame.sort([window, "rank"] if window else ["rank"], nulls_last=True, maintain_order=True)
