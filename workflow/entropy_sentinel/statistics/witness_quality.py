"""How good a witness is by labels: sensitivity and specificity of verdicts, AUROC and bias of probabilities."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from entropy_sentinel.statistics.array_types import Numbers
from entropy_sentinel.statistics.auroc import estimate_auc
from entropy_sentinel.statistics.binomial import binomial_interval


@dataclass(frozen=True)
class Rate:
    """A share of `n` responses with its interval; null without a response."""

    n: int
    share: float | None
    lower: float | None
    upper: float | None

    @classmethod
    def measure(cls, hits: np.ndarray, level: float) -> "Rate":
        """The share of true values in `hits`, (n,) of bool, with its interval of `level`."""
        n = len(hits)
        if not n:
            return cls(0, None, None, None)
        share = float(hits.mean())
        return cls(n, share, *binomial_interval(share, n, level))

    def __str__(self) -> str:
        if self.share is None:
            return "an unknown share"
        return f"{self.share:.2f} ({self.lower:.2f} to {self.upper:.2f})"


@dataclass(frozen=True)
class Measure:
    """A number by `n` labels with its interval; a null says that too few labels tell it."""

    n: int
    value: float | None
    lower: float | None
    upper: float | None

    def __str__(self) -> str:
        if self.value is None:
            return "unknown"
        interval = "" if self.lower is None else f" ({self.lower:.2f} to {self.upper:.2f})"
        return f"{self.value:.2f}{interval}"


def measure_verdicts(labels: Numbers, values: Numbers, level: float) -> tuple[Rate, Rate]:
    """The sensitivity and specificity of verdicts, 0 or 1, for responses with labels, (n,)."""
    right, says = np.asarray(labels, dtype=float) == 1, np.asarray(values, dtype=float) == 1
    return Rate.measure(says[right], level), Rate.measure(~says[~right], level)


def measure_probabilities(labels: Numbers, values: Numbers, level: float) -> tuple[Measure, Measure]:
    """The AUROC of probabilities for responses with labels, (n,), and their calibration error.

    The latter is the mean probability minus the share of right labels. The intervals are DeLong's and the normal one of
    a mean, for n independent labels.
    """
    y, p = np.asarray(labels, dtype=float), np.asarray(values, dtype=float)
    n, z = len(y), float(norm.ppf((1 + level) / 2))
    if not n:
        return Measure(0, None, None, None), Measure(0, None, None, None)
    area = Measure(n, None, None, None)
    if 0 < y.sum() < n:
        value, variance = estimate_auc(p[y == 1], p[y == 0])
        area = Measure(n, value, None, None)
        if variance > 0:
            half = z * variance**0.5
            area = Measure(n, value, max(value - half, 0.0), min(value + half, 1.0))
    errors = p - y
    bias = float(errors.mean())
    if n == 1:
        return area, Measure(n, bias, None, None)
    half = z * float(errors.std(ddof=1)) / n**0.5
    return area, Measure(n, bias, bias - half, bias + half)
