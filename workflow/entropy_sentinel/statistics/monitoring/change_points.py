"""Find when the accuracy of a slice dropped, window by window, with a promised rate of false alarms.

The monitor is checked after every window, indefinitely; testing each at a fixed level would soon raise a false alarm.
Here each window updates the Shiryaev-Roberts statistic instead: the sum, over all windows in which a drop may have
begun, of the evidence that it began there. Without a drop the statistic grows by 1 a window on average. So if an alarm
is a statistic above A, the mean time between false alarms is at least A windows, however often somebody looks (Pollak
1985; Shin, Ramdas and Rinaldo 2024, "E-detectors").

The evidence for a drop that began in window v compares the windows from v on with all windows before it, back to the
reference. It is the ratio of two likelihoods of the difference D of the two estimates: with a drop, whose size has a
half-normal prior, and without one. D counts as normal. Its variance has two parts:

- the responses: their unit variance divided by their number, on each side. For clusters of dependent responses, such as
  answers to one question, the unit variance includes their design effect (`statistics.design_effects`);
- the windows: days may differ by more than chance, for example at weekends. This variance comes from the differences of
  successive windows. A few windows tell little about it, so it has a prior, and D is divided by its standard deviation
  as Student's t would be.

After an alarm, the same statistic finds when the accuracy falls further, and when it rises again.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

# The prior size of a drop: half-normal with this scale.
DROP_SCALE = 0.1
# The prior of the standard deviation between windows beyond chance, 0.01, and the uncertainty of this variance. With a
# larger uncertainty, a drop in the first days after the reference is told later; with a smaller one, days that differ
# raise more alarms than promised (benchmarks/bench_alarms.py).
_PRIOR_VARIANCE, _PRIOR_UNCERTAINTY = 0.01**2, 0.03**2
# Largest number of windows before the newest in which a drop may have begun. Older ones are left out of the sum, which
# makes alarms rarer.
LOOKBACK = 128
# Windows computed at once, to limit memory.
_BATCH = 64
# Number of draws for the variance of an estimate that is not linear in the estimator's values.
_DRAWS = 1024
# The growth of the number of responses after which the unit variance is computed again.
_GROWTH = 1.1
# The smallest unit variance, so that equal values do not divide by 0.
_LEAST_VARIANCE = 1e-6

Accuracies = Callable[[np.ndarray], np.ndarray]


class WindowSeries(NamedTuple):
    """A slice's windows with responses, in order: the first `n_reference` belong to the reference.

    `n` (w,) are the numbers of responses, `values` (w, k) the sums of the estimator's values, and `variance` (w,) the
    unit variance of the estimate as far as the windows up to each one tell. `accuracies_of` turns mean values, (m, k),
    into accuracies, (m,).
    """

    n: np.ndarray
    values: np.ndarray
    variance: np.ndarray
    n_reference: int
    accuracies_of: Accuracies

    def accuracy(self, windows: np.ndarray) -> float:
        """The accuracy of several windows together, given their positions, (m,)."""
        mean = self.values[windows].sum(axis=0) / self.n[windows].sum()
        return float(self.accuracies_of(mean[None])[0])


@dataclass(frozen=True)
class DropRule:
    """When there is an alarm.

    Attributes:
        false_alarm_windows: The smallest mean number of windows between two false alarms of this slice.
        least_responses: The smallest number of responses on each side, before and after a change.
        smallest_drop: The smallest difference of accuracies that counts as a change.
    """

    false_alarm_windows: float
    least_responses: int
    smallest_drop: float


@dataclass(frozen=True)
class Drop:
    """A drop; windows are positions in the series.

    Attributes:
        first_window: The first window of the drop.
        alarm_window: The window whose responses make the alarm.
        previous_accuracy: The accuracy before it, back to the reference.
        worse_windows: The windows that made an alarm about a further fall.
        level_window: The first window since the latest change, of the present level of accuracy.
        end_window: The window that ended the alarm; null if it lasts.
    """

    first_window: int
    alarm_window: int
    previous_accuracy: float
    worse_windows: tuple[int, ...]
    level_window: int
    end_window: int | None = None


class _Change(NamedTuple):
    """A change that began in `first_window` and is evident in `alarm_window`; its `sign` is 1 for a fall, else -1."""

    first_window: int
    alarm_window: int
    sign: int


def find_series_drops(series: WindowSeries, rule: DropRule) -> list[Drop]:
    """The drops of a slice after the reference, in order."""
    return list(_DropFinder(series, rule).find_drops())


class _DropFinder:
    """Finds the drops of one slice."""

    def __init__(self, series: WindowSeries, rule: DropRule) -> None:
        self._series, self._rule = series, rule
        self._end = len(series.n)
        # Windows in which the accuracy is known to have changed: their difference to the window before is no noise.
        self._changes: list[int] = []

    def find_drops(self) -> Iterator[Drop]:
        """Yield the drops in order; none if the reference has too few responses to compare with."""
        start = self._series.n_reference
        if self._series.n[:start].sum() < self._rule.least_responses:
            return
        # The windows to compare with: the reference, then also those between drops.
        baseline = np.arange(start)
        while (fall := self._find_change(baseline, start, self._end, (1,))) is not None:
            self._changes.append(fall.first_window)
            baseline = np.concatenate([baseline, np.arange(start, fall.first_window)])
            accuracy = self._series.accuracy(baseline)
            drop = Drop(
                first_window=fall.first_window,
                alarm_window=fall.alarm_window,
                previous_accuracy=accuracy,
                worse_windows=(),
                level_window=fall.first_window,
            )
            drop = self._follow_drop(drop, baseline)
            yield drop
            if drop.end_window is None:
                return
            start = drop.level_window  # the first window of the level to which the accuracy recovered

    def _follow_drop(self, drop: Drop, baseline: np.ndarray) -> Drop:
        """A drop with its further falls and rises, until the accuracy is no longer below that of `baseline`, (b,).

        `baseline` are the positions of the windows before the drop.
        """
        latest = drop.alarm_window  # the window in which the latest change was evident
        while True:
            level = np.arange(drop.level_window, latest + 1)
            change = self._find_change(level, latest + 1, self._end, (1, -1))
            if change is None:
                return drop
            self._changes.append(change.first_window)
            latest = change.alarm_window
            drop = replace(drop, level_window=change.first_window)
            if change.sign > 0:
                drop = replace(drop, worse_windows=(*drop.worse_windows, latest))
            elif self._find_change(baseline, drop.level_window, latest + 1, (1,)) is None:
                return replace(drop, end_window=latest)

    def _find_change(self, baseline: np.ndarray, start: int, end: int, signs: tuple[int, ...]) -> _Change | None:
        """The first change from the windows `baseline`, (b,), that is evident in the windows from `start` to `end`.

        `signs` are those that count: 1 for a fall, -1 for a rise.
        """
        for first in range(start, end, _BATCH):
            windows = np.arange(first, min(first + _BATCH, end))
            changes = []
            for sign in signs:
                change = self._find_change_in_batch(baseline, start, windows, sign)
                if change is not None:
                    changes.append(change)
            if changes:
                return min(changes, key=lambda change: change.alarm_window)
        return None

    def _find_change_in_batch(self, baseline: np.ndarray, start: int, windows: np.ndarray, sign: int) -> _Change | None:
        """The first change of this sign that is evident at the end of one of these `windows`, (l,)."""
        log_evidence, difference = self._evidence_by_age(baseline, start, windows, sign)
        best = log_evidence.argmax(axis=1)  # the age of the most evident change
        rows = np.arange(len(windows))
        # The Shiryaev-Roberts statistic; exp(710) would overflow.
        statistic = np.exp(np.minimum(log_evidence, 600)).sum(axis=1)
        evident = (statistic >= self._rule.false_alarm_windows) & (difference[rows, best] >= self._rule.smallest_drop)
        if not evident.any():
            return None
        row = int(evident.argmax())
        return _Change(int(windows[row] - best[row]), int(windows[row]), sign)

    def _evidence_by_age(
        self, baseline: np.ndarray, start: int, windows: np.ndarray, sign: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The log-evidence of a change at the end of each of `windows`, and its size, both (l, ages).

        A change of age a began a windows earlier. The accuracy before it is that of the windows `baseline`, (b,), and
        of those from `start` to its first. `sign` is 1 for a fall, -1 for a rise; sizes are positive in its direction.
        The evidence is -inf if one side has too few responses.
        """
        series = self._series
        # Sums over all windows before each position.
        n = np.append(0, np.cumsum(series.n))
        squares = np.append(0, np.cumsum(series.n.astype(float) ** 2))
        values = np.concatenate([np.zeros((1, series.values.shape[1])), np.cumsum(series.values, axis=0)])
        ages = np.arange(min(int(windows[-1]) - start + 1, LOOKBACK))
        begins = np.maximum(windows[:, None] - ages, start)
        after, before = (windows + 1)[:, None], begins
        n_after = n[after] - n[begins]
        n_before = series.n[baseline].sum() + n[before] - n[start]
        enough = (
            (windows[:, None] - ages >= start)
            & (n_after >= self._rule.least_responses)
            & (n_before >= self._rule.least_responses)
        )
        n_after, n_before = np.maximum(n_after, 1), np.maximum(n_before, 1)
        mean_after = (values[after] - values[begins]) / n_after[..., None]
        mean_before = (series.values[baseline].sum(axis=0) + values[before] - values[start]) / n_before[..., None]
        difference = sign * (self._accuracies(mean_before) - self._accuracies(mean_after))
        response_variance = series.variance[windows][:, None] * (1 / n_after + 1 / n_before)
        squares_before = (series.n[baseline].astype(float) ** 2).sum() + squares[before] - squares[start]
        # By how much the variance between windows counts: 1 / the number of windows on each side if all are equal.
        uneven = (squares[after] - squares[begins]) / n_after**2 + squares_before / n_before**2
        window_variance, uncertainty = self._window_variances()
        variance = response_variance + window_variance[begins] * uneven
        freedom = 2 * variance**2 / (uneven**2 * uncertainty[begins])
        normal = _normalise_t(difference / np.sqrt(variance), freedom) * np.sqrt(variance)
        return np.where(enough, _log_evidence(normal, variance), -np.inf), difference

    def _accuracies(self, means: np.ndarray) -> np.ndarray:
        """The accuracies for mean values of any number of axes, (..., k) to (...)."""
        accuracies: np.ndarray = self._series.accuracies_of(means.reshape(-1, means.shape[-1]))
        return accuracies.reshape(means.shape[:-1])

    def _window_variances(self) -> tuple[np.ndarray, np.ndarray]:
        """The variance between windows beyond chance, as far as the windows before each tell, and its variance, (w,).

        From squared differences of successive windows minus what responses explain, combined with the prior.
        """
        series = self._series
        accuracy = series.accuracies_of(series.values / series.n[:, None])
        response_variance = series.variance[1:] * (1 / series.n[1:] + 1 / series.n[:-1]) / 2
        weight = 1 / response_variance**2
        weight[[at - 1 for at in self._changes]] = 0  # there, the accuracy changed by more than noise
        n_pairs = np.append([0, 0], np.cumsum(weight > 0))[: self._end]
        total = np.append([0, 0], np.cumsum(weight))[: self._end]
        excess = np.append([0, 0], np.cumsum(weight * (np.diff(accuracy) ** 2 / 2 - response_variance)))[: self._end]
        divisor = np.where(total > 0, total, 1)
        measured = excess / divisor
        # Successive differences share a window, so they tell as much as two thirds of their number.
        typical = np.sqrt(np.maximum(n_pairs, 1) / divisor)
        noise = np.where(total > 0, 3 * (1 + np.maximum(measured, 0) / typical) ** 2 / divisor, np.inf)
        share = _PRIOR_UNCERTAINTY**2 / (_PRIOR_UNCERTAINTY**2 + noise)
        window_variance = np.maximum(share * measured + (1 - share) * _PRIOR_VARIANCE, 0)
        uncertainty = np.where(share > 0, share * np.where(np.isfinite(noise), noise, 0), _PRIOR_UNCERTAINTY**2)
        return window_variance, uncertainty


