"""Compare a model under its new name with the validated one: their largest token entropies on the same slices.

The comparison says whether the features look as before. It cannot say whether the model is as accurate as before.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.estimators.training_support import NOISE
from entropy_sentinel.formatting.text_format import format_count
from entropy_sentinel.monitor.monitor_options import MonitorOptions
from entropy_sentinel.monitor.reading.window_times import convert_from_clock
from entropy_sentinel.monitor.summing.sum_merging import SliceTable

# The windows that are compared: the first of the new name, and the last before it.
FIRST_WINDOWS, WINDOWS_BEFORE = 7, 28
# Slices with fewer responses on either side are left out.
_FEWEST = 5


class _Distance(NamedTuple):
    """The largest difference of two distributions, that by chance, and the responses on both sides."""

    distance: float
    by_chance: float
    n_first: int
    n_before: int


@dataclass(frozen=True)
class SameModelComparison:
    """How a model under new names compares with the estimator's.

    Attributes:
        model: The estimator's model.
        names: The numbers of responses by the name in the logs.
        since: The first window with a new name; null without windows.
        n_windows: The number of compared windows of the new name.
        window: The length of windows.
        n_first: The compared responses of the new name.
        n_before: The compared responses before it.
        distance: The largest difference of the cumulative shares of the largest token entropy, averaged over slices by
            their new responses; null without windows, or without a slice that has responses of both.
        by_chance: The 99th percentile of this distance for two samples of one distribution (Smirnov 1948).
    """

    model: str
    names: Mapping[str, int]
    since: datetime | None = None
    n_windows: int = 0
    window: str | None = None
    n_first: int = 0
    n_before: int = 0
    distance: float | None = None
    by_chance: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """The comparison; JSON-serialisable."""
        windows = {} if self.since is None else {"n_windows": self.n_windows, "window": self.window}
        return {
            "model": self.model,
            "names": dict(self.names),
            "since": None if self.since is None else self.since.isoformat(),
            "n_first": self.n_first,
            "n_before": self.n_before,
            "distance": self.distance,
            "by_chance": self.by_chance,
            **windows,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "SameModelComparison":
        """What `to_dict` returned."""
        since = content["since"] and datetime.fromisoformat(content["since"])
        return cls(**{**content, "since": since})

    def describe(self) -> str:
        """What changed, and how the two names compare."""
        names = ", ".join(f"{name} ({format_count(n, 'response')})" for name, n in self.names.items())
        option = format_option("same_model")
        text = f"{names} counts as {self.model} ({option}), which is an assumption: intervals are wider. "
        if self.distance is None or self.by_chance is None or self.since is None:
            return f"{text}Too few responses on the same slices, or no windows, to compare their entropies."
        n = self.n_windows
        first = f"first {f'{n} ' if n > 1 else ''}{self.window}{'s' if n > 1 else ''} of the new name"
        numbers = (
            f"{self.distance:.2f} between {self.n_first:,} responses of the {first} (from {self.since:%Y-%m-%d}) "
            f"and {self.n_before:,} before; by chance up to {self.by_chance:.2f}"
        )
        if self.distance <= self.by_chance:
            return f"{text}Their entropies on the same slices show no difference (distance {numbers})."
        return (
            f"{text}Their entropies on the same slices differ (distance {numbers}): the model, or what it is asked, "
            "has changed. Label some responses, or fit an estimator of the new model."
        )


def compare_same_models(
    saved: FittedEstimator, merged: SliceTable, names: Mapping[str, int], settings: MonitorOptions
) -> SameModelComparison | None:
    """Compare responses of models that count as the estimator's (`same_model`) with those of its own name before.

    `names` are the numbers of their responses by the name in the logs; null without any.
    """
    if not names:
        return None
    comparison = SameModelComparison(str(saved.metadata.model), names)
    if merged.windows is None:
        return comparison
    rows, sums = merged.windows
    # Windows as numbers; -1 for responses without a time.
    windows = rows["window"].to_physical().fill_null(-1).to_numpy()
    is_new = sums.sum_of("n_same_model") > 0
    times = sorted({int(each) for each in windows if each >= 0})
    first = min((int(each) for each in windows[is_new] if each >= 0), default=None)
    if first is None:
        return comparison
    place = times.index(first)
    first_windows = times[place : place + FIRST_WINDOWS]
    windows_before = times[max(place - WINDOWS_BEFORE, 0) : place]
    slices = rows["slice"].to_numpy()
    # A window in which the name changed has responses of both, which its sums do not separate.
    after = _sum_histograms(sums.histogram, slices, np.isin(windows, first_windows) & is_new, len(merged.slices))
    before = _sum_histograms(sums.histogram, slices, np.isin(windows, windows_before), len(merged.slices))
    begin = rows["window"].filter((rows["window"].to_physical() == first).fill_null(False))[:1]
    comparison = replace(
        comparison,
        since=convert_from_clock(begin, settings.zone)[0],
        n_windows=len(first_windows),
        window=settings.window,
    )
    distance = _measure_distance(after, before)
    return comparison if distance is None else replace(comparison, **distance._asdict())


def _sum_histograms(counts: np.ndarray, slices: np.ndarray, rows: np.ndarray, n_slices: int) -> np.ndarray:
    """The histogram of each slice over some rows, (n_slices, m).

    `counts`, (n, m), and `slices`, (n,), are the histogram and the slice of each row; `rows`, (n,) bool, selects some.
    """
    total = np.zeros((n_slices, counts.shape[1]))
    np.add.at(total, slices[rows], counts[rows])
    return total


def _measure_distance(after: np.ndarray, before: np.ndarray) -> _Distance | None:
    """The distance between the entropies of two models, averaged over slices; null without a slice that has both.

    `after` and `before` are histograms of the slices, (n_slices, m).
    """
    n_after, n_before = after.sum(axis=1), before.sum(axis=1)
    both = (n_after >= _FEWEST) & (n_before >= _FEWEST)
    if not both.any():
        return None
    n_after, n_before = n_after[both], n_before[both]
    weights = n_after / n_after.sum()
    shares = [counts[both].cumsum(axis=1) / counts[both].sum(axis=1, keepdims=True) for counts in (after, before)]
    distance = float(np.abs(weights @ (shares[0] - shares[1])).max())
    by_chance = float(NOISE * np.sqrt((weights**2 * (1 / n_after + 1 / n_before)).sum()))
    return _Distance(distance, by_chance, int(n_after.sum()), int(n_before.sum()))
