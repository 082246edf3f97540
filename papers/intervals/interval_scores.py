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
from papers.intervals.half_questions import distributions, exponents, first_basis
from papers.intervals.interval_exhibits import BASES, TEST, alpha_of
from papers.intervals.interval_frames import (
    ADJUSTED,
    BELIEFS,
    DIFFERENCES,
    INTEGER_ANSWERS,
    SCORES,
    SETS,
    STATED,
    TUNNEL_INDEX,
)
from papers.intervals.interval_methods import TEMPERATURES, end_of
from papers.intervals.interval_score import score_difference, winkler
from papers.intervals.perception_tunnel import tunnel_index
from papers.intervals.smallest_mass import Distribution, best_temperature, hulls, smallest_set

Rows = Iterator[dict[str, Any]]
_OF = ("model", "level", "half")


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
    """Write the scores of a file ADJUSTED, and the differences; `models` are the names that are shown, by variant."""
    rows, about = ADJUSTED.read(adjusted), {"settings": dict(settings)}
    too_far = find_too_far(read_all(STATED, stated), models)
    SCORES.write(SCORES.frame(list(scores(rows, too_far))), scores_output, about)
    DIFFERENCES.write(DIFFERENCES.frame(list(differences(rows, settings))), differences_output, about)


def find_too_far(stated: pl.DataFrame, models: Mapping[str, str]) -> pl.DataFrame:
    """Model, level and item_id where the first query states an interval that is too far from 0 to be used."""
    name = pl.col("model").replace_strict(models, return_dtype=pl.String)
    return stated.filter(sample=0, reason="too_far").select(name, "level", "item_id")


def scores(adjusted: pl.DataFrame, too_far: pl.DataFrame) -> Rows:
    """Rows of SCORES from a frame ADJUSTED: coverage over a method's intervals, others over common questions.

    `too_far` has model, level and item_id of the statements that `find_too_far` finds.
    """
    for keys, own in adjusted.group_by(_OF, maintain_order=True):
        shared, about = common(own), dict(zip(_OF, keys, strict=True))
        far = too_far.filter(model=about["model"], level=about["level"])["item_id"]
        n_too_far = far.is_in(own["item_id"].unique().implode()).sum()
        for (method,), rows in own.group_by("method", maintain_order=True):
            read = rows.drop_nulls("lower")
            lower, upper, true = _ends(read)
            share = measure_coverage(lower, upper, true)
            yield about | {
                "method": method,
                "n_questions": len(rows),
                "n": len(read),
                "n_too_far": n_too_far,
                "n_infinite": int((~np.isfinite(upper - lower)).sum()),
                "coverage": share.estimate,
                "coverage_lower": share.lower,
                "coverage_upper": share.upper,
                **_scored(shared.filter(method=method), about["level"]),
                "temperature": rows["temperature"][0],
                "temperature_end": rows["temperature_end"][0],
            }


def common(adjusted: pl.DataFrame) -> pl.DataFrame:
    """The rows of one model, level and half whose question has an interval of every remaining method."""
    own = adjusted.filter(pl.col("reason").is_null())
    lacking = own.filter(pl.col("lower").is_null())["item_id"].unique()
    return own.filter(~pl.col("item_id").is_in(lacking.implode()))


def _scored(rows: pl.DataFrame, level: float) -> dict[str, float | None]:
    if rows.is_empty():
        return {"n_common": 0, "score": None, "median_score": None, "width": None}
    lower, upper, true = _ends(rows)
    score = winkler(lower, upper, true, alpha_of(level))
    means = {"score": float(score.mean()), "median_score": float(np.median(score))}
    return {"n_common": len(rows), **means, "width": float((upper - lower).mean())}


