"""The interval of an AUROC (DeLong, DeLong and Clarke-Pearson 1988), by ranks as in Sun and Xu (2014)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import norm, rankdata

from entropy_sentinel.statistics.auroc import auroc

CONFIDENCE = 0.95


class Auroc(NamedTuple):
    """An AUROC with the ends of its interval, all in [0, 1].

    `reason` says why there is no AUROC. Without one the ends are null too; with one they are null where the interval
    is undefined: a class of one response has no variance, and classes that do not overlap have none to show.
    """

    auroc: float | None
    lower: float | None
    upper: float | None
    reason: str | None


def auroc_interval(feature_values: Sequence[float], correct: Sequence[bool], larger_is_confident: bool) -> Auroc:
    """`statistics.auroc.auroc` with its 95 % interval, cut off at 0 and 1; the arguments are the same."""
    area, reason = auroc(feature_values, correct, larger_is_confident)
    if area is None:
        return Auroc(None, None, None, reason)
    values, right = np.asarray(feature_values, dtype=float), np.asarray(correct, dtype=bool)
    _, variance = delong(values[~right], values[right])
    if not variance > 0:
        return Auroc(area, None, None, None)
    half = float(norm.ppf((1 + CONFIDENCE) / 2)) * variance**0.5
    return Auroc(area, max(0.0, area - half), min(1.0, area + half), None)


def delong(positive: np.ndarray, negative: np.ndarray) -> tuple[float, float]:
    """The share of pairs in which the positive value is larger, ties counted half, and DeLong's variance of it.

    `positive` is (m,), `negative` (n,). The variance is NaN where a class has one value. A value's rank among all less
    that in its own class counts the values of the other class below it (Sun and Xu 2014, algorithm 2).
    """
    m, n = len(positive), len(negative)
    ranks = rankdata(np.concatenate([positive, negative]))
    above = (ranks[:m] - rankdata(positive)) / n  # (m,) share of negatives below each positive
    below = 1 - (ranks[m:] - rankdata(negative)) / m  # (n,) share of positives above each negative
    if m == 1 or n == 1:
        return float(above.mean()), float("nan")
    return float(above.mean()), float(above.var(ddof=1) / m + below.var(ddof=1) / n)
