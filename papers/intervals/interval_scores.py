"""Stages `scores`, `sets` and `tunnel_index`: the quality of intervals and distributions.

`scores` has the score of every method, and its gain over the stated intervals; `sets` the coverage of the smallest sets
of likely integers and of their hulls; `tunnel_index` how much more certain sampled answers look than their distribution
(Appendix G of the paper).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
import polars as pl
from scipy.special import entr

from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.file_sets import read_all
from entropy_sentinel.statistics.conformal import contains_truth, measure_coverage
from papers.intervals.half_questions import list_distributions, read_exponents, select_basis
from papers.intervals.interval_exhibits import BASES, TEST, compute_alpha
from papers.intervals.interval_frames import (
    ADJUSTED_INTERVALS,
    BELIEFS,
    DIFFERENCES,
    INTEGER_ANSWERS,
    SCORES,
    SETS,
    STATED_INTERVALS,
    TUNNEL_INDEX,
)
from papers.intervals.interval_methods import TEMPERATURES, name_end
from papers.intervals.interval_score import compare_scores, compute_winkler_scores
from papers.intervals.perception_tunnel import tunnel_index
from papers.intervals.smallest_mass import Distribution, compute_hulls, find_best_temperature, find_smallest_set

Rows = Iterator[dict[str, Any]]
_HALF_KEY = ("model", "level", "half")


class ScoreSettings(TypedDict):
    """Bootstrap samples of the questions, and their seed."""

    resamples: int
    seed: int


def write_scores(
    adjusted: str,
    stated: Sequence[str],
    models: Mapping[str, str],
    settings: ScoreSettings,
    scores_output: str,
    differences_output: str,
) -> None:
    """Write files SCORES and DIFFERENCES, from a file ADJUSTED_INTERVALS and files STATED_INTERVALS.

    `models` has the display name of each variant; variants are models of the config that ask the same weights.
    Statements that are too far from 0 to be used are counted.
    """
    rows, provenance = ADJUSTED_INTERVALS.read(adjusted), {"settings": dict(settings)}
    too_far = find_too_far(read_all(STATED_INTERVALS, stated), models)
    SCORES.write(SCORES.frame(list(compute_scores(rows, too_far))), scores_output, provenance)
    DIFFERENCES.write(DIFFERENCES.frame(list(compute_differences(rows, settings))), differences_output, provenance)


def find_too_far(stated: pl.DataFrame, models: Mapping[str, str]) -> pl.DataFrame:
    """Model, level and item_id of the first statements, in STATED_INTERVALS, that are too far from 0 to be used.

    `models` are the names that are shown, by the model of the config.
    """
    name = pl.col("model").replace_strict(models, return_dtype=pl.String)
    return stated.filter(sample=0, reason="too_far").select(name, "level", "item_id")


def compute_scores(adjusted: pl.DataFrame, too_far: pl.DataFrame) -> Rows:
    """Yield rows of SCORES from a frame ADJUSTED_INTERVALS.

    Coverage is over all intervals of a method, other values are over the questions for which all methods have one.
    `too_far` has model, level and item_id of statements that are too far from 0 to be used.
    """
    for keys, half_rows in adjusted.group_by(_HALF_KEY, maintain_order=True):
        common_rows = select_common_questions(half_rows)
        half_fields = dict(zip(_HALF_KEY, keys, strict=True))
        far_items = too_far.filter(model=half_fields["model"], level=half_fields["level"])["item_id"]
        n_too_far = far_items.is_in(half_rows["item_id"].unique().implode()).sum()
        for (method,), rows in half_rows.group_by("method", maintain_order=True):
            interval_rows = rows.drop_nulls("lower")
            lower, upper, true = _extract_limits(interval_rows)
            coverage = measure_coverage(lower, upper, true)
            yield half_fields | {
                "method": method,
                "n_questions": len(rows),
                "n": len(interval_rows),
                "n_too_far": n_too_far,
                "n_infinite": int((~np.isfinite(upper - lower)).sum()),
                "coverage": coverage.estimate,
                "coverage_lower": coverage.lower,
                "coverage_upper": coverage.upper,
                **_summarise_scores(common_rows.filter(method=method), half_fields["level"]),
                "temperature": rows["temperature"][0],
                "temperature_end": rows["temperature_end"][0],
            }


def select_common_questions(adjusted: pl.DataFrame) -> pl.DataFrame:
    """The rows of ADJUSTED_INTERVALS whose question has an interval of every method that could be fitted.

    `adjusted` has the rows of one model, level and half.
    """
    fitted_rows = adjusted.filter(pl.col("reason").is_null())
    incomplete_items = fitted_rows.filter(pl.col("lower").is_null())["item_id"].unique()
    return fitted_rows.filter(~pl.col("item_id").is_in(incomplete_items.implode()))


def _summarise_scores(rows: pl.DataFrame, level: float) -> dict[str, float | None]:
    """The columns n_common, score, median_score and width of SCORES, over rows of ADJUSTED_INTERVALS."""
    if rows.is_empty():
        return {"n_common": 0, "score": None, "median_score": None, "width": None}
    lower, upper, true = _extract_limits(rows)
    score = compute_winkler_scores(lower, upper, true, compute_alpha(level))
    means = {"score": float(score.mean()), "median_score": float(np.median(score))}
    return {"n_common": len(rows), **means, "width": float((upper - lower).mean())}


def _extract_limits(rows: pl.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lower and upper limits and the right answers, (n,) each."""
    lower, upper, true = rows.select(pl.col("lower", "upper", "true").cast(pl.Float64)).to_numpy().T
    return lower, upper, true