def _ends(rows: pl.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lower and upper limits and the right answers, (n,) each."""
    lower, upper, true = rows.select(pl.col("lower", "upper", "true").cast(pl.Float64)).to_numpy().T
    return lower, upper, true


def differences(adjusted: pl.DataFrame, settings: ScoreSettings) -> Rows:
    """Rows of DIFFERENCES, over the questions for which every method of the model and level has an interval.

    A method that is left out has the reason in its row.
    """
    for keys, rows in adjusted.group_by(_OF, maintain_order=True):
        about = dict(zip(_OF, keys, strict=True))
        shared = common(rows)
        scores = {}
        for method in rows.filter(pl.col("reason").is_null())["method"].unique(maintain_order=True):
            scores[method] = winkler(*_ends(shared.filter(method=method)), alpha_of(about["level"]))
        for method, reason in rows.select("method", "reason").unique(maintain_order=True).iter_rows():
            if reason is not None:
                yield about | {"method": method, "n": 0, "reason": reason}
                continue
            score = scores[method]
            change = score_difference(score, scores["base"], settings["resamples"], settings["seed"])
            yield about | {
                "method": method,
                "n": len(score),
                "score": float(score.mean()) if len(score) else None,
                "difference": change.mean,
                "lower": change.lower,
                "upper": change.upper,
                "reason": change.reason,
            }


def write_sets(beliefs: str, adjusted: str, calibration: str, test: str, output: str) -> None:
    """Write the coverage of the smallest sets of every model, basis and level."""
    base = ADJUSTED.read(adjusted).filter(half=TEST, method="base")
    known, new = exponents(BENCHMARKS.read(calibration)), exponents(BENCHMARKS.read(test))
    SETS.write(SETS.frame(list(sets(BELIEFS.read(beliefs), base, known, new))), output, {})


def sets(beliefs: pl.DataFrame, base: pl.DataFrame, calibration: dict[str, int], test: dict[str, int]) -> Rows:
    """Rows of SETS; `base` are rows of ADJUSTED, `calibration` and `test` the right answers by item."""
    for model in beliefs["model"].unique(maintain_order=True):
        own = base.filter(model=model)
        levels = own["level"].unique().sort().to_list()
        for basis in BASES:
            triples = distributions(beliefs.filter(model=model), basis)
            known = {item: distribution for item, distribution, _ in triples if item in calibration}
            new = {item: distribution for item, distribution, _ in triples if item in test}
            if not known or not new:
                continue
            true = [calibration[item] for item in known]
            best = best_temperature(list(known.values()), true, list(map(alpha_of, levels)), TEMPERATURES)
            for level in levels:
                stated = own.filter(pl.col("item_id").is_in(list(new)), level=level).drop_nulls("lower")
                yield {
                    "model": model,
                    "basis": basis,
                    "level": level,
                    "n": len(new),
                    "temperature": best,
                    "temperature_end": end_of(best, TEMPERATURES),
                    **_coverage(list(new.values()), [test[item] for item in new], alpha_of(level), best),
                    "missing": float(np.mean([missing for item, _, missing in triples if item in test])),
                    "n_base": len(stated),
                    "base": float(contains_truth(*_ends(stated)).mean()) if len(stated) else None,
                }


def _coverage(new: Sequence[Distribution], true: Sequence[int], alpha: float, temperature: float) -> dict[str, float]:
    in_set = []
    for distribution, answer in zip(new, true, strict=True):
        in_set.append(answer in smallest_set(*distribution, 1 - alpha))
    scaled = [distribution.scaled(temperature) for distribution in new]
    return {
        "in_set": float(np.mean(in_set)),
        "in_hull": float(contains_truth(*hulls(new, 1 - alpha), true).mean()),
        "in_scaled_hull": float(contains_truth(*hulls(scaled, 1 - alpha), true).mean()),
    }


# Numbers of answers, as far as there are so many.
_ANSWERS = (1, 2, 5, 10, 20, 50, 100)


def write_tunnel_index(
    beliefs: str, integers: Sequence[str], test: str, models: Mapping[str, str], settings: ScoreSettings, output: str
) -> None:
    """Write the empirical tunnel index; `models` are the names that are shown, by variant."""
    items = BENCHMARKS.read(test, ["item_id"])
    distributions = BELIEFS.read(beliefs).join(items, on="item_id", how="semi", maintain_order="left")
    answers = read_all(INTEGER_ANSWERS, integers)
    shown = answers.with_columns(pl.col("model").replace_strict(models, return_dtype=pl.String))
    TUNNEL_INDEX.write(
        TUNNEL_INDEX.frame(list(indices(distributions, shown, settings))), output, {"settings": dict(settings)}
    )


def indices(beliefs: pl.DataFrame, answers: pl.DataFrame, settings: ScoreSettings) -> Rows:
    """Rows of TUNNEL_INDEX, from the first m readable answers to questions with so many and a distribution."""
    read = answers.drop_nulls("value").sort("sample", maintain_order=True)
    for (model, temperature), own in read.group_by("model", "temperature", maintain_order=True):
        mine = beliefs.filter(model=model)
        direct = {item: distribution for item, distribution, _ in distributions(mine, first_basis(mine))}
        values = {}
        for (item,), rows in own.group_by("item_id", maintain_order=True):
            if item in direct:
                values[str(item)] = rows["value"].to_numpy().astype(float)
        for m in _ANSWERS:
            enough = {item: drawn[:m] for item, drawn in values.items() if len(drawn) >= m}
            if not enough:
                continue
            index, entropies = [], []
            for item, first in enough.items():
                index.append(tunnel_index(direct[item].probabilities, first))
                entropies.append(entr(direct[item].probabilities).sum())
            mean = score_difference(index, np.zeros(len(index)), settings["resamples"], settings["seed"])
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
