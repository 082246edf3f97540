"""A row per slice, or per slice and window: the estimated accuracy, its interval, what speaks against it, its rank."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.estimators.saved import SavedEstimator
from entropy_sentinel.estimators.validation import Validation
from entropy_sentinel.estimators.verdict import USABLE
from entropy_sentinel.monitor.estimating.change import adjusted, p_of_change
from entropy_sentinel.monitor.estimating.recent import Recent
from entropy_sentinel.monitor.labelling.labelled import Labelled, with_reading
from entropy_sentinel.monitor.reading.settings import Reference
from entropy_sentinel.monitor.summing.merging import Merged
from entropy_sentinel.monitor.summing.scoring import support_of
from entropy_sentinel.monitor.summing.sums import Sums
from entropy_sentinel.statistics.intervals import Residuals

# Flags of a slice, and what they mean.
FEW, OUTSIDE, CUT_OFF, EXCLUDED, POOLED = "few responses", "outside support", "cut off", "excluded", "pooled"
STALE = "stale"
# Flags of all slices, which the estimator or the user has brought.
CAUTION, NO_SUPPORT, OVERRIDDEN = "training accuracy", "support unknown", "overridden"
NO_CARD = "no validation card"
# Above this share of responses that are cut off, or without an estimate, the rest does not stand for the slice.
LARGEST_SHARE = 0.1


class Estimates:
    """Rows of slices, from their sums, by one estimator."""

    def __init__(self, saved: SavedEstimator, level: float, min_responses: int, taken: Mapping[str, int]) -> None:
        """Intervals are of `level`; a slice of fewer than `min_responses` has few.

        `taken` counts responses by what they are of and the estimator is not.
        """
        self._estimator, self._level, self._few = saved.estimator, level, min_responses
        self._support = support_of(saved.about)
        self._card = Validation.from_dict(saved.about["validation"]) if saved.about.get("validation") else None
        self._residuals = self._card.residuals if self._card else Residuals((), (), (), _n_domains(saved.about))
        self.general = _general(saved.about, self._card, taken)

    def of_slices(self, merged: Merged, labelled: Labelled | None = None, recent: Recent | None = None) -> pl.DataFrame:
        """One row per slice, in the order of rank; `change` is from the reference to what came after it."""
        notes = self._pooled(merged, np.arange(len(merged.slices)))
        for place in np.flatnonzero(recent.stale) if recent is not None else ():
            notes[place][STALE] = (
                f"since the window of {recent.last_usable[place]:%Y-%m-%d %H:%M} there were fewer than {self._few} "
                "responses: nothing is known of it now"
            )
        frame = pl.concat([merged.slices, self._rows(merged.total, notes)], how="horizontal")
        frame = self._with_change(frame, merged.since, merged.before)
        more = None if labelled is None else labelled.of_slices(self._level)
        return _ranked(_labelled(frame, more))

    def of_windows(
        self, merged: Merged, reference: Reference | None, labelled: Labelled | None = None
    ) -> pl.DataFrame | None:
        """One row per slice and window, by window and rank; `change` is of windows that begin after the reference."""
        if merged.windows is None:
            return None
        rows = merged.windows.with_columns(window_from="window")
        frame = self._of_rows(merged, rows, merged.of_windows, reference, labelled)
        return frame.drop("window_from")

    def of_recent(
        self, merged: Merged, recent: Recent, reference: Reference | None, labelled: Labelled | None = None
    ) -> pl.DataFrame:
        """One row per slice and newest window, with the windows before it where it is thin; by window and rank."""
        return self._of_rows(merged, recent.rows, recent.sums, reference, labelled)

    def _of_rows(
        self, merged: Merged, rows: pl.DataFrame, sums: Sums, reference: Reference | None, labelled: Labelled | None
    ) -> pl.DataFrame:
        slice_ = rows["slice"].to_numpy()
        made = self._rows(sums, self._pooled(merged, slice_))
        frame = pl.concat([merged.slices[slice_], rows.drop("slice"), made], how="horizontal")
        later = np.zeros(len(frame), dtype=bool)
        if reference is not None:
            later = (frame["window_from"] >= reference.end).fill_null(False).to_numpy()
        frame = self._with_change(frame, sums, merged.before.rows(slice_), later)
        more = None if labelled is None else labelled.of_windows(rows, self._level)
        return _ranked(_labelled(frame, more), "window")

    def _rows(self, sums: Sums, notes: list[dict[str, str]]) -> pl.DataFrame:
        counts = dict(zip(("n_responses", "n_estimated", "n_cut_off"), sums.counts.T, strict=True))
        n, accuracy = counts["n_estimated"], self._accuracy(sums)
        made = self._residuals.intervals(accuracy, n, self._level)
        conformal = self._residuals.conformal(accuracy, n, self._level)
        frame = pl.DataFrame(
            {
                "n_responses": counts["n_responses"],
                "n_estimated": n,
                "n_excluded": counts["n_responses"] - n,
                "cut_off_share": counts["n_cut_off"] / np.where(n > 0, n, np.nan),
                "estimated_accuracy": accuracy,
                "lower": made.lower,
                "upper": made.upper,
                "level": np.full(len(n), self._level),
                "basis": [made.basis] * len(n),
                "conformal_lower": conformal.lower,
                "conformal_upper": conformal.upper,
                "expected_errors": n * (1 - accuracy),
                "expected_errors_lower": n * (1 - made.upper),
                "expected_errors_upper": n * (1 - made.lower),
            }
        ).fill_nan(None)
        reasons = [self._reasons(row) | one for row, one in zip(frame.iter_rows(named=True), notes, strict=True)]
        for found, why in zip(reasons, self._outside(sums, accuracy), strict=True):
            found |= self.general | ({OUTSIDE: why} if why else {})
        return frame.with_columns(
            flags=pl.Series([list(one) for one in reasons], dtype=pl.List(pl.String)),
            reasons=pl.Series([list(one.values()) for one in reasons], dtype=pl.List(pl.String)),
        )

    def _accuracy(self, sums: Sums) -> np.ndarray:
        there, found = sums.counts[:, 1] > 0, np.full(len(sums), np.nan)
        if there.any():
            found[there] = self._accuracies_of(sums.rows(there).mean())
        return found

    def _accuracies_of(self, means: np.ndarray) -> np.ndarray:
        """(n,) the accuracies that mean values (n, k) stand for."""
        return self._estimator.accuracies_of(means if means.shape[1] > 1 else means[:, 0])

    def _outside(self, sums: Sums, accuracy: np.ndarray) -> list[str | None]:
        """Why each slice is outside of what the estimator has seen, or null."""
        if self._support is None:
            return [None] * len(sums)
        few = sums.counts[:, 1] < self._few
        found = self._support.flags(sums.histogram, accuracy)
        return [None if is_few else why for is_few, why in zip(few, found, strict=True)]

    def _reasons(self, row: Mapping[str, Any]) -> dict[str, str]:
        """Flags of a row, each with its reason as a sentence."""
        found = {}
        n, few = row["n_estimated"], self._few
        if n < few:
            found[FEW] = f"{n} responses are estimated, fewer than {few}"
        if (row["cut_off_share"] or 0) > LARGEST_SHARE:
            found[CUT_OFF] = f"{row['cut_off_share']:.0%} of the responses ended before their end"
        if row["n_excluded"] > LARGEST_SHARE * row["n_responses"]:
            found[EXCLUDED] = f"{row['n_excluded']:,} of {row['n_responses']:,} responses could not be estimated"
        return found

    def _pooled(self, merged: Merged, slices: np.ndarray) -> list[dict[str, str]]:
        """What to say of rows of the slice that pools others."""
        said = {POOLED: f"{merged.n_pooled:,} smaller slices together"}
        return [dict(said) if merged.n_pooled and one == len(merged.slices) - 1 else {} for one in slices]

    def _with_change(self, frame: pl.DataFrame, now: Sums, then: Sums, which: np.ndarray | None = None) -> pl.DataFrame:
        """`change`, its p where both sides have enough responses, and q over the slices (of a window)."""
        there = np.minimum(now.counts[:, 1], then.counts[:, 1])
        compared = (there > 0) & (True if which is None else which)
        change = np.where(compared, self._accuracy(now) - self._accuracy(then), np.nan)
        p = np.full(len(frame), np.nan)
        for row in np.flatnonzero(compared & (there >= max(self._few, 2))):
            sides = [(one.counts[row, 1], one.values[row], one.products[row]) for one in (now, then)]
            p[row] = p_of_change(self._accuracies_of, *sides)
        windows = np.zeros(len(frame)) if which is None else frame["window"].rank("dense").fill_null(0).to_numpy()
        q = np.full(len(frame), np.nan)
        for window in np.unique(windows):
            q[windows == window] = adjusted(p[windows == window])
        return frame.with_columns(
            pl.Series("change", change), pl.Series("change_p", p), pl.Series("change_q", q)
        ).with_columns(pl.col("change", "change_p", "change_q").fill_nan(None))


def _general(about: Mapping[str, Any], card: Validation | None, taken: Mapping[str, int]) -> dict[str, str]:
    """Flags of every slice, with their reasons."""
    found = {}
    if about.get("caution"):
        found[CAUTION] = about["caution"]
    if card is None:
        found[NO_CARD] = "the estimator's file does not say how far it is off on new domains: fit it again"
    elif card.verdict != USABLE:
        found[card.verdict] = "; ".join(card.reasons)
    if not about.get("support"):
        found[NO_SUPPORT] = "the estimator's file does not say what its training rows were like: fit it again"
    if taken:
        what = ", ".join(f"{count:,} {kind}" for kind, count in taken.items())
        found[OVERRIDDEN] = f"responses are taken that are of something else than the estimator: {what}"
    return found


def _labelled(frame: pl.DataFrame, more: pl.DataFrame | None) -> pl.DataFrame:
    return frame if more is None else with_reading(pl.concat([frame, more], how="horizontal"))


def _n_domains(about: Mapping[str, Any]) -> int:
    return len(str(about.get("group", "")).split("+"))


def _ranked(frame: pl.DataFrame, window: str | None = None) -> pl.DataFrame:
    """Rows with their `rank`, 1 for the most expected errors (of a window), in that order."""
    rank = (-pl.col("expected_errors")).rank("ordinal").cast(pl.Int64)
    names = [name for name in frame.columns if name not in ("flags", "reasons")]
    frame = frame.with_columns(rank=rank.over(window) if window else rank)
    order = [window, "rank"] if window else ["rank"]
    return frame.select(*names, "rank", "flags", "reasons").sort(order, nulls_last=True, maintain_order=True)
