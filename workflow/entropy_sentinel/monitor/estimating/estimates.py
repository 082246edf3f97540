"""Make a row per slice, or per slice and window: the estimated accuracy, its interval, flags and rank."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from entropy_sentinel.estimators.familiarity import residuals_if_unfamiliar
from entropy_sentinel.estimators.saved import SavedEstimator
from entropy_sentinel.monitor.catalogue import CATALOGUE, STATISTICS
from entropy_sentinel.monitor.estimating.change import adjusted, p_of_change
from entropy_sentinel.monitor.estimating.flags import Flags, notes_of, notes_of_slices
from entropy_sentinel.monitor.labelling.labelled import LabelledResponses
from entropy_sentinel.monitor.labelling.using import relies_on, with_use
from entropy_sentinel.monitor.settings import Reference
from entropy_sentinel.monitor.summing.merging import ONLY_TESTED, MergedSums, RecentWindows
from entropy_sentinel.monitor.summing.sums import Sums
from entropy_sentinel.statistics.ambiguity import ambiguous_share
from entropy_sentinel.statistics.intervals import Residuals

# The percentiles of numbers.
PERCENTILES = (50, 95)


class Estimates:
    """Makes the rows of slices from their sums, for one estimator."""

    def __init__(
        self,
        saved: SavedEstimator,
        level: float,
        min_responses: int,
        taken: Mapping[str, int],
        numbers: Sequence[str] = (),
    ) -> None:
        """Set the `level` of the intervals; slices with fewer than `min_responses` responses are flagged.

        `taken` counts the responses that do not match the estimator, by kind: its validation does not apply to their
        slices. `numbers` are the columns whose quantiles the rows have.
        """
        self._numbers = numbers
        self._estimator, self._level, self._few = saved.estimator, level, min_responses
        validation, n_domains = saved.validation, len(str(saved.about.get("group", "")).split("+"))
        self._unvalidated = Residuals((), (), (), n_domains)
        self._residuals = validation.residuals if validation else self._unvalidated
        self._usable = relies_on(saved)
        # The errors on labelled domains say nothing about a slice that is unlike all of them.
        self._unfamiliar = residuals_if_unfamiliar(n_domains)
        self._flags = Flags(saved, min_responses, taken)

    def general_flags(self, every: Sums) -> dict[str, str]:
        """Return the flags that all slices have, with their reasons, from the sums of `every` slice."""
        return self._flags.of_all(every)

    def of_slices(
        self, merged: MergedSums, labelled: LabelledResponses | None = None, recent: RecentWindows | None = None
    ) -> pl.DataFrame:
        """Return one row per slice, sorted by rank; `change` is from the reference to the responses after it."""
        notes = notes_of_slices(merged, recent, self._few)
        frame = pl.concat([merged.slices, self._rows(merged.total, notes)], how="horizontal")
        frame = self._with_change(frame, merged.since, merged.before)
        more = None if labelled is None else labelled.of_slices(self._level)
        return ranked(self._labelled(frame, more, merged.total))

    def of_windows(
        self,
        merged: MergedSums,
        rows: pl.DataFrame,
        sums: Sums,
        reference: Reference | None,
        labelled: LabelledResponses | None,
    ) -> pl.DataFrame:
        """Return one row per slice and window, by window and rank; only windows after the reference have a `change`.

        `rows` (n,) has `slice` (a row number of `MergedSums.slices`) and the first and last window (`window_from` and
        `window`); `sums` (n,) are the sums of these rows.
        """
        slice_ = rows["slice"].to_numpy()
        made = self._rows(sums, notes_of(merged, slice_))
        frame = pl.concat([merged.slices[slice_], rows.drop("slice"), made], how="horizontal")
        later = np.zeros(len(frame), dtype=bool)
        if reference is not None:
            later = (frame["window_from"] >= reference.end).fill_null(False).to_numpy()
        frame = self._with_change(frame, sums, merged.before.rows(slice_), later)
        more = None if labelled is None else labelled.of_windows(rows, self._level)
        frame = self._labelled(frame, more, sums)
        if ONLY_TESTED in frame.columns:
            frame = frame.filter(~pl.col(ONLY_TESTED)).drop(ONLY_TESTED)
        return ranked(frame, "window")

    def _rows(self, sums: Sums, notes: list[dict[str, str]]) -> pl.DataFrame:
        n, accuracy = sums.n_estimated, self._accuracy(sums)
        unfamiliar = self._flags.unfamiliar(sums)
        unlike = np.array([why is not None for why in unfamiliar], dtype=bool)
        bases = (self._residuals, self._unvalidated, self._unfamiliar)
        of = np.where(unlike, 2, np.where(self._flags.overridden(sums), 1, 0))
        made, every = [basis.intervals(accuracy, n, self._level) for basis in bases], np.arange(len(n))
        lower, upper = (
            np.stack(ends)[of, every] for ends in ([each.lower for each in made], [each.upper for each in made])
        )
        conformal = self._residuals.conformal(accuracy, n, self._level)
        worth = np.stack([basis.worth(accuracy) for basis in bases])[of, every]
        ambiguous = [ambiguous_share(*counts) for counts in sums.of_questions]
        frame = pl.DataFrame(
            {
                **{name: sums.column(statistic) for name, statistic in STATISTICS.items()},
                "n_excluded": sums.n_responses - n,
                "ambiguous_lower": [interval.lower for interval in ambiguous],
                "ambiguous_upper": [interval.upper for interval in ambiguous],
                "estimated_accuracy": accuracy,
                "lower": lower,
                "upper": upper,
                "level": np.full(len(n), self._level),
                "basis": [made[number].basis for number in of.tolist()],
                "conformal_lower": np.where(of > 0, np.nan, conformal.lower),
                "conformal_upper": np.where(of > 0, np.nan, conformal.upper),
                "estimate_worth": worth,
                "expected_errors": n * (1 - accuracy),
                "expected_errors_lower": n * (1 - upper),
                "expected_errors_upper": n * (1 - lower),
            }
        ).fill_nan(None)
        frame = frame.select(name for name in CATALOGUE if name in frame.columns).with_columns(self._quantiles(sums))
        reasons = self._flags.of(frame, sums, unfamiliar, notes)
        return frame.with_columns(
            flags=pl.Series([list(flags) for flags in reasons], dtype=pl.List(pl.String)),
            reasons=pl.Series([list(flags.values()) for flags in reasons], dtype=pl.List(pl.String)),
        )

    def _quantiles(self, sums: Sums) -> list[pl.Series]:
        """Return the columns of quantiles, such as `metadata.latency_p95`."""
        return [
            pl.Series(f"{name}_p{percent}", sums.quantile(place, percent / 100)).fill_nan(None)
            for place, name in enumerate(self._numbers)
            for percent in PERCENTILES
        ]

    def _labelled(self, frame: pl.DataFrame, more: pl.DataFrame | None, sums: Sums) -> pl.DataFrame:
        """Add the columns of labels and the accuracy to use, if there are labels."""
        if more is None:
            return frame
        unlike, differs = self._flags.unfamiliar(sums), self._flags.overridden(sums)
        residuals = [
            self._residuals if self._usable and why is None and not different else None
            for why, different in zip(unlike, differs, strict=True)
        ]
        return with_use(pl.concat([frame, more], how="horizontal"), residuals, self._level)

    def _accuracy(self, sums: Sums) -> np.ndarray:
        there, accuracy = sums.n_estimated > 0, np.full(len(sums), np.nan)
        if there.any():
            accuracy[there] = self._accuracies_of(sums.rows(there).mean())
        return accuracy

    def _accuracies_of(self, means: np.ndarray) -> np.ndarray:
        """Return the accuracies, (n,), of mean values, (n, k)."""
        return self._estimator.accuracies_of(means if means.shape[1] > 1 else means[:, 0])

    def _with_change(self, frame: pl.DataFrame, now: Sums, then: Sums, which: np.ndarray | None = None) -> pl.DataFrame:
        """Add `change`; its p, null if a side has too few responses; and its q over all slices (of the window)."""
        sides = [(sums.n_estimated, sums.values, sums.products) for sums in (now, then)]
        there = np.minimum(now.n_estimated, then.n_estimated)
        compared = (there > 0) & (True if which is None else which)
        change = np.where(compared, self._accuracy(now) - self._accuracy(then), np.nan)
        p = np.full(len(frame), np.nan)
        for row in np.flatnonzero(compared & (there >= max(self._few, 2))):
            after, before = ((n[row], values[row], products[row]) for n, values, products in sides)
            p[row] = p_of_change(self._accuracies_of, after, before)
        windows = np.zeros(len(frame)) if which is None else frame["window"].rank("dense").fill_null(0).to_numpy()
        q = np.full(len(frame), np.nan)
        for window in np.unique(windows):
            q[windows == window] = adjusted(p[windows == window])
        return frame.with_columns(
            pl.Series("change", change), pl.Series("change_p", p), pl.Series("change_q", q)
        ).with_columns(pl.col("change", "change_p", "change_q").fill_nan(None))


def ranked(frame: pl.DataFrame, window: str | None = None) -> pl.DataFrame:
    """Add `rank` (1 for the most expected errors, within a window if given), and sort by it."""
    rank = (-pl.col("expected_errors")).rank("ordinal").cast(pl.Int64)
    names = [name for name in frame.columns if name not in ("rank", "flags", "reasons")]
    frame = frame.with_columns(rank=rank.over(window) if window else rank)
    order = [window, "rank"] if window else ["rank"]
    return frame.select(*names, "rank", "flags", "reasons").sort(order, nulls_last=True, maintain_order=True)
