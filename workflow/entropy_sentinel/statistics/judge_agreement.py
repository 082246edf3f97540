"""The agreement of two judges, and the true share from an imperfect judge's counts, with intervals.

Counts may be fractions, such as those of a weighted sample, scaled to its `effective_size`.
"""

from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from entropy_sentinel.statistics.array_types import Numbers

LEVEL = 0.95


class Interval(NamedTuple):
    """An estimate with its confidence interval; `reason` says why a part is null."""

    estimate: float | None
    lower: float | None
    upper: float | None
    reason: str | None = None

    def known(self) -> tuple[float, float, float]:
        """Estimate, lower and upper; raises ValueError with the reason if any is null."""
        if self.estimate is None or self.lower is None or self.upper is None:
            raise ValueError(self.reason)
        return self.estimate, self.lower, self.upper


def clustered_size(hits: Numbers, clusters: Numbers) -> float:
    """The effective sample size of the share of `hits`, (n,) bool, for rows in `clusters`.

    `clusters`, (n,), is a number for the question of each row. The size is n over the design effect (Kish 1965), at
    most n. If all rows are equal, it is the number of clusters.
    """
    hits = np.asarray(hits, dtype=float)
    distinct, cluster = np.unique(np.asarray(clusters), return_inverse=True)
    n = len(hits)
    if len(distinct) == n:
        return float(n)
    share = hits.mean()
    between = (np.bincount(cluster, hits - share) ** 2).sum()
    if not between:
        return float(len(distinct))
    return float(min(n, n * n * share * (1 - share) / between))


def _undefined(reason: str) -> Interval:
    return Interval(None, None, None, reason)


def _z(level: float) -> float:
    return NormalDist().inv_cdf((1 + level) / 2)


def effective_size(weights: Numbers) -> float:
    """The effective sample size of weights: (sum w)^2 / sum w^2 (Kish 1965); 0 without weights."""
    weights = np.asarray(weights, dtype=float)
    return float(weights.sum() ** 2 / (weights**2).sum()) if len(weights) else 0.0


def wilson(successes: float, n: float, level: float = LEVEL) -> Interval:
    """The share `successes` of `n` with Wilson's score interval (Wilson 1927); null if n is 0."""
    if n <= 0:
        return _undefined("no pair")
    z, share = _z(level), successes / n
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # For 0 or n successes the limit is exactly 0 or 1, but for rounding.
    lower = 0.0 if successes <= 0 else float(max(centre - half, 0))
    upper = 1.0 if successes >= n else float(min(centre + half, 1))
    return Interval(float(share), lower, upper)


def kappa(counts: Sequence[Sequence[float]], level: float = LEVEL) -> Interval:
    """Cohen's kappa of two judges (Cohen 1960) with an interval from the asymptotic standard error.

    `counts` is (k, k): rows are the first judge's verdicts, columns the second's, in the same order. The standard error
    is that of Fleiss, Cohen and Everitt (1969), equation 13. The interval is clipped to [-1, 1].

    Kappa is null without pairs, and if both judges always give the same verdict. If only one judge always gives the
    same verdict, kappa is 0 without an interval. If the judges never differ, the standard error is 0; the lower limit
    is then Wilson's limit for the agreement, corrected for chance like kappa.
    """
    table = np.asarray(counts, dtype=float)
    n = table.sum()
    if n <= 0:
        return _undefined("no pair")
    share = table / n
    rows, columns = share.sum(axis=1), share.sum(axis=0)
    agreed, by_chance = float(np.trace(share)), float(rows @ columns)
    differs = bool((table - np.diag(np.diag(table))).any())
    constant = (rows > 0).sum() == 1 or (columns > 0).sum() == 1
    if constant and not differs:
        return _undefined("both judges always give the same verdict")
    value = float((agreed - by_chance) / (1 - by_chance))
    if constant:
        return Interval(0.0, None, None, "one of the judges always gives the same verdict: kappa is 0 by definition")
    if not differs:
        _, lowest, _ = wilson(n, n, level).known()
        return Interval(1.0, max((lowest - by_chance) / (1 - by_chance), -1.0), 1.0)
    half = _z(level) * _kappa_error(share, value, by_chance) / float(np.sqrt(n))
    return Interval(value, max(value - half, -1.0), min(value + half, 1.0))


def _kappa_error(share: np.ndarray, value: float, by_chance: float) -> float:
    """The asymptotic standard error of kappa, times the square root of n."""
    rows, columns = share.sum(axis=1), share.sum(axis=0)
    margins = columns[:, None] + rows[None, :]  # of cell (i, j): column i's and row j's
    on = np.diag(share) * (1 - np.diag(margins) * (1 - value)) ** 2
    off = (share * margins**2).sum() - (np.diag(share) * np.diag(margins) ** 2).sum()
    variance = on.sum() + (1 - value) ** 2 * off - (value - by_chance * (1 - value)) ** 2
    return float(np.sqrt(max(variance, 0.0)) / (1 - by_chance))


def corrected_share(
    positive: float,
    n: float,
    sensitivity: tuple[float, float],
    specificity: tuple[float, float],
    level: float = LEVEL,
) -> Interval:
    """The true share of positives if an imperfect judge labels `positive` of `n` (Rogan and Gladen 1978).

    `sensitivity` is (labelled positive, all) of an independent sample of true positives, and `specificity` is (labelled
    negative, all) of true negatives. The interval of Lang and Reiczigel (2014), equations 6, 7, 16 and 17, includes the
    sampling error of all three shares. Estimate and interval are clipped to [0, 1]. The result is null if a sample is
    empty, and if sensitivity + specificity is not above 1, because such a judge is uninformative.
    """
    if n <= 0:
        return _undefined("no verdict")
    if sensitivity[1] <= 0 or specificity[1] <= 0:
        return _undefined(f"no response of the sample is {'incorrect' if sensitivity[1] > 0 else 'correct'}")
    caught, spared = sensitivity[0] / sensitivity[1], specificity[0] / specificity[1]
    if caught + spared <= 1:
        return _undefined("sensitivity + specificity is not above 1")
    value = (positive / n + spared - 1) / (caught + spared - 1)
    return Interval(_clip(value), *_corrected_limits(positive, n, sensitivity, specificity, _z(level)))


def _corrected_limits(
    positive: float, n: float, sensitivity: tuple[float, float], specificity: tuple[float, float], z: float
) -> tuple[float, float]:
    """Both limits, with small additions to the counts as in Agresti and Coull (1998).

    If the samples are so small that the additions make the judge uninformative, the limits are 0 and 1.
    """
    seen = (positive + z**2 / 2) / (n + z**2)
    n_caught, n_spared = sensitivity[1] + 2, specificity[1] + 2
    caught, spared = (sensitivity[0] + 1) / n_caught, (specificity[0] + 1) / n_spared
    if caught + spared <= 1:
        return 0.0, 1.0
    value = (seen + spared - 1) / (caught + spared - 1)
    of_caught, of_spared = caught * (1 - caught) / n_caught, spared * (1 - spared) / n_spared
    shift = 2 * z**2 * (value * of_caught - (1 - value) * of_spared)
    variance = seen * (1 - seen) / (n + z**2) + value**2 * of_caught + (1 - value) ** 2 * of_spared
    half = z * float(np.sqrt(variance)) / (caught + spared - 1)
    return _clip(value + shift - half), _clip(value + shift + half)


def _clip(value: float) -> float:
    return float(min(max(value, 0.0), 1.0))
