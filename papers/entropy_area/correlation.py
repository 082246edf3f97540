"""Correlation of two numbers of the same items: Pearson's r with p and interval, and Spearman's rho."""

from dataclasses import dataclass

import numpy as np

from entropy_sentinel.statistics.array_types import Numbers
from entropy_sentinel.statistics.bootstrap import MAX_CELLS, percentile_interval

MIN_ITEMS = 3


@dataclass(frozen=True)
class Correlation:
    """Pearson's r, with its two-sided p and 95 % percentile interval over bootstrap samples of items; Spearman's rho.

    The limits are null if no bootstrap sample has two different values of both.
    """

    r: float
    p: float
    lower: float | None
    upper: float | None
    rho: float
    rho_p: float


def explain_no_correlation(x: Numbers, y: Numbers, names: tuple[str, str] = ("x", "y")) -> str | None:
    """Say why x and y, (n_items,) each, have no correlation, or return None; `names` are theirs in the reason."""
    if len(x) < MIN_ITEMS:
        return f"{len(x)} items have both, {MIN_ITEMS} are needed"
    by_name = [(name, np.asarray(values, dtype=float)) for name, values in zip(names, (x, y), strict=True)]
    for name, values in by_name:
        if n_not_finite := int((~np.isfinite(values)).sum()):
            return f"{name} is not a finite number for {n_not_finite} of {len(x)} items"
    for name, values in by_name:
        if np.ptp(values) == 0:
            return f"{name} is the same for all items"
    return None


def compute_correlation(x: Numbers, y: Numbers, n_resamples: int, seed: int) -> Correlation:
    """The correlation of two numbers of the same items, (n_items,) each. Raises ValueError (`explain_no_correlation`).

    The bootstrap samples are equal for numbers of the same items, so intervals of several measures are comparable.
    """
    from scipy import stats  # it takes a second to import, and figures need only `explain_no_correlation`

    if reason := explain_no_correlation(x, y):
        raise ValueError(f"no correlation: {reason}")
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    pearson, spearman = stats.pearsonr(x, y), stats.spearmanr(x, y)
    lower, upper = percentile_interval(_bootstrap_r(x, y, n_resamples, seed))
    return Correlation(
        float(pearson.statistic),
        float(pearson.pvalue),
        lower,
        upper,
        float(spearman.statistic),
        float(spearman.pvalue),
    )


def _bootstrap_r(x: np.ndarray, y: np.ndarray, n_resamples: int, seed: int) -> np.ndarray:
    """Pearson's r of bootstrap samples of items, (n_resamples,); NaN if either number is constant."""
    generator = np.random.default_rng(seed)
    n = len(x)
    batches = []
    batch_size = max(1, MAX_CELLS // n)
    for start in range(0, n_resamples, batch_size):
        sampled_items = generator.integers(n, size=(min(batch_size, n_resamples - start), n))
        a, b = x[sampled_items], y[sampled_items]
        constant = (np.ptp(a, axis=1) == 0) | (np.ptp(b, axis=1) == 0)
        a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
        scale = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
        batches.append(np.where(constant, np.nan, (a * b).sum(axis=1) / np.where(constant, 1, scale)))
    return np.concatenate(batches)
