"""Stage `scores`: how good the intervals of every method are, and how much better than those that the model states."""

from collections.abc import Iterator
from typing import Any, TypedDict

import numpy as np
import polars as pl

from entropy_sentinel.analyses.intervals.catalogue import alpha_of
from entropy_sentinel.analyses.intervals.frames import ADJUSTED, DIFFERENCES, SCORES
from entropy_sentinel.analyses.intervals.interval_score import score_difference, winkler
from entropy_sentinel.statistics.conformal import coverage

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
    """Rows of SCORES from a frame ADJUSTED: coverage over a method's own intervals, the rest over common questions."""
    for keys, own in adjusted.group_by(_OF, maintain_order=True):
        shared, about = common(own), dict(zip(_OF, keys, strict=True))
        for (method,), rows in own.group_by("method", maintain_order=True):
            read = rows.drop_nulls("lower")
            lower, upper, true = _ends(read)
            held = coverage(lower, upper, true)
            yield about | {
                **{"method": method, "n_questions": len(rows), "n": len(read)},
                **{"n_infinite": int((~np.isfinite(upper - lower)).sum())},
                **{"coverage": held.estimate, "coverage_lower": held.lower, "coverage_upper": held.upper},
                **_scored(shared.filter(method=method), about["level"]),
                **{name: rows[name][0] for name in ("temperature", "temperature_end")},
            }


def common(adjusted: pl.DataFrame) -> pl.DataFrame:
    """The rows of one model, level and half whose question has an interval of every method that is not left out."""
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
    """Lower and upper ends and the right answers, (n,) each."""
    lower, upper, true = (rows[name].to_numpy().astype(float) for name in ("lower", "upper", "true"))
    return lower, upper, true


def differences(adjusted: pl.DataFrame, settings: ScoreSettings) -> Rows:
    """Rows of DIFFERENCES: over the questions for which every method of the model and level has an interval.

    Methods that are left out have no row but the reason.
    """
    for keys, rows in adjusted.group_by(_OF, maintain_order=True):
        about = dict(zip(_OF, keys, strict=True))
        shared = common(rows)
        scores = {
            method: winkler(*_ends(shared.filter(method=method)), alpha_of(about["level"]))
            for method in rows.filter(pl.col("reason").is_null())["method"].unique(maintain_order=True)
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
