"""The bootstrap (Efron 1979): samples drawn with replacement, and percentile intervals."""

from collections.abc import Iterator, Sequence

import numpy as np

# The largest number of entries in an array of resamples: 32 MB.
MAX_CELLS = 2**22


def draw_resamples(items: Sequence[str], n_samples: int, seed: int) -> Iterator[np.ndarray]:
    """Yield bootstrap samples of responses to these items, (n_responses,), as counts of each response.

    Items are drawn with replacement, each with all its responses, because these are correlated. Yields arrays of shape
    (some samples, n_responses); the same arguments give the same samples.
    """
    distinct, item = np.unique(np.asarray(items), return_inverse=True)
    n, random = len(distinct), np.random.default_rng(seed)
    step = max(1, MAX_CELLS // len(item))
    for start in range(0, n_samples, step):
        n_rows = min(step, n_samples - start)
        drawn = random.integers(n, size=(n_rows, n)) + n * np.arange(n_rows)[:, None]
        yield np.bincount(drawn.ravel(), minlength=n_rows * n).reshape(n_rows, n)[:, item]


def percentile_interval(samples: np.ndarray, level: float = 0.95) -> tuple[float | None, float | None]:
    """The percentile interval of a statistic over resamples, (n_samples,), ignoring NaN; null without values."""
    values = samples[~np.isnan(samples)]
    if not len(values):
        return None, None
    lower, upper = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(lower), float(upper)
