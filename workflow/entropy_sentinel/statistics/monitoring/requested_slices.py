"""Estimate the accuracy of a slice without labels from what a witness says of some of its responses.

The witness is another model's answer to the same questions, or a judge. Each asked response has a value x in [0, 1]:
whether the other model's answer agrees with the logged one, or the judge's calibrated P(correct). The estimate is the
mean of x over the asked responses, without any correction, because a slice of an unlike kind has its own error.

Its error has two parts, whose variances add up in the interval:

- The chance of the draw. It is the variance of x, divided by the effective number of asked responses, and the variance
  x (1 - x) that is left of each label, divided by the number of all responses.
- The error of the witness on a new kind of question. On slices with labels it is the mean of x - y over the same
  responses, so most of the chance cancels. The spread of these errors has the posterior of
  `statistics.predictive_posterior`.

The prior of the spread has the weight of three kinds with errors of .18. This is between what three models said about
the answers of others: .06 to .19 where the asked model was the stronger one (23 kinds of question and seven benchmarks
of mathematics, where answers can be compared), and .26 and .32 where it was the weaker one. Intervals of 90 % hold in
89 to 94 % of cases on kinds and families that were left out, and in 94 to 100 % with the prior alone.
"""

from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from entropy_sentinel.statistics.array_types import Numbers
from entropy_sentinel.statistics.predictive_posterior import Prior, Spread

PRIOR = Prior(scale=0.18, freedom=3)
# With fewer labels a slice does not show the error of a witness.
FEWEST_LABELS = 5
# Responses added to the asked ones, half of them with the value 1: equal values do not prove that there are no others.
_PSEUDO_RESPONSES = 4


class WitnessedSlice(NamedTuple):
    """What a witness says of m responses of a slice, `values` (m,), and what people say of some of them.

    `labels`, (m,), are 0 or 1, NaN without a label. `weights`, (m,), are the numbers of responses that each one
    represents; null if all are equal, and NaN for responses that are not part of the sample and only show errors.
    `clusters`, (m,), are the numbers of clusters of dependent responses; null if all are independent. `n_effective` is
    the effective number of all responses of the slice, NaN if only `labelled_pairs` is used. `estimated` is an
    estimator's accuracy of the slice, with which that of the witness is averaged; null without one.
    """

    values: Numbers
    labels: Numbers
    n_effective: float
    weights: Numbers | None = None
    clusters: Numbers | None = None
    estimated: float | None = None

    @property
    def is_labelled(self) -> bool:
        """Whether the slice has enough labels to show the error of the witness."""
        return int(np.isfinite(np.asarray(self.labels, dtype=float)).sum()) >= FEWEST_LABELS

    def mean(self) -> tuple[float, float]:
        """The estimate and its sampling variance; NaN without a response that is part of the sample."""
        x = self._average_estimate()
        w = np.ones(len(x)) if self.weights is None else np.asarray(self.weights, dtype=float)
        drawn = np.isfinite(w)
        if not drawn.any():
            return np.nan, np.nan
        x, share = x[drawn], w[drawn] / w[drawn].sum()
        cluster_shares = share
        if self.clusters is not None:
            _, place = np.unique(np.asarray(self.clusters)[drawn], return_inverse=True)
            cluster_shares = np.bincount(place, share)
        # The number of independent, equally weighted responses (Kish 1965).
        m = 1 / float(cluster_shares @ cluster_shares)
        least, most = self._limits()
        mean, square = float(share @ x), float(share @ x**2)
        # Mean and variance with the added responses, half of them with the least value and half with the largest.
        added = (mean * m + _PSEUDO_RESPONSES * (least + most) / 2) / (m + _PSEUDO_RESPONSES)
        variance = (square * m + _PSEUDO_RESPONSES * (least**2 + most**2) / 2) / (m + _PSEUDO_RESPONSES) - added**2
        return mean, variance / m + float(share @ (x * (1 - x))) / max(self.n_effective, m)

    def labelled_pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """The values of the labelled responses and their labels, (n_labelled,) each."""
        y = np.asarray(self.labels, dtype=float)
        labelled = np.isfinite(y)
        return self._average_estimate()[labelled], y[labelled]

    def _average_estimate(self) -> np.ndarray:
        """The values, (m,), each averaged with the estimator's accuracy of the slice if there is one."""
        x = np.asarray(self.values, dtype=float)
        return x if self.estimated is None else (x + self.estimated) / 2

    def _limits(self) -> tuple[float, float]:
        """The least and the largest value that a response can have, after averaging with the estimator's accuracy."""
        return (0.0, 1.0) if self.estimated is None else (self.estimated / 2, (1 + self.estimated) / 2)


