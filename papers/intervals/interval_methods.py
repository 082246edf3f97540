"""Stage `adjusted`: the intervals of every method of the catalogue, on both halves.

For the test half, methods are fitted on the whole calibration half. For the calibration half itself they are
cross-fitted in five folds, so that methods can be compared without the test half.
"""

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypedDict

import numpy as np
import polars as pl

from entropy_sentinel.features.feature_registry import FEATURE_FRAME
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.file_sets import read_all
from papers.intervals import coverage_adjustment
from papers.intervals.coverage_adjustment import TooFewQuestions
from papers.intervals.half_questions import Ends, Questions, alike, gather
from papers.intervals.interval_exhibits import ADJUSTMENTS, CALIBRATION, METHODS, TEST, alpha_of
from papers.intervals.interval_frames import ADJUSTED, BELIEFS, INTEGER_ANSWERS, STATED
from papers.intervals.perception_tunnel import empirical_interval, quantiles_of_quantiles, temperature_search
from papers.intervals.smallest_mass import best_temperature, hulls, smallest_set

# Candidates for T* of log-probabilities: 0.22 to 9.85, each 10 % larger than the one before, including 1.
TEMPERATURES = tuple(float(at) for at in np.round(1.1 ** np.arange(-16, 25), 4))


class AdjustedIntervals(NamedTuple):
    """Lower and upper limits, (n,) each, NaN for a question without an interval; and the chosen temperature, if any.

    `end` says whether this temperature is the smallest or largest candidate; a better one may then lie beyond it.
    """

    ends: Ends
    temperature: float | None = None
    end: str | None = None


def available(known: Questions, level: float) -> list[str]:
    """The methods whose inputs are available, in the order of the catalogue."""
    has_source = {
        "stated": True,
        "repeats": known.stated[level][0].shape[1] > 1,
        "samples": bool(known.samples),
        "distribution": bool(known.believed.any()),
    }
    names = [name for name, method in METHODS.items() if has_source[method.source]]
    if known.group is None:
        names.remove("mondrian")
    if len(known.samples) == 1:
        names.remove("temperature_search")
    return names


class FittedMethods:
    """Methods fitted on the questions `known`; `undercoverage` is lambda of the temperature search."""

    def __init__(self, known: Questions, undercoverage: float) -> None:
        self.known, self.undercoverage = known, undercoverage

    def apply(self, method: str, level: float, to: Questions) -> AdjustedIntervals:
        """The intervals of an available method at a level; raises TooFewQuestions if it cannot be fitted."""
        if method in ADJUSTMENTS:
            return self._adjusted(method, level, to)
        adjusted: AdjustedIntervals = getattr(self, f"_{method}")(level, to)
        return adjusted

    def _adjusted(self, method: str, level: float, to: Questions) -> AdjustedIntervals:
        known = ~np.isnan(self.known.first(level)[0])
        calibration = _stated(self.known.take(known), level)
        fitted = coverage_adjustment.fit_adjustment(method, calibration, self.known.true[known], alpha_of(level))
        ends = np.full((2, len(to)), np.nan)
        readable = ~np.isnan(to.first(level)[0])
        if readable.any():
            ends[:, readable] = fitted.apply(_stated(to.take(readable), level))
        return AdjustedIntervals((ends[0], ends[1]))

    def _tunnel(self, level: float, to: Questions) -> AdjustedIntervals:
        return AdjustedIntervals(quantiles_of_quantiles(*to.stated[level], alpha_of(level)))

    def _sampling(self, level: float, to: Questions) -> AdjustedIntervals:
        return AdjustedIntervals(empirical_interval(to.samples[self._plain], alpha_of(level)))

    def _self_consistency(self, level: float, to: Questions) -> AdjustedIntervals:
        ends = np.full((2, len(to)), np.nan)
        for place, drawn in enumerate(to.samples[self._plain]):
            values, counts = np.unique(drawn[~np.isnan(drawn)], return_counts=True)
            if len(values):
                ends[:, place] = smallest_set(values, counts / counts.sum(), 1 - alpha_of(level))[[0, -1]]
        return AdjustedIntervals((ends[0], ends[1]))

    def _temperature_search(self, level: float, to: Questions) -> AdjustedIntervals:
        drawn = self.known.samples
        readable = np.all([~np.isnan(draws).all(axis=1) for draws in drawn.values()], axis=0)
        if not readable.any():
            raise coverage_adjustment.TooFewQuestions(1, 0, "questions with a readable answer at each temperature")
        alpha = alpha_of(level)
        best = temperature_search(drawn, self.known.true, alpha, self.undercoverage)[0].temperature
        return AdjustedIntervals(empirical_interval(to.samples[best], alpha), best, end_of(best, drawn))

    def _logprob(self, level: float, to: Questions) -> AdjustedIntervals:
        return AdjustedIntervals(_smallest(to, level, 1.0))

    def _logprob_scaled(self, level: float, to: Questions) -> AdjustedIntervals:
        return AdjustedIntervals(_smallest(to, level, self._best), self._best, end_of(self._best, TEMPERATURES))

    @property
    def _plain(self) -> float:
        """The sampling temperature without a search: the one nearest to 1."""
        return min(self.known.samples, key=lambda temperature: abs(temperature - 1))

    @cached_property
    def _best(self) -> float:
        """T*, the same temperature for all levels."""
        if not self.known.believed.any():
            raise coverage_adjustment.TooFewQuestions(1, 0, "distributions")
        beliefs = [belief for belief in self.known.beliefs if belief is not None]
        alphas = [alpha_of(level) for level in self.known.stated]
        return best_temperature(beliefs, self.known.true[self.known.believed], alphas, TEMPERATURES)


