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
from papers.intervals.half_questions import Ends, Questions, drop_unshared_parts, gather_questions
from papers.intervals.interval_exhibits import ADJUSTMENTS, CALIBRATION, METHODS, TEST, compute_alpha
from papers.intervals.interval_frames import ADJUSTED_INTERVALS, BELIEFS, INTEGER_ANSWERS, STATED_INTERVALS
from papers.intervals.perception_tunnel import empirical_interval, quantiles_of_quantiles, search_temperatures
from papers.intervals.smallest_mass import compute_hulls, find_best_temperature, find_smallest_set

# Candidates for T* of log-probabilities: 0.22 to 9.85, each 10 % larger than the one before, including 1.
TEMPERATURES = tuple(float(at) for at in np.round(1.1 ** np.arange(-16, 25), 4))


class AdjustedIntervals(NamedTuple):
    """Lower and upper limits, (n,) each, NaN for a question without an interval; and the chosen temperature, if any.

    `end` says whether this temperature is the smallest or largest candidate; a better one may then lie beyond it.
    """

    ends: Ends
    temperature: float | None = None
    end: str | None = None


def list_available_methods(calibration: Questions, level: float) -> list[str]:
    """The methods (METHODS) whose inputs the calibration questions have, in the order of the catalogue."""
    lower_limits, _ = calibration.stated[level]
    n_queries = lower_limits.shape[1]
    has_source = {
        "stated": True,
        "repeats": n_queries > 1,
        "samples": bool(calibration.samples_by_temperature),
        "distribution": bool(calibration.has_belief.any()),
    }
    names = [name for name, method in METHODS.items() if has_source[method.source]]
    if calibration.group is None:  # this method has a margin for each kind of question
        names.remove("mondrian")
    if len(calibration.samples_by_temperature) == 1:  # there is nothing to choose from
        names.remove("temperature_search")
    return names


