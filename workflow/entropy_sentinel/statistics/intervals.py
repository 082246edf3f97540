"""Intervals for the accuracy of slices nobody has labelled, from the errors of an estimator on labelled domains.

An estimate is off for two reasons: the estimator is off on a domain that it has not seen, and the accuracy of the n
responses of a slice is itself drawn by chance. The first is known from leaving out one labelled domain at a time.

With k labelled domains the interval is conformal up to the level k / (k + 1): as wide as the error of the right rank
among theirs. It holds if the slice is to the labelled domains as they are to each other; leave-one-out errors stand for
errors of the estimator that has seen one domain more. A slice that is smaller than a domain has more chance in it: that
domain's error is taken as larger, by the normal quantile of the variance that is more. A larger slice gets no narrower
interval, for how much of the errors was chance is not known.

Above that level no interval is guaranteed. The best that can be said is then `prior`: errors are taken for normal, with
a variance that is expected to be as in the paper's published results, and learned from the k errors beyond that
(Student's t with the prior's degrees of freedom and k more).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from entropy_sentinel.statistics.conformal import guarantees, quantile

CONFORMAL, PRIOR = "conformal", "prior"

# The paper's errors, by 36 pairs of a model and a group of two or three domains (Tables 2 and 7): of a normal error of
# standard deviation s the mean distance (AEE) is s sqrt(2 / pi). Taking s^2 for scaled inverse chi-squared, mean and
# variance of log s^2 give the scale and the degrees of freedom. With one domain, errors are larger by the ratio of the
# medians of Table 4 for k = 1 and 2. tests/statistics/test_intervals.py works all three out of the published tables.
PRIOR_SCALE, PRIOR_FREEDOM, ONE_DOMAIN = 0.11, 4.3, 1.64


class Intervals(NamedTuple):
    """Limits in [0, 1], (n_slices,), NaN where there is no estimate, and what they rest on."""

    lower: np.ndarray
    upper: np.ndarray
    basis: str


@dataclass(frozen=True)
class Residuals:
    """What an estimator has estimated for each of k labelled domains without it, and what was true; (k,) each.

    `n` is the number of labelled responses of a domain. `n_training` is how many domains the estimator whose estimates
    get intervals was fitted on.
    """

    estimated: Sequence[float]
    true: Sequence[float]
    n: Sequence[int]
    n_training: int

    def __len__(self) -> int:
        return len(self.estimated)

    def basis(self, level: float) -> str:
        """What an interval of this level rests on."""
        return CONFORMAL if guarantees(len(self), level) else PRIOR

    def intervals(self, estimates: Sequence[float], n: Sequence[int], level: float) -> Intervals:
        """Intervals of `level` for the accuracy of slices of `n` responses with these estimates, (n_slices,) each."""
        if not 0 < level < 1:
            raise ValueError(f"level must be above 0 and below 1, was {level}")
        estimates, basis = np.asarray(estimates, dtype=float), self.basis(level)
        sampling = _sampling_variance(estimates, n)
        if basis == CONFORMAL:
            half = quantile(self._errors_at(sampling, level), level)
        else:
            freedom = PRIOR_FREEDOM + len(self)
            half = student.ppf((1 + level) / 2, freedom) * np.sqrt(self._variance() + sampling)
        return Intervals(np.clip(estimates - half, 0, 1), np.clip(estimates + half, 0, 1), basis)

    def without(self, place: int) -> "Residuals":
        """The residuals of the other domains: what would be known if this one were new."""
        others = [np.delete(np.asarray(one), place) for one in (self.estimated, self.true, self.n)]
        return Residuals(*others, self.n_training - 1)

    def _errors(self) -> np.ndarray:
        return np.subtract(self.estimated, self.true)

    def _errors_at(self, sampling: np.ndarray, level: float) -> np.ndarray:
        """The domains' absolute errors as they would be in slices of this variance of sampling, (n_slices, k)."""
        more = np.maximum(sampling[:, None] - _sampling_variance(self.estimated, self.n), 0)
        return np.sqrt(self._errors() ** 2 + NormalDist().inv_cdf((1 + level) / 2) ** 2 * more)

    def _variance(self) -> float:
        """The expected variance of the estimator's error on an unseen domain, what is sampling taken off."""
        own = np.sum(self._errors() ** 2 - _sampling_variance(self.estimated, self.n)) if len(self) else 0.0
        scale = PRIOR_SCALE * (ONE_DOMAIN if self.n_training <= 1 else 1)
        return (PRIOR_FREEDOM * scale**2 + max(own, 0.0)) / (PRIOR_FREEDOM + len(self))


def _sampling_variance(accuracy: Sequence[float], n: Sequence[int]) -> np.ndarray:
    """The variance of the share of correct ones among n responses, with two correct and two incorrect ones added.

    So that it is not 0 where all seem correct (Agresti and Coull 1998). Infinite for no response.
    """
    n = np.asarray(n, dtype=float)
    share = (np.asarray(accuracy, dtype=float) * n + 2) / (n + 4)
    with np.errstate(divide="ignore"):
        return np.where(n > 0, share * (1 - share) / np.maximum(n, 1), math.inf)