def unit_variances(n: np.ndarray, values: np.ndarray, products: np.ndarray, accuracies_of: Accuracies) -> np.ndarray:
    """The variance of the estimate for one response, as far as the windows up to each one tell, (w,).

    `n` is (w,), `values` (w, k) and `products` (w, k, k) are sums over the responses of each window. The variance is
    computed again whenever the number of responses has grown by _GROWTH.
    """
    count = np.cumsum(n).astype(float)
    steps = np.floor(np.log(count) / math.log(_GROWTH)).astype(int)
    steps_computed = np.flatnonzero(np.diff(steps, prepend=-1))  # the windows at which it is computed
    total = count[steps_computed]
    # The covariance of the values, and matrices that give standard normal numbers this covariance.
    mean = np.cumsum(values, axis=0)[steps_computed] / total[:, None]
    squares = np.cumsum(products, axis=0)[steps_computed] - total[:, None, None] * mean[:, :, None] * mean[:, None, :]
    spread, directions = np.linalg.eigh(squares / np.maximum(total - 1, 1)[:, None, None])
    roots = directions * np.sqrt(np.clip(spread, 0, None))[:, None, :]
    # For an estimate that is not linear, the number of responses of a typical window.
    typical = np.maximum(total / (steps_computed + 1), 30)
    draws = normal_draws(_DRAWS, values.shape[1])
    moved = mean[:, None, :] + np.einsum("wij,dj->wdi", roots, draws) / np.sqrt(typical)[:, None, None]
    accuracies = accuracies_of(moved.reshape(-1, values.shape[1])).reshape(len(steps_computed), _DRAWS)
    variances = np.maximum(accuracies.var(axis=1) * typical, _LEAST_VARIANCE)
    latest: np.ndarray = variances[np.searchsorted(steps_computed, np.arange(len(n)), side="right") - 1]
    return latest


