"""Cases: a method's estimate for a domain that it was not fitted on, and the domain's true accuracy.

A frame of cases has a row per model, method, training group and domain: `model`, `method`, `k` domains of the group,
`group`, `benchmark`, `estimated` and `true` accuracy over the `n` labelled responses, and `error`, |estimated - true|.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.stats import t

from entropy_sentinel.estimators.estimator_registry import RECOMMENDED, estimator_title
from entropy_sentinel.estimators.estimator_settings import Estimation
from entropy_sentinel.schemas.estimate_schema import ESTIMATES

DEFAULT, FLOOR = Estimation().default, "group-accuracy"
# What the page compares, by the names that it shows.
METHODS = {
    RECOMMENDED: "recommended",
    DEFAULT: "the paper's default (forest)",
    "atc-max": estimator_title("atc-max"),
    "consensus": estimator_title("consensus"),
    "median-of-seven": estimator_title("median-of-seven"),
    FLOOR: "training accuracy (floor)",
}
CONFIDENCE = 0.9


class Known(NamedTuple):
    """A mean over domains and its t-interval of level CONFIDENCE; the ends are NaN for one domain."""

    mean: float
    lower: float
    upper: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} ({self.lower:.3f} to {self.upper:.3f})"


def mean_over_domains(cases: pl.DataFrame, value: str = "error") -> Known:
    """The mean over domains of each domain's mean `value`: all answers to a benchmark count as one draw."""
    means = cases.group_by("benchmark").agg(pl.col(value).mean())[value].to_numpy()
    if len(means) < 2:
        return Known(float(means.mean()), math.nan, math.nan)
    mean, half = (
        float(means.mean()),
        t.ppf((1 + CONFIDENCE) / 2, len(means) - 1) * means.std(ddof=1) / len(means) ** 0.5,
    )
    lower = max(mean - half, 0) if value == "error" else mean - half  # an error is never negative
    return Known(mean, float(lower), float(mean + half))


def compared(cases: pl.DataFrame, one: str, other: str) -> Known:
    """The mean error of method `one` minus that of the `other`, over the cases that both have."""
    keys = ["model", "group", "benchmark"]
    both = cases.filter(method=one).join(cases.filter(method=other), on=keys, suffix="_other")
    return mean_over_domains(both.with_columns(more=pl.col("error") - pl.col("error_other")), "more")


def chance(cases: pl.DataFrame) -> float:
    """The mean error of exact estimates, because n labels are a random sample: sqrt(2 p (1 - p) / (pi n)).

    This is the mean absolute deviation of a normal variable with the variance of the labels' mean.
    """
    p, n = cases["true"].to_numpy(), cases["n"].to_numpy()
    return float(np.sqrt(2 * p * (1 - p) / (math.pi * n)).mean())


def read_cases(results: Path, judge: str) -> pl.DataFrame:
    """The cases of METHODS from a study's estimates, over all its training groups."""
    files = sorted((results / "estimates" / judge).glob("*/*.parquet"))
    return pl.concat(_cases(files)).sort("model", "k", "group", "benchmark", "method")


def _cases(files: Sequence[Path]) -> Iterator[pl.DataFrame]:
    for path in files:
        held_out = ESTIMATES.read(path).filter(
            pl.col("role") == "held_out",
            pl.col("estimator").is_in(list(METHODS)),
            pl.col("estimated_on_labelled").is_not_null() & pl.col("true_accuracy").is_not_null(),
        )
        yield with_errors(
            held_out.select(
                "model",
                "group",
                "benchmark",
                method="estimator",
                k=pl.col("group").str.count_matches("+", literal=True) + 1,
                estimated="estimated_on_labelled",
                true="true_accuracy",
                n="n_labelled",
            )
        )


def with_errors(cases: pl.DataFrame) -> pl.DataFrame:
    """The cases with the column `error` added."""
    return cases.with_columns(error=(pl.col("estimated") - pl.col("true")).abs())
