"""The methods of the catalogue: each fitted on some questions and applied to others."""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from entropy_sentinel.analyses.intervals.catalogue import METHODS, alpha_of
from entropy_sentinel.analyses.intervals.questions import Ends, Questions
from entropy_sentinel.statistics import adjusting
from entropy_sentinel.statistics.catalogue import ADJUSTMENTS
from entropy_sentinel.statistics.sampling import empirical_interval, temperature_search
from entropy_sentinel.statistics.smallest_mass import best_temperature, hull, hulls, smallest_set
from entropy_sentinel.statistics.tunnel import quantiles_of_quantiles

# Candidates for T* of log-probabilities: 0.2 to 10, each a tenth more than the one before, and 1 itself.
TEMPERATURES = tuple(float(at) for at in np.round(1.1 ** np.arange(-16, 25), 4))


class Adjusted(NamedTuple):
    """Lower and upper ends, (n,) each, NaN where a question has none; the temperature where one was chosen."""

    ends: Ends
    temperature: float | None = None


class Fitted:
    """Methods with what they learn from the questions `known`.

    `undercoverage` is lambda of the temperature search.
    """

    def __init__(self, known: Questions, undercoverage: float) -> None:
        self.known, self.undercoverage = known, undercoverage

    def apply(self, method: str, level: float, to: Questions) -> Adjusted | None:
        """The intervals of a method at a level, of those that are stated, for `to`; None where there are none."""
        if method in ADJUSTMENTS:
            return self._adjusted(method, level, to)
        found: Adjusted | None = getattr(self, f"_{method}")(level, to)
        return found

    @property
    def methods(self) -> Sequence[str]:
        """The methods that have what they need."""
        there = {
            "stated": True,
            "repeats": any(lower.shape[1] > 1 for lower, _ in self.known.stated.values()),
            "samples": bool(self.known.samples),
            "distribution": bool(self.known.believed.any()),
        }
        return [name for name, method in METHODS.items() if there[method.source]]

    def _adjusted(self, method: str, level: float, to: Questions) -> Adjusted | None:
        known, there = (~np.isnan(of.first(level)[0]) for of in (self.known, to))
        if not known.any() or (method == "mondrian" and self.known.group is None):
            return None
        adjustment = adjusting.fit(
            method, _stated(self.known.take(known), level), self.known.true[known], alpha_of(level)
        )
        ends = np.full((2, len(to)), np.nan)
        ends[:, there] = adjustment.apply(_stated(to.take(there), level))
        return Adjusted((ends[0], ends[1]))

    def _tunnel(self, level: float, to: Questions) -> Adjusted | None:
        lower, upper = to.stated[level]
        return Adjusted(quantiles_of_quantiles(lower, upper, alpha_of(level))) if lower.shape[1] > 1 else None

    def _sampling(self, level: float, to: Questions) -> Adjusted:
        return Adjusted(empirical_interval(to.samples[self._plain], alpha_of(level)))

    def _self_consistency(self, level: float, to: Questions) -> Adjusted:
        ends = np.full((2, len(to)), np.nan)
        for place, drawn in enumerate(to.samples[self._plain]):
            values, counts = np.unique(drawn[~np.isnan(drawn)], return_counts=True)
            if len(values):
                ends[:, place] = hull(smallest_set(values, counts / counts.sum(), 1 - alpha_of(level)))
        return Adjusted((ends[0], ends[1]))

    def _temperature_search(self, level: float, to: Questions) -> Adjusted | None:
        drawn = self.known.samples
        if len(drawn) < 2 or not self._readable_at_all:
            return None
        at = temperature_search(drawn, self.known.true, alpha_of(level), self.undercoverage)[0].temperature
        return Adjusted(empirical_interval(to.samples[at], alpha_of(level)), at)

    def _logprob(self, level: float, to: Questions) -> Adjusted:
        return Adjusted(_smallest(to, level, 1.0))

    def _logprob_scaled(self, level: float, to: Questions) -> Adjusted:
        return Adjusted(_smallest(to, level, self._best), self._best)

    @property
    def _plain(self) -> float:
        """The temperature of the sampling that is not searched: the one nearest to 1."""
        return min(self.known.samples, key=lambda at: abs(at - 1))

    @property
    def _readable_at_all(self) -> bool:
        readable = [~np.isnan(drawn).all(axis=1) for drawn in self.known.samples.values()]
        return bool(np.all(readable, axis=0).any())

    @cached_property
    def _best(self) -> float:
        """T*: one for all levels."""
        beliefs = [belief for belief in self.known.beliefs if belief is not None]
        alphas = [alpha_of(level) for level in self.known.stated]
        return best_temperature(beliefs, self.known.true[self.known.believed], alphas, TEMPERATURES)


def _stated(questions: Questions, level: float) -> adjusting.Stated:
    return adjusting.Stated(*questions.first(level), questions.covariates[level], questions.group)


def _smallest(to: Questions, level: float, temperature: float) -> Ends:
    ends = np.full((2, len(to)), np.nan)
    scaled = [belief.scaled(temperature) for belief in to.beliefs if belief is not None]
    ends[:, to.believed] = hulls(scaled, 1 - alpha_of(level))
    return ends[0], ends[1]