def end_of(value: float, candidates: Collection[float]) -> str | None:
    """Whether a value is the `smallest` or `largest` of its candidates; None for neither."""
    if value == min(candidates):
        return "smallest"
    return "largest" if value == max(candidates) else None


def _stated(questions: Questions, level: float) -> coverage_adjustment.StatedIntervals:
    return coverage_adjustment.StatedIntervals(*questions.first(level), questions.covariates[level], questions.group)


def _smallest(to: Questions, level: float, temperature: float) -> Ends:
    ends = np.full((2, len(to)), np.nan)
    scaled = [belief.scaled(temperature) for belief in to.beliefs if belief is not None]
    ends[:, to.believed] = hulls(scaled, 1 - alpha_of(level))
    return ends[0], ends[1]


FOLDS = 5
Rows = Iterator[dict[str, Any]]
# The questions to fit on, the questions to apply to, and the half that the latter belong to.
Part = tuple[FittedMethods, Questions, str]


class AdjustedSettings(TypedDict):
    """Settings of the fits: the shown model and level of each variant; covariates; lambda; the seed of the folds."""

    models: dict[str, str]
    levels: dict[str, float]
    covariates: list[str]
    undercoverage: float
    seed: int


def write_adjusted(
    stated: Sequence[str],
    integers: Sequence[str],
    features: Sequence[str],
    beliefs: str,
    calibration: str,
    test: str,
    settings: AdjustedSettings,
    output: str,
) -> None:
    """Write the intervals of all methods, models and levels."""
    shown, levels = settings["models"], settings["levels"]
    columns = ["model", "item_id", "sample", *settings["covariates"]]
    signals = pl.concat(FEATURE_FRAME.read(path, columns) for path in features).filter(sample=0)
    signals = signals.with_columns(level=pl.col("model").replace_strict(levels, return_dtype=pl.Float64))
    # The name that is shown replaces that of the variant.
    name = pl.col("model").replace_strict(shown, return_dtype=pl.String)
    frames = [
        read_all(STATED, stated).with_columns(name),
        read_all(INTEGER_ANSWERS, integers).with_columns(name),
        BELIEFS.read(beliefs),
        signals.drop("sample").with_columns(name),
    ]
    calibration_items, test_items = BENCHMARKS.read(calibration), BENCHMARKS.read(test)
    rows: list[dict[str, Any]] = []
    for model in dict.fromkeys(shown[variant] for variant in levels):
        own = [frame.filter(model=model).drop("model") for frame in frames]
        known, new = gather(calibration_items, *own), gather(test_items, *own)
        of_methods = of_model(known, new, settings["undercoverage"], settings["seed"])
        rows += [{"model": model} | row for row in of_methods]
    ADJUSTED.write(ADJUSTED.frame(rows), output, {"settings": dict(settings)})


def of_model(known: Questions, new: Questions, undercoverage: float, seed: int) -> Rows:
    """Rows of ADJUSTED for one model. If a method fails on any fold, its rows state the reason."""
    known, new = alike(known, new)
    folds = np.random.default_rng(seed).permutation(len(known)) % FOLDS
    parts: list[Part] = [(FittedMethods(known, undercoverage), new, TEST)]
    for fold in range(min(FOLDS, len(known))):
        parts.append((FittedMethods(known.take(folds != fold), undercoverage), known.take(folds == fold), CALIBRATION))
    by_method = {}
    for level in known.stated:
        for method in available(known, level):
            by_method[level, method] = _on_all(parts, level, method)
    for place, (_, to, half) in enumerate(parts):
        for (level, method), (intervals, reason) in by_method.items():
            about = {"method": method, "level": level, "half": half, "reason": reason}
            yield from _rows(about, intervals[place], to)


def _on_all(parts: Sequence[Part], level: float, method: str) -> tuple[list[AdjustedIntervals], str | None]:
    """The intervals of a method on each part, or the reason why it cannot be fitted."""
    try:
        return [fitted.apply(method, level, to) for fitted, to, _ in parts], None
    except TooFewQuestions as error:
        unknown = [np.full(len(to), np.nan) for _, to, _ in parts]
        return [AdjustedIntervals((nan, nan)) for nan in unknown], str(error)


def _rows(about: dict[str, Any], adjusted: AdjustedIntervals, to: Questions) -> Rows:
    for item, true, lower, upper in zip(to.item_id, to.true, *adjusted.ends, strict=True):
        known = not np.isnan(lower)
        yield about | {
            "item_id": item,
            "true": true,
            "temperature": adjusted.temperature,
            "temperature_end": adjusted.end,
            "lower": lower if known else None,
            "upper": upper if known else None,
        }
