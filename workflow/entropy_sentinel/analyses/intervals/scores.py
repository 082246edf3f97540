"""Stage `scores`: how good the intervals of every method are, and how much better than those that the model states."""

from collections.abc import Iterator
from typing import Any, TypedDict

import numpy as np
import polars as pl

from entropy_sentinel.analyses.intervals.catalogue import alpha_of
from entropy_sentinel.analyses.intervals.frames import ADJUSTED, DIFFERENCES, SCORES
from entropy_sentinel.statistics.conformal import coverage
from entropy_sentinel.statistics.interval_score import score_difference, winkler

Rows = Iterator[dict[str, Any]]
_OF = ("model", "level", "half")


class ScoreSettings(TypedDict):
    """Bootstrap samples of the questions, and their seed."""

    resamples: int
    seed: int


def write_scores(adjusted: str, settings: ScoreSettings, scores_output: str, differences_output: str) -> None:
    """Write the scores of a file ADJUSTED, and the differences."""
    rows, about = ADJUSTED.read(adjusted), {"settings": dict(settings)}
    SCORES.write(SCORES.frame(list(scores(rows))), scores_output, about)
    DIFFERENCES.write(DIFFERENCES.frame(list(differences(rows, settings))), differences_output, about)


def scores(adjusted: pl.DataFrame) -> Rows:
    """Rows of SCORES from a frame ADJUSTED: over the questions that have an interval of the method."""
    for keys, own in adjusted.group_by(SCORES.key, maintain_order=True):
        about = dict(zip(SCORES.key, keys, strict=True))
        read = own.drop_nulls("lower")
        lower, upper, true = (read[name].to_numpy().astype(float) for name in ("lower", "upper", "true"))
        held = coverage(lower, upper, true)
        found: dict[str, float | None] = {"score": None, "median_score": None, "width": None}
        if len(read):
            score = winkler(lower, upper, true, alpha_of(about["level"]))
            found = {"score": float(score.mean()), "median_score": float(np.median(score))}
            found["width"] = float((upper - lower).mean())
        yield about | {
            **{"n_questions": len(own), "n": len(read), "n_infinite": int((~np.isfinite(upper - lower)).sum())},
            **{"coverage": held.estimate, "coverage_lower": held.lower, "coverage_upper": held.upper},
            **{**found, "temperature": own["temperature"][0]},
        }


def differences(adjusted: pl.DataFrame, settings: ScoreSettings) -> Rows:
    """Rows of DIFFERENCES: over the questions for which every method of the model and level has an interval.

    Methods that are left out have no row but the reason.
    """
    for keys, rows in adjusted.group_by(_OF, maintain_order=True):
        about = dict(zip(_OF, keys, strict=True))
        own = rows.filter(pl.col("reason").is_null())
        lacking = own.filter(pl.col("lower").is_null())["item_id"].unique()
        common = own.filter(~pl.col("item_id").is_in(lacking.implode()))
        scores = {
            method: winkler(of["lower"], of["upper"], of["true"], alpha_of(about["level"]))
            for method in own["method"].unique(maintain_order=True)
            for of in [common.filter(method=method)]
        }
        for method, reason in rows.select("method", "reason").unique(maintain_order=True).iter_rows():
            if reason is not None:
                yield about | {"method": method, "n": 0, "reason": reason}
                continue
            score = scores[method]
            found = score_difference(score, scores["base"], settings["resamples"], settings["seed"])
            yield about | {
                **{"method": method, "n": len(score), "score": float(score.mean()) if len(score) else None},
                **{"difference": found.mean, "lower": found.lower, "upper": found.upper, "reason": found.reason},
            }
