"""The methods of the catalogue: each fitted on some questions and applied to others."""

from collections.abc import Collection
from functools import cached_property
from typing import NamedTuple

import numpy as np

from entropy_sentinel.analyses.intervals import adjusting
from entropy_sentinel.analyses.intervals.catalogue import ADJUSTMENTS, METHODS, alpha_of
from entropy_sentinel.analyses.intervals.questions import Ends, Questions
from entropy_sentinel.analyses.intervals.smallest_mass import best_temperature, hull, hulls, smallest_set
from entropy_sentinel.analyses.intervals.tunnel import empirical_interval, quantiles_of_quantiles, temperature_search

# Candidates for T* of log-probabilities: 0.22 to 9.85, each a tenth more than the one before, and 1 itself.
TEMPERATURES = tuple(float(at) for at in np.round(1.1 ** np.arange(-16, 25), 4))


class Adjusted(NamedTuple):
    """Lower and upper ends, (n,) each, NaN where a question has none; the temperature where one was chosen.

    `end` says whether that is the smallest or largest candidate, so that a better one may lie beyond it.
    """

    ends: Ends
    temperature: float | None = None
    end: str | None = None


def available(known: Questions, level: float) -> list[str]:
    """The methods that have what they need, in the order of the catalogue."""
    there = {
        "stated": True,
        "repeats": known.stated[level][0].shape[1] > 1,
        "samples": bool(known.samples),
        "distribution": bool(known.believed.any()),
    }
    lacking = {"mondrian": known.group is None, "temperature_search": len(known.samples) < 2}
    return [name for name, method in METHODS.items() if there[method.source] and not lacking.get(name)]


class Fitted:
    """Methods with what they learn from the questions `known`; `undercoverage` is lambda of the temperature search."""

    def __init__(self, known: Questions, undercoverage: float) -> None:
        self.known, self.undercoverage = known, undercoverage

    def apply(self, method: str, level: float, to: Questions) -> Adjusted:
        """The intervals of an available method at a stated level; raises TooFew where it cannot be fitted."""
        if method in ADJUSTMENTS:
            return self._adjusted(method, level, to)
        found: Adjusted = getattr(self, f"_{method}")(level, to)
        return found

    def _adjusted(self, method: str, level: float, to: Questions) -> Adjusted:
        known, there = (~np.isnan(of.first(level)[0]) for of in (self.known, to))
        calibration, ends = _stated(self.known.take(known), level), np.full((2, len(to)), np.nan)
        fitted = adjusting.fit(method, calibration, self.known.true[known], alpha_of(level))
        if there.any():
            ends[:, there] = fitted.apply(_stated(to.take(there), level))
        return Adjusted((ends[0], ends[1]))

    def _tunnel(self, level: float, to: Questions) -> Adjusted:
        return Adjusted(quantiles_of_quantiles(*to.stated[level], alpha_of(level)))

    def _sampling(self, level: float, to: Questions) -> Adjusted:
        return Adjusted(empirical_interval(to.samples[self._plain], alpha_of(level)))

    def _self_consistency(self, level: float, to: Questions) -> Adjusted:
        ends = np.full((2, len(to)), np.nan)
        for place, drawn in enumerate(to.samples[self._plain]):
            values, counts = np.unique(drawn[~np.isnan(drawn)], return_counts=True)
            if len(values):
                ends[:, place] = hull(smallest_set(values, counts / counts.sum(), 1 - alpha_of(level)))
        return Adjusted((ends[0], ends[1]))

    def _temperature_search(self, level: float, to: Questions) -> Adjusted:
        drawn = self.known.samples
        readable = np.all([~np.isnan(one).all(axis=1) for one in drawn.values()], axis=0)
        if not readable.any():
            raise adjusting.TooFew(1, 0, "questions with a readable answer at each temperature")
        at = temperature_search(drawn, self.known.true, alpha_of(level), self.undercoverage)[0].temperature
        return Adjusted(empirical_interval(to.samples[at], alpha_of(level)), at, end_of(at, drawn))

    def _logprob(self, level: float, to: Questions) -> Adjusted:
        return Adjusted(_smallest(to, level, 1.0))

    def _logprob_scaled(self, level: float, to: Questions) -> Adjusted:
        return Adjusted(_smallest(to, level, self._best), self._best, end_of(self._best, TEMPERATURES))

    @property
    def _plain(self) -> float:
        """The temperature of the sampling that is not searched: the one nearest to 1."""
        return min(self.known.samples, key=lambda at: abs(at - 1))

    @cached_property
    def _best(self) -> float:
        """T*: one for all levels."""
        if not self.known.believed.any():
            raise adjusting.TooFew(1, 0, "distributions")
        beliefs = [belief for belief in self.known.beliefs if belief is not None]
        alphas = [alpha_of(level) for level in self.known.stated]
        return best_temperature(beliefs, self.known.true[self.known.believed], alphas, TEMPERATURES)


def end_of(value: float, candidates: Collection[float]) -> str | None:
    """Whether a value is the `smallest` or `largest` of the candidates that it was chosen from; None for neither."""
    return {max(candidates): "largest", min(candidates): "smallest"}.get(value)


def _stated(questions: Questions, level: float) -> adjusting.Stated:
    return adjusting.Stated(*questions.first(level), questions.covariates[level], questions.group)


def _smallest(to: Questions, level: float, temperature: float) -> Ends:
    ends = np.full((2, len(to)), np.nan)
    scaled = [belief.scaled(temperature) for belief in to.beliefs if belief is not None]
    ends[:, to.believed] = hulls(scaled, 1 - alpha_of(level))
    return ends[0], ends[1]
