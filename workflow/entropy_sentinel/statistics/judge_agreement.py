"""The agreement of two judges, and the true share from an imperfect judge's counts, with intervals.

Counts may be fractions, such as those of a weighted sample, scaled to its `weighted_sample_size`.
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

    def require_values(self) -> tuple[float, float, float]:
        """Estimate, lower and upper; raises ValueError with the reason if any is null."""
        if self.estimate is None or self.lower is None or self.upper is None:
            raise ValueError(self.reason)
        return self.estimate, self.lower, self.upper


def clustered_sample_size(hits: Numbers, clusters: Numbers) -> float:
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


def _undefined_interval(reason: str) -> Interval:
    """An interval without any number."""
    return Interval(None, None, None, reason)


def _normal_quantile(level: float) -> float:
    """Half the width of a normal interval of this level, in standard deviations: 1.96 for 0.95."""
    return NormalDist().inv_cdf((1 + level) / 2)


def weighted_sample_size(weights: Numbers) -> float:
    """The effective sample size of weights: (sum w)^2 / sum w^2 (Kish 1965); 0 without weights."""
    weights = np.asarray(weights, dtype=float)
    return float(weights.sum() ** 2 / (weights**2).sum()) if len(weights) else 0.0


def wilson_interval(successes: float, n: float, level: float = LEVEL) -> Interval:
    """The share `successes` of `n` with Wilson's score interval (Wilson 1927); null if n is 0."""
    if n <= 0:
        return _undefined_interval("no pair")
    z, share = _normal_quantile(level), successes / n
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # For 0 or n successes the limit is exactly 0 or 1, but for rounding.
    lower = 0.0 if successes <= 0 else float(max(centre - half, 0))
    upper = 1.0 if successes >= n else float(min(centre + half, 1))
    return Interval(float(share), lower, upper)


def cohen_kappa(counts: Sequence[Sequence[float]], level: float = LEVEL) -> Interval:
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
        return _undefined_interval("no pair")
    share = table / n
    rows, columns = share.sum(axis=1), share.sum(axis=0)
    # The observed agreement, and that expected by chance.
    p_o, p_e = float(np.trace(share)), float(rows @ columns)
    judges_differ = bool((table - np.diag(np.diag(table))).any())
    one_is_constant = (rows > 0).sum() == 1 or (columns > 0).sum() == 1
    if one_is_constant and not judges_differ:
        return _undefined_interval("both judges always give the same verdict")
    value = float((p_o - p_e) / (1 - p_e))
    if one_is_constant:
        return Interval(0.0, None, None, "one of the judges always gives the same verdict: kappa is 0 by definition")
    if not judges_differ:
        _, lowest, _ = wilson_interval(n, n, level).require_values()
        return Interval(1.0, max((lowest - p_e) / (1 - p_e), -1.0), 1.0)
    half = _normal_quantile(level) * _kappa_error(share, value, p_e) / float(np.sqrt(n))
    return Interval(value, max(value - half, -1.0), min(value + half, 1.0))


def _kappa_error(share: np.ndarray, value: float, p_e: float) -> float:
    """The asymptotic standard error of kappa, `value`, times the square root of n.

    `share` is (k, k): the share of pairs with each verdict of both judges; `p_e` is the agreement expected by chance.
    """
    rows, columns = share.sum(axis=1), share.sum(axis=0)
    margins = columns[:, None] + rows[None, :]  # of cell (i, j): column i's and row j's
    diagonal = np.diag(share) * (1 - np.diag(margins) * (1 - value)) ** 2
    off_diagonal = (share * margins**2).sum() - (np.diag(share) * np.diag(margins) ** 2).sum()
    variance = diagonal.sum() + (1 - value) ** 2 * off_diagonal - (value - p_e * (1 - value)) ** 2
    return float(np.sqrt(max(variance, 0.0)) / (1 - p_e))


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
        return _undefined_interval("no verdict")
    (n_found, n_positive), (n_rejected, n_negative) = sensitivity, specificity
    if n_positive <= 0 or n_negative <= 0:
        return _undefined_interval(f"no response of the sample is {'incorrect' if n_positive > 0 else 'correct'}")
    se, sp = n_found / n_positive, n_rejected / n_negative
    if se + sp <= 1:
        return _undefined_interval("sensitivity + specificity is not above 1")
    prevalence = (positive / n + sp - 1) / (se + sp - 1)
    limits = _corrected_limits(positive, n, sensitivity, specificity, _normal_quantile(level))
    return Interval(_clip_share(prevalence), *limits)


def _corrected_limits(
    positive: float, n: float, sensitivity: tuple[float, float], specificity: tuple[float, float], z: float
) -> tuple[float, float]:
    """Both limits of the corrected share: Lang and Reiczigel (2014), equations 6, 7, 16 and 17.

    Small numbers are added to the counts, as in Agresti and Coull (1998). `sensitivity` is (labelled positive, all) of
    the true positives, `specificity` (labelled negative, all) of the true negatives, as in `corrected_share`, and `z`
    the normal quantile of the level. If the samples are so
    small that the additions make the judge uninformative, the limits are 0 and 1.
    """
    (n_found, n_positive), (n_rejected, n_negative) = sensitivity, specificity
    # The adjusted apparent prevalence, sensitivity and specificity.
    apparent = (positive + z**2 / 2) / (n + z**2)
    n_se, n_sp = n_positive + 2, n_negative + 2
    se, sp = (n_found + 1) / n_se, (n_rejected + 1) / n_sp
    if se + sp <= 1:
        return 0.0, 1.0
    prevalence = (apparent + sp - 1) / (se + sp - 1)
    se_variance, sp_variance = se * (1 - se) / n_se, sp * (1 - sp) / n_sp
    # The shift of the centre, and half the width.
    shift = 2 * z**2 * (prevalence * se_variance - (1 - prevalence) * sp_variance)
    apparent_variance = apparent * (1 - apparent) / (n + z**2)
    variance = apparent_variance + prevalence**2 * se_variance + (1 - prevalence) ** 2 * sp_variance
    half = z * float(np.sqrt(variance)) / (se + sp - 1)
    return _clip_share(prevalence + shift - half), _clip_share(prevalence + shift + half)


def _clip_share(value: float) -> float:
    """The value clipped to [0, 1]."""
    return float(min(max(value, 0.0), 1.0))