class FittedMethods:
    """Methods fitted on the questions `calibration`.

    `undercoverage` is lambda of the temperature search, the penalty on the squared shortfall of the coverage.
    """

    def __init__(self, calibration: Questions, undercoverage: float) -> None:
        self.calibration, self.undercoverage = calibration, undercoverage

    def apply(self, method: str, level: float, questions: Questions) -> AdjustedIntervals:
        """The intervals of an available method (a key of METHODS) at a level, for `questions`.

        Raises TooFewQuestions if it cannot be fitted.
        """
        if method in ADJUSTMENTS:
            return self._adjust(method, level, questions)
        # Each other method is a private one here, such as `_tunnel`.
        adjusted: AdjustedIntervals = getattr(self, f"_{method}")(level, questions)
        return adjusted

    def _adjust(self, method: str, level: float, questions: Questions) -> AdjustedIntervals:
        """The stated intervals after an adjustment, which is fitted on the calibration questions that have one."""
        calibration_lower, _ = self.calibration.first(level)
        usable = ~np.isnan(calibration_lower)
        usable_intervals = _make_stated_intervals(self.calibration.take(usable), level)
        adjustment = coverage_adjustment.fit_adjustment(
            method, usable_intervals, self.calibration.true[usable], compute_alpha(level)
        )
        ends = np.full((2, len(questions)), np.nan)
        lower, _ = questions.first(level)
        readable = ~np.isnan(lower)
        if readable.any():
            ends[:, readable] = adjustment.apply(_make_stated_intervals(questions.take(readable), level))
        return AdjustedIntervals((ends[0], ends[1]))

    def _tunnel(self, level: float, questions: Questions) -> AdjustedIntervals:
        """Quantiles of the limits that repeated queries state."""
        return AdjustedIntervals(quantiles_of_quantiles(*questions.stated[level], compute_alpha(level)))

    def _sampling(self, level: float, questions: Questions) -> AdjustedIntervals:
        """Quantiles of the sampled answers."""
        return AdjustedIntervals(
            empirical_interval(questions.samples_by_temperature[self._plain_temperature], compute_alpha(level))
        )

    def _self_consistency(self, level: float, questions: Questions) -> AdjustedIntervals:
        """The interval around the smallest set of sampled answers with the level, by their shares of the samples."""
        ends = np.full((2, len(questions)), np.nan)
        for index, samples in enumerate(questions.samples_by_temperature[self._plain_temperature]):
            values, counts = np.unique(samples[~np.isnan(samples)], return_counts=True)
            if len(values):
                smallest_set = find_smallest_set(values, counts / counts.sum(), 1 - compute_alpha(level))
                ends[:, index] = smallest_set[0], smallest_set[-1]
        return AdjustedIntervals((ends[0], ends[1]))

    def _temperature_search(self, level: float, questions: Questions) -> AdjustedIntervals:
        """Quantiles of the answers sampled at the temperature that is best on the calibration questions."""
        samples = self.calibration.samples_by_temperature
        readable = np.all([~np.isnan(draws).all(axis=1) for draws in samples.values()], axis=0)
        if not readable.any():
            raise coverage_adjustment.TooFewQuestions(1, 0, "questions with a readable answer at each temperature")
        alpha = compute_alpha(level)
        best_first = search_temperatures(samples, self.calibration.true, alpha, self.undercoverage)
        best = best_first[0].temperature
        ends = empirical_interval(questions.samples_by_temperature[best], alpha)
        return AdjustedIntervals(ends, temperature=best, end=name_end(best, samples))

    def _logprob(self, level: float, questions: Questions) -> AdjustedIntervals:
        """The interval around the smallest set of integers with the level, by the model's distribution over them."""
        return AdjustedIntervals(_compute_belief_intervals(questions, level, temperature=1.0))

    def _logprob_scaled(self, level: float, questions: Questions) -> AdjustedIntervals:
        """As by log-probabilities, with distributions at the temperature that is best on the calibration questions."""
        return AdjustedIntervals(
            _compute_belief_intervals(questions, level, self._best_temperature),
            self._best_temperature,
            name_end(self._best_temperature, TEMPERATURES),
        )

    @property
    def _plain_temperature(self) -> float:
        """The sampling temperature without a search: the one nearest to 1."""
        return min(self.calibration.samples_by_temperature, key=lambda temperature: abs(temperature - 1))

    @cached_property
    def _best_temperature(self) -> float:
        """T*, the temperature of distributions that is best on the calibration questions, the same for all levels."""
        if not self.calibration.has_belief.any():
            raise coverage_adjustment.TooFewQuestions(1, 0, "distributions")
        beliefs = [belief for belief in self.calibration.beliefs if belief is not None]
        alphas = [compute_alpha(level) for level in self.calibration.stated]
        return find_best_temperature(beliefs, self.calibration.true[self.calibration.has_belief], alphas, TEMPERATURES)


def name_end(value: float, candidates: Collection[float]) -> str | None:
    """Whether a value is the `smallest` or `largest` of its candidates; None for neither."""
    if value == min(candidates):
        return "smallest"
    return "largest" if value == max(candidates) else None


def _make_stated_intervals(questions: Questions, level: float) -> coverage_adjustment.StatedIntervals:
    """The intervals of the first query at a level, with the covariates and kinds of the questions."""
    return coverage_adjustment.StatedIntervals(*questions.first(level), questions.covariates[level], questions.group)


def _compute_belief_intervals(questions: Questions, level: float, temperature: float) -> Ends:
    """The smallest interval around each question's smallest set of integers that has the level, NaN without a belief.

    Beliefs, the distributions over integers, are scaled to the temperature first.
    """
    coverage = 1 - compute_alpha(level)
    ends = np.full((2, len(questions)), np.nan)
    distributions = [belief.scale(temperature) for belief in questions.beliefs if belief is not None]
    ends[:, questions.has_belief] = compute_hulls(distributions, coverage)
    return ends[0], ends[1]


FOLDS = 5
Rows = Iterator[dict[str, Any]]
# The questions to fit on, the questions to apply to, and the half that the latter belong to.
Part = tuple[FittedMethods, Questions, str]


