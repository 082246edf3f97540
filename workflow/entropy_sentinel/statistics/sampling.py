"""Intervals from repeated answers to a question, and the sampling temperature that makes them true.

Source: Epstein et al., FermiEval (2025), Appendix F. Samples are (..., m), NaN where one has no readable answer.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from entropy_sentinel.statistics.interval_score import covered, winkler
from entropy_sentinel.statistics.numbers import Numbers

# 0.07 * 100 is 7, in binary too.
_ROUNDING = 1e-9


def empirical_quantile(samples: np.ndarray, share: float) -> np.ndarray:
    """The smallest sample that at least this share of the samples is not above, (...); NaN where there is none.

    It is one of the samples: a whole number where these are.
    """
    ordered = np.sort(np.asarray(samples, dtype=float), axis=-1)  # NaN last
    n = (~np.isnan(ordered)).sum(axis=-1)
    rank = np.maximum(np.ceil(share * n - _ROUNDING), 1).astype(int)
    found: np.ndarray = np.take_along_axis(ordered, rank[..., None] - 1, axis=-1)[..., 0]
    return found


def empirical_interval(samples: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """The alpha / 2 and 1 - alpha / 2 quantiles of the samples of n questions, (n, m): lower and upper, (n,) each.

    Of all intervals these have the best expected score, if the samples are what is to be believed (Proposition 2).
    """
    return empirical_quantile(samples, alpha / 2), empirical_quantile(samples, 1 - alpha / 2)


class Searched(NamedTuple):
    """What a temperature makes of the calibration questions: mean score, coverage, and what is minimised."""

    temperature: float
    score: float
    coverage: float
    objective: float


def temperature_search(
    samples: Mapping[float, np.ndarray], true: Numbers, alpha: float, penalty: float
) -> list[Searched]:
    """Every temperature, the best first, of those whose samples of n questions are given, (n, m) each.

    What is minimised is the mean interval score plus `penalty` (the paper's lambda, which it does not give) times the
    square of how far the coverage is below 1 - alpha. Questions without a readable answer at one of the temperatures
    count for none. Raises ValueError where no question is left.
    """
    intervals = {temperature: empirical_interval(drawn, alpha) for temperature, drawn in samples.items()}
    known = ~np.isnan([lower for lower, _ in intervals.values()]).any(axis=0)
    if not known.any():
        raise ValueError("no question has a readable answer at every temperature")
    true, found = np.asarray(true, dtype=float)[known], []
    for temperature, (lower, upper) in intervals.items():
        ends = lower[known], upper[known]
        score, coverage = float(winkler(*ends, true, alpha).mean()), float(covered(*ends, true).mean())
        short = max(0.0, 1 - alpha - coverage)
        found.append(Searched(temperature, score, coverage, score + penalty * short**2))
    return sorted(found, key=lambda one: one.objective)