@cache
def normal_draws(n: int, k: int) -> np.ndarray:
    """Fixed standard normal numbers, (n, k), with mean 0 and exactly the unit matrix as covariance."""
    half = np.random.default_rng(k).standard_normal((n // 2, k))
    both = np.concatenate([half, -half])
    draws: np.ndarray = both @ np.linalg.inv(np.linalg.cholesky(both.T @ both / len(both))).T
    return draws


def _normalise_t(t: np.ndarray, degrees_of_freedom: np.ndarray) -> np.ndarray:
    """The standard normal number that is as improbable as Student's t (Wallace 1959), elementwise."""
    normal: np.ndarray = (
        (8 * degrees_of_freedom + 1)
        / (8 * degrees_of_freedom + 3)
        * np.sqrt(degrees_of_freedom * np.log1p(t**2 / degrees_of_freedom))
    )
    signed: np.ndarray = np.sign(t) * np.minimum(normal, np.abs(t))
    return signed


def _log_evidence(difference: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """The logarithm of the likelihood ratio of a drop against none, elementwise.

    The prior of a drop's size is half a normal distribution with the scale DROP_SCALE; the observed `difference` has
    this `variance`.
    """
    both = variance + DROP_SCALE**2
    logarithm: np.ndarray = (
        np.log(2)
        + np.log(variance / both) / 2
        + (difference * DROP_SCALE) ** 2 / (2 * variance * both)
        + log_ndtr(difference * DROP_SCALE / np.sqrt(variance * both))
    )
    return logarithm