def compute_differences(adjusted: pl.DataFrame, settings: ScoreSettings) -> Rows:
    """Yield rows of DIFFERENCES, over the questions for which every method of the model and level has an interval.

    A method that is left out has the reason in its row.
    """
    for keys, rows in adjusted.group_by(_HALF_KEY, maintain_order=True):
        half_fields = dict(zip(_HALF_KEY, keys, strict=True))
        common_rows = select_common_questions(rows)
        scores = {}
        for method in rows.filter(pl.col("reason").is_null())["method"].unique(maintain_order=True):
            scores[method] = compute_winkler_scores(
                *_extract_limits(common_rows.filter(method=method)), compute_alpha(half_fields["level"])
            )
        for method, reason in rows.select("method", "reason").unique(maintain_order=True).iter_rows():
            if reason is not None:
                yield half_fields | {"method": method, "n": 0, "reason": reason}
                continue
            score = scores[method]
            change = compare_scores(score, scores["base"], settings["resamples"], settings["seed"])
            yield half_fields | {
                "method": method,
                "n": len(score),
                "score": float(score.mean()) if len(score) else None,
                "difference": change.mean,
                "lower": change.lower,
                "upper": change.upper,
                "reason": change.reason,
            }


def write_sets(beliefs: str, adjusted: str, calibration: str, test: str, output: str) -> None:
    """Write a file SETS: the coverage of the smallest sets of likely integers, by model, source and level.

    The integers are the answers' decimal exponents. From files BELIEFS and ADJUSTED_INTERVALS; `calibration` and `test`
    are files BENCHMARKS, the two halves of the questions.
    """
    base = ADJUSTED_INTERVALS.read(adjusted).filter(half=TEST, method="base")
    calibration_answers = read_exponents(BENCHMARKS.read(calibration))
    test_answers = read_exponents(BENCHMARKS.read(test))
    rows = compute_sets(BELIEFS.read(beliefs), base, calibration_answers, test_answers)
    SETS.write(SETS.frame(list(rows)), output, {})


def compute_sets(beliefs: pl.DataFrame, base: pl.DataFrame, calibration: dict[str, int], test: dict[str, int]) -> Rows:
    """Yield rows of SETS from a frame BELIEFS, for each model, basis (the source of distributions) and level.

    `base` are the rows of ADJUSTED_INTERVALS for the stated intervals of the test half; `calibration` and `test` are
    the right answers by item id.
    """
    for model in beliefs["model"].unique(maintain_order=True):
        model_rows = base.filter(model=model)
        levels = model_rows["level"].unique().sort().to_list()
        for basis in BASES:
            triples = list_distributions(beliefs.filter(model=model), basis)
            calibration_beliefs = {item: distribution for item, distribution, _ in triples if item in calibration}
            test_beliefs = {item: distribution for item, distribution, _ in triples if item in test}
            if not calibration_beliefs or not test_beliefs:
                continue
            true = [calibration[item] for item in calibration_beliefs]
            best = find_best_temperature(
                list(calibration_beliefs.values()), true, list(map(compute_alpha, levels)), TEMPERATURES
            )
            for level in levels:
                stated = model_rows.filter(pl.col("item_id").is_in(list(test_beliefs)), level=level).drop_nulls("lower")
                yield {
                    "model": model,
                    "basis": basis,
                    "level": level,
                    "n": len(test_beliefs),
                    "temperature": best,
                    "temperature_end": name_end(best, TEMPERATURES),
                    **_measure_sets(
                        list(test_beliefs.values()), [test[item] for item in test_beliefs], compute_alpha(level), best
                    ),
                    "missing": float(np.mean([missing for item, _, missing in triples if item in test])),
                    "n_base": len(stated),
                    "base": float(contains_truth(*_extract_limits(stated)).mean()) if len(stated) else None,
                }