class AdjustedSettings(TypedDict):
    """Settings of the fits; a variant is a model of the config, several of which ask the same weights.

    `models` and `levels` are by variant the name that is shown, and the level of the intervals that it states;
    `covariates` are names of features, `undercoverage` is lambda of the temperature search, `seed` that of the folds.
    """

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
    """Write a file ADJUSTED_INTERVALS: the intervals of all methods, models and levels, on both halves.

    `stated`, `integers` and `features` are files STATED_INTERVALS, INTEGER_ANSWERS and FEATURE_FRAME of all variants,
    `beliefs` is a file BELIEFS; `calibration` and `test` are files BENCHMARKS, the halves.
    """
    model_names, levels = settings["models"], settings["levels"]
    columns = ["model", "item_id", "sample", *settings["covariates"]]
    signals = pl.concat(FEATURE_FRAME.read(path, columns) for path in features).filter(sample=0)
    signals = signals.with_columns(level=pl.col("model").replace_strict(levels, return_dtype=pl.Float64))
    # The name that is shown replaces that of the variant.
    name = pl.col("model").replace_strict(model_names, return_dtype=pl.String)
    frames = [
        read_all(STATED_INTERVALS, stated).with_columns(name),
        read_all(INTEGER_ANSWERS, integers).with_columns(name),
        BELIEFS.read(beliefs),
        signals.drop("sample").with_columns(name),
    ]
    calibration_items, test_items = BENCHMARKS.read(calibration), BENCHMARKS.read(test)
    rows: list[dict[str, Any]] = []
    for model in dict.fromkeys(model_names[variant] for variant in levels):
        model_frames = [frame.filter(model=model).drop("model") for frame in frames]
        calibration_questions = gather_questions(calibration_items, *model_frames)
        test_questions = gather_questions(test_items, *model_frames)
        method_rows = adjust_model(calibration_questions, test_questions, settings["undercoverage"], settings["seed"])
        rows += [{"model": model} | row for row in method_rows]
    ADJUSTED_INTERVALS.write(ADJUSTED_INTERVALS.frame(rows), output, {"settings": dict(settings)})


def adjust_model(calibration: Questions, test: Questions, undercoverage: float, seed: int) -> Rows:
    """Yield rows of ADJUSTED_INTERVALS for one model, without the model. A method that fails on a fold has a reason.

    `undercoverage` is lambda of the temperature search, `seed` that of the folds.
    """
    calibration, test = drop_unshared_parts(calibration, test)
    # For the test half, methods are fitted on the calibration half; for each fold of this half, on its other folds.
    folds = np.random.default_rng(seed).permutation(len(calibration)) % FOLDS
    parts: list[Part] = [(FittedMethods(calibration, undercoverage), test, TEST)]
    for fold in range(min(FOLDS, len(calibration))):
        fitted = FittedMethods(calibration.take(folds != fold), undercoverage)
        parts.append((fitted, calibration.take(folds == fold), CALIBRATION))
    by_method = {}
    for level in calibration.stated:
        for method in list_available_methods(calibration, level):
            by_method[level, method] = _apply_to_parts(parts, level, method)
    for index, (_, questions, half) in enumerate(parts):
        for (level, method), (intervals, reason) in by_method.items():
            method_fields = {"method": method, "level": level, "half": half, "reason": reason}
            yield from _make_rows(method_fields, intervals[index], questions)


def _apply_to_parts(parts: Sequence[Part], level: float, method: str) -> tuple[list[AdjustedIntervals], str | None]:
    """The intervals of a method on each part, and None; or NaN for all questions, and why it cannot be fitted."""
    try:
        return [fitted.apply(method, level, questions) for fitted, questions, _ in parts], None
    except TooFewQuestions as error:
        missing_limits = [np.full(len(questions), np.nan) for _, questions, _ in parts]
        return [AdjustedIntervals((limits, limits)) for limits in missing_limits], str(error)


def _make_rows(method_fields: dict[str, Any], adjusted: AdjustedIntervals, questions: Questions) -> Rows:
    """Yield rows of ADJUSTED_INTERVALS, one for each question; limits are null for a question without an interval."""
    # `ends` are the lower and upper limits; `end` is that of the candidate temperatures at which the chosen one lies.
    for item, true, lower, upper in zip(questions.item_id, questions.true, *adjusted.ends, strict=True):
        has_interval = not np.isnan(lower)
        yield method_fields | {
            "item_id": item,
            "true": true,
            "temperature": adjusted.temperature,
            "temperature_end": adjusted.end,
            "lower": lower if has_interval else None,
            "upper": upper if has_interval else None,
        }
