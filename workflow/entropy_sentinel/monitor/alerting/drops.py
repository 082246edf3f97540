"""Find the drops of all slices since the reference, at the promised rate of false alarms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.estimators.estimator import Estimator
from entropy_sentinel.monitor.reading.times import in_zone
from entropy_sentinel.monitor.settings import MonitorOptions
from entropy_sentinel.monitor.summing.merging import MergedSums
from entropy_sentinel.monitor.summing.sums import Sums, pairs
from entropy_sentinel.statistics.clustering import recurrence_effects
from entropy_sentinel.statistics.monitoring.drops import Drop, Rule, Series, drops_of, unit_variances

# With a rate of false alarms that allows one in fewer looks than these, a single look would be weak evidence.
_FEWEST_LOOKS = 20.0


@dataclass(frozen=True)
class SliceDrop:
    """A drop of a slice; times are starts of the smallest windows.

    Attributes:
        slice: The slice's row number in `MergedSums.slices`.
        since: Start of the drop.
        told: The window that made it an alert.
        before: The accuracy before the drop, back to the reference.
        after: The accuracy since the last change of level.
        worse: The windows that made an alert about a further fall.
        until: The window that ended it; null if it lasts.
    """

    slice: int
    since: datetime
    told: datetime
    before: float
    after: float
    worse: tuple[datetime, ...]
    until: datetime | None

    def as_dict(self, slice_: Mapping[str, Any]) -> dict[str, Any]:
        """Return the drop of the slice with these values; JSON-serialisable."""
        return {
            "slice": dict(slice_),
            "since": self.since.isoformat(),
            "told": self.told.isoformat(),
            "before": self.before,
            "after": self.after,
            "worse": [when.isoformat() for when in self.worse],
            "until": None if self.until is None else self.until.isoformat(),
        }


def n_slices_tested(merged: MergedSums, least: int) -> int:
    """Return the number of slices with enough responses in the reference; the false alarms are shared among them."""
    return int((merged.before.n_estimated >= least).sum())


def slice_drops(estimator: Estimator, merged: MergedSums, settings: MonitorOptions, n_slices: int) -> list[SliceDrop]:
    """Return the drops of all slices, by slice and time; `n_slices` is the number of slices that are tested."""
    if merged.looks is None or settings.period is None or n_slices == 0:
        return []
    rule = Rule(
        windows=max(n_slices / settings.false_alarms_per_look, _FEWEST_LOOKS),
        least=max(settings.min_responses, 2),
        smallest=settings.min_drop,
    )
    sums = merged.looks.sums
    looks = merged.looks.rows.with_columns(place=pl.int_range(pl.len()), n=pl.Series(sums.n_estimated))
    looks = looks.filter(pl.col("n") > 0, pl.col("window") >= settings.period.start).sort("slice", "window")
    moments = merged.clusters.of_grains(merged.looks.rows.select("slice", grain="window"))
    looks = pl.concat([looks, merged.clusters.recurrences(looks.select("slice", grain="window"))], how="horizontal")
    drops: list[SliceDrop] = []
    for (number,), rows in looks.group_by("slice", maintain_order=True):
        windows = in_zone(rows["window"], settings.zone).to_list()
        n_reference = int((rows["window"] < settings.period.end).sum())
        effects = moments.rows(rows["place"].to_numpy()).cumulative().robust_effect
        effects *= recurrence_effects(*(rows[name].to_numpy() for name in ("squares", "near", "every")))
        series = _series(estimator, sums.rows(rows["place"].to_numpy()), n_reference, effects)
        for drop in drops_of(series, rule):
            # The window that confirms the drop.
            told = drop.told + settings.confirm - 1
            end = len(windows) if drop.over is None else drop.over
            if told < end:
                drops.append(_in_time(int(str(number)), drop, told, series, windows))
    return drops


def _series(estimator: Estimator, sums: Sums, n_reference: int, effects: np.ndarray) -> Series:
    """Return the series of a slice; `effects` are the design effects that the windows up to each one tell, (w,)."""

    def accuracies_of(means: np.ndarray) -> np.ndarray:
        return estimator.accuracies_of(means if means.shape[1] > 1 else means[:, 0])

    n, k = sums.n_estimated, sums.values.shape[1]
    products = np.zeros((len(n), k, k))
    for place, (i, j) in enumerate(pairs(k)):
        products[:, i, j] = products[:, j, i] = sums.products[:, place]
    variance = effects * unit_variances(n, sums.values, products, accuracies_of)
    return Series(n, sums.values, variance, n_reference, accuracies_of)


def _in_time(number: int, drop: Drop, told: int, series: Series, windows: Sequence[datetime]) -> SliceDrop:
    end = len(windows) if drop.over is None else drop.over + 1
    return SliceDrop(
        slice=number,
        since=windows[drop.begins],
        told=windows[told],
        before=drop.before,
        after=series.accuracy(np.arange(drop.level, end)),
        worse=tuple(windows[place] for place in drop.worse),
        until=None if drop.over is None else windows[drop.over],
    )
