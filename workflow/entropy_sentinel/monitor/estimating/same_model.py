"""Compare a model under its new name with the validated one: their largest token entropies on the same slices.

The comparison says whether the features look as before. It cannot say whether the model is as accurate as before.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.estimators.support import NOISE
from entropy_sentinel.formatting.text import counted
from entropy_sentinel.monitor.reading.times import in_zone
from entropy_sentinel.monitor.settings import MonitorOptions
from entropy_sentinel.monitor.summing.merging import MergedSums

# The windows that are compared: the first of the new name, and the last before it.
FIRST_WINDOWS, WINDOWS_BEFORE = 7, 28
# Slices with fewer responses on either side are left out.
_FEWEST = 5


def compare_same_models(
    saved: FittedEstimator, merged: MergedSums, names: Mapping[str, int], settings: MonitorOptions
) -> list[dict[str, Any]]:
    """Return what a result says about models that count as the estimator's, JSON-serialisable; empty without any.

    `names` counts their responses by the name in the logs. `distance` is the largest difference of the cumulative
    shares of the largest token entropy, averaged over slices by their new responses, and `by_chance` the 99th
    percentile of this distance for two samples of one distribution (Smirnov 1948). Both are null without windows, or
    without a slice that has responses of both.
    """
    if not names:
        return []
    model = str(saved.metadata.model)
    about: dict[str, Any] = {"model": model, "names": dict(names), "since": None, "n_first": 0, "n_before": 0}
    about |= {"distance": None, "by_chance": None}
    if merged.windows is None:
        return [about]
    rows, sums = merged.windows
    windows = rows["window"].to_physical().fill_null(-1).to_numpy()
    of_new = sums.sum_of("n_same_model") > 0
    times = sorted({int(each) for each in windows if each >= 0})
    first = min((int(each) for each in windows[of_new] if each >= 0), default=None)
    if first is None:
        return [about]
    place = times.index(first)
    late, early = times[place : place + FIRST_WINDOWS], times[max(place - WINDOWS_BEFORE, 0) : place]
    slices = rows["slice"].to_numpy()
    # A window in which the name changed has responses of both, which its sums do not separate.
    after = _histograms(sums.histogram, slices, np.isin(windows, late) & of_new, len(merged.slices))
    before = _histograms(sums.histogram, slices, np.isin(windows, early), len(merged.slices))
    begin = rows["window"].filter((rows["window"].to_physical() == first).fill_null(False))[:1]
    about["since"] = in_zone(begin, settings.zone)[0].isoformat()
    about["n_windows"], about["window"] = len(late), settings.window
    about |= _distance(after, before)
    return [about]


def _histograms(counts: np.ndarray, slices: np.ndarray, rows: np.ndarray, n_slices: int) -> np.ndarray:
    """Return the histogram of each slice over some rows, (n_slices, m)."""
    total = np.zeros((n_slices, counts.shape[1]))
    np.add.at(total, slices[rows], counts[rows])
    return total


def _distance(after: np.ndarray, before: np.ndarray) -> dict[str, Any]:
    n_after, n_before = after.sum(axis=1), before.sum(axis=1)
    both = (n_after >= _FEWEST) & (n_before >= _FEWEST)
    if not both.any():
        return {}
    n_after, n_before = n_after[both], n_before[both]
    weights = n_after / n_after.sum()
    shares = [counts[both].cumsum(axis=1) / counts[both].sum(axis=1, keepdims=True) for counts in (after, before)]
    distance = float(np.abs(weights @ (shares[0] - shares[1])).max())
    by_chance = float(NOISE * np.sqrt((weights**2 * (1 / n_after + 1 / n_before)).sum()))
    return {
        "distance": distance,
        "by_chance": by_chance,
        "n_first": int(n_after.sum()),
        "n_before": int(n_before.sum()),
    }


def same_model_text(about: Mapping[str, Any]) -> str:
    """Return what changed, and how the two names compare."""
    names = ", ".join(f"{name} ({counted(n, 'response')})" for name, n in about["names"].items())
    text = f"{names} counts as {about['model']} (--same-model), which is an assumption: intervals are wider. "
    if about["distance"] is None:
        return f"{text}Too few responses on the same slices, or no windows, to compare their entropies."
    n = about["n_windows"]
    first = f"first {f'{n} ' if n > 1 else ''}{about['window']}{'s' if n > 1 else ''} of the new name"
    numbers = (
        f"{about['distance']:.2f} between {about['n_first']:,} responses of the {first} (from {about['since'][:10]}) "
        f"and {about['n_before']:,} before; by chance up to {about['by_chance']:.2f}"
    )
    if about["distance"] <= about["by_chance"]:
        return f"{text}Their entropies on the same slices show no difference (distance {numbers})."
    return (
        f"{text}Their entropies on the same slices differ (distance {numbers}): the model, or what it is asked, has "
        "changed. Label some responses, or fit an estimator of the new model."
    )