class WitnessErrors(NamedTuple):
    """The errors of a witness as an estimate on k labelled slices, their sampling variances, and labels, (k,) each."""

    estimated: np.ndarray
    true: np.ndarray
    variances: np.ndarray

    @property
    def errors(self) -> np.ndarray:
        """The differences estimated minus true, (k,)."""
        return np.asarray(self.estimated - self.true)

    @property
    def spread(self) -> Spread:
        """The posterior of the spread of errors; the prior without slices."""
        return Spread.fit(self.errors, self.variances, PRIOR)


class WitnessAccuracy(NamedTuple):
    """An accuracy from a witness, with half the width of its interval."""

    estimate: float
    half_width: float

    @property
    def lower(self) -> float:
        """The lower limit of the interval, in [0, 1]."""
        return max(self.estimate - self.half_width, 0.0)

    @property
    def upper(self) -> float:
        """The upper limit of the interval, in [0, 1]."""
        return min(self.estimate + self.half_width, 1.0)

    def average(self, estimate: float, half_width: float) -> "WitnessAccuracy":
        """The mean with another estimate, as if both had the same error: the widest interval."""
        return WitnessAccuracy((self.estimate + estimate) / 2, (self.half_width + half_width) / 2)


class ShareChange(NamedTuple):
    """The shares of agreeing answers before and after, and the interval of their difference."""

    before: float
    after: float
    lower: float
    upper: float


def compare_shares(after: WitnessedSlice, before: WitnessedSlice, level: float) -> ShareChange:
    """Compare the means of two parts of a slice about which the same witness was asked.

    Its error on the slice is in both, so the interval has only the chance of the draws (Agresti and Caffo 2000).
    """
    mean_after, variance_after = after.mean()
    mean_before, variance_before = before.mean()
    change = mean_after - mean_before
    half = NormalDist().inv_cdf((1 + level) / 2) * float(np.sqrt(variance_after + variance_before))
    return ShareChange(mean_before, mean_after, change - half, change + half)


def measure_witness_errors(slices: Sequence[WitnessedSlice]) -> WitnessErrors:
    """The errors of a witness on the slices with enough labels.

    The sampling variance of an error is that of x - y within slices, pooled, because a few labels cannot tell that of
    one slice; half a squared difference more keeps it above 0.
    """
    labelled = [each.labelled_pairs() for each in slices if each.is_labelled]
    estimated = np.array([x.mean() for x, _ in labelled])
    true = np.array([y.mean() for _, y in labelled])
    counts = np.array([len(y) for _, y in labelled], dtype=float)
    squares = sum(float(np.sum((x - y - (x - y).mean()) ** 2)) for x, y in labelled)
    within = (squares + 0.5) / (float((counts - 1).sum()) + 1)
    return WitnessErrors(estimated, true, within / counts)


def estimate_from_witness(asked: WitnessedSlice, errors: WitnessErrors, level: float) -> WitnessAccuracy | None:
    """The accuracy of a slice from a witness alone; null without a response that is part of the sample."""
    mean, variance = asked.mean()
    if not np.isfinite(mean):
        return None
    [half] = errors.spread.half_widths([variance], level)
    return WitnessAccuracy(mean, float(half))