def _measure_sets(
    distributions: Sequence[Distribution], true: Sequence[int], alpha: float, temperature: float
) -> dict[str, float]:
    """Shares of the right answers, (n,), in the smallest set, in its hull, and in its hull at the temperature.

    The columns in_set, in_hull and in_scaled_hull of SETS; a hull is the interval around a set.
    """
    in_set = []
    for distribution, answer in zip(distributions, true, strict=True):
        in_set.append(answer in find_smallest_set(*distribution, 1 - alpha))
    scaled_distributions = [distribution.scale(temperature) for distribution in distributions]
    return {
        "in_set": float(np.mean(in_set)),
        "in_hull": float(contains_truth(*compute_hulls(distributions, 1 - alpha), true).mean()),
        "in_scaled_hull": float(contains_truth(*compute_hulls(scaled_distributions, 1 - alpha), true).mean()),
    }


# Numbers of answers, as far as there are so many.
_ANSWER_COUNTS = (1, 2, 5, 10, 20, 50, 100)


def write_tunnel_index(
    beliefs: str, integers: Sequence[str], test: str, models: Mapping[str, str], settings: ScoreSettings, output: str
) -> None:
    """Write a file TUNNEL_INDEX: how much more certain sampled answers look than the model's own distribution.

    From a file BELIEFS and files INTEGER_ANSWERS, for the questions in `test` (BENCHMARKS); `models` are the names that
    are shown, by the model of the config.
    """
    items = BENCHMARKS.read(test, ["item_id"])
    test_beliefs = BELIEFS.read(beliefs).join(items, on="item_id", how="semi", maintain_order="left")
    answers = read_all(INTEGER_ANSWERS, integers)
    model_answers = answers.with_columns(pl.col("model").replace_strict(models, return_dtype=pl.String))
    rows = compute_tunnel_indices(test_beliefs, model_answers, settings)
    TUNNEL_INDEX.write(TUNNEL_INDEX.frame(list(rows)), output, {"settings": dict(settings)})


def compute_tunnel_indices(beliefs: pl.DataFrame, answers: pl.DataFrame, settings: ScoreSettings) -> Rows:
    """Yield rows of TUNNEL_INDEX, for several m: from the first m readable answers to each question.

    A question needs m such answers in INTEGER_ANSWERS, and a distribution in `beliefs` (BELIEFS).
    """
    readable_answers = answers.drop_nulls("value").sort("sample", maintain_order=True)
    for (model, temperature), group_answers in readable_answers.group_by("model", "temperature", maintain_order=True):
        model_beliefs = beliefs.filter(model=model)
        triples = list_distributions(model_beliefs, select_basis(model_beliefs))
        distribution_by_item = {item: distribution for item, distribution, _ in triples}
        answers_by_item = {}
        for (item,), rows in group_answers.group_by("item_id", maintain_order=True):
            if item in distribution_by_item:
                answers_by_item[str(item)] = rows["value"].to_numpy().astype(float)
        for m in _ANSWER_COUNTS:
            first_answers = {item: samples[:m] for item, samples in answers_by_item.items() if len(samples) >= m}
            if not first_answers:
                continue
            index, entropies = [], []
            for item, first in first_answers.items():
                probabilities = distribution_by_item[item].probabilities
                index.append(tunnel_index(probabilities, first))
                entropies.append(entr(probabilities).sum())
            # The difference from 0 is the mean itself, with its interval.
            mean = compare_scores(index, np.zeros(len(index)), settings["resamples"], settings["seed"])
            yield {
                "model": model,
                "temperature": temperature,
                "m": m,
                "n": len(index),
                "entropy": float(np.mean(entropies)),
                "index": mean.mean,
                "lower": mean.lower,
                "upper": mean.upper,
            }
