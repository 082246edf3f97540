"""Intervals for the accuracy of unlabelled slices, from the errors of an estimator on labelled domains.

An estimate is off for two reasons: the estimator errs on a domain that it has not seen, and the accuracy of a slice's
n responses is itself random. The first is measured by holding out one labelled domain at a time and refitting, the
second follows from n. Both assume that domains are exchangeable: that the new domain relates to the labelled ones as
they relate to each other. The labels cannot show this.

Two intervals, made from the same errors:

- `predictive`, the one to read, is the posterior predictive of `statistics.predictive`, at any level and for any number
  of domains. The verdict of a validation is read from the same posterior, so that an estimator that is called
  usable after lucky errors has intervals that reckon with luck. Without any error it is the prior alone, `prior`: an
  assumption.
- `conformal` is as wide as the error of the right rank among the k domains, up to the level k / (k + 1). It makes no
  assumption on the shape of errors, but its level is that over all sets of domains, and not over those that a verdict
  has singled out. Errors come from refits without the domain, as in the jackknife+ (Barber et al. 2021), whose theorem
  is for other intervals, made of all refits, and for the level 1 - 2 alpha (CV+: slightly less). None is proved here.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from entropy_sentinel.statistics.conformal import quantile, reaches
from entropy_sentinel.statistics.numbers import Names, Numbers
from entropy_sentinel.statistics.predictive import CAUTIOUS, Prior, Spread

PREDICTIVE, PRIOR, CONFORMAL = "predictive", "prior", "conformal"

# The note on a page about an interval's basis.
NOTES = {
    PREDICTIVE: "The interval is predictive: errors on new domains are assumed to be normal. Their spread comes from "
    "the held-out labelled domains, and from an assumption with the weight of "
    f"{CAUTIOUS.freedom} domains off by {CAUTIOUS.scale:.2f}. The interval holds if the new domain resembles the "
    "labelled ones as they resemble each other.",
    PRIOR: "The interval rests on an assumption (prior), because there are no held-out domains like these responses "
    f"to show the estimator's errors. It assumes errors of about {CAUTIOUS.scale:.2f}, more than most published ones.",
}

# Trained on one domain, errors are larger by the ratio of the medians of the paper's Table 4 for k = 1 and 2;
# tests/statistics/test_intervals.py works it out.
ONE_DOMAIN = 1.64


class Intervals(NamedTuple):
    """Limits in [0, 1], (n_slices,), NaN without an estimate, and their basis."""

    lower: np.ndarray
    upper: np.ndarray
    basis: str


@dataclass(frozen=True)
class Residuals:
    """Estimates of k labelled domains, each held out in turn, and the true accuracies; (k,) each.

    `n` is the number of labelled responses of a domain. `n_training` is how many domains the estimator whose estimates
    get intervals was fitted on. `prior` is what is taken of their spread beforehand. `groups`, where each
    domain was estimated without its whole group, are the domains' groups, and `n_training` counts groups.
    """

    estimated: Numbers
    true: Numbers
    n: Numbers
    n_training: int
    prior: Prior = CAUTIOUS
    groups: Names | None = None

    def __len__(self) -> int:
        return len(self.estimated)

    @property
    def n_units(self) -> int:
        """The number of domains, or groups, that were held out one at a time."""
        return len(self) if self.groups is None else len(np.unique(np.asarray(self.groups)))

    @property
    def errors(self) -> np.ndarray:
        """Estimated minus true, (k,)."""
        return np.subtract(self.estimated, self.true)

    @property
    def variances(self) -> np.ndarray:
        """The sampling variance of each domain's accuracy by its labels, (k,)."""
        return _sampling_variance(self.true, self.n)

    @cached_property
    def spread(self) -> Spread:
        """The posterior of the spread of errors, given these errors."""
        prior = self.prior._replace(scale=self.prior.scale * (ONE_DOMAIN if self.n_training <= 1 else 1))
        return Spread.of(self.errors, self.variances, prior, self.groups)

    def intervals(self, estimates: Numbers, n: Numbers, level: float) -> Intervals:
        """Intervals of `level` for the accuracy of slices of `n` responses with these estimates, (n_slices,) each."""
        _check_level(level)
        half = self.spread.half_widths(_sampling_variance(estimates, n), level)
        return _around(estimates, half, PREDICTIVE if len(self) else PRIOR)

    def conformal(self, estimates: Numbers, n: Numbers, level: float) -> Intervals:
        """Conformal intervals; all NaN above the highest level that this many domains reach.

        A slice that is smaller than a domain has more sampling variance: that domain's error is increased by the normal
        quantile of the additional variance. A larger slice gets no narrower interval, because it is unknown how much of
        the errors was chance.
        """
        _check_level(level)
        if not reaches(len(self), level):
            return _around(estimates, math.nan, CONFORMAL)
        sampling = _sampling_variance(estimates, n)
        return _around(estimates, quantile(self._errors_at(sampling, level), level), CONFORMAL)

    def without(self, place: int) -> "Residuals":
        """The residuals of the other domains or groups, as if this one were new."""
        units = np.arange(len(self)) if self.groups is None else np.asarray(self.groups)
        others = units != units[place]
        estimated, true, n = (np.asarray(numbers)[others] for numbers in (self.estimated, self.true, self.n))
        groups = None if self.groups is None else units[others]
        return Residuals(estimated, true, n, self.n_training - 1, self.prior, groups)

    def _errors_at(self, sampling: np.ndarray, level: float) -> np.ndarray:
        """The domains' absolute errors as they would be in slices with this sampling variance, (n_slices, k)."""
        more = np.maximum(sampling[:, None] - _sampling_variance(self.estimated, self.n), 0)
        larger: np.ndarray = np.sqrt(self.errors**2 + NormalDist().inv_cdf((1 + level) / 2) ** 2 * more)
        return larger


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level must be above 0 and below 1, was {level}")


def _around(estimates: Numbers, half: np.ndarray | float, basis: str) -> Intervals:
    estimates = np.asarray(estimates, dtype=float)
    return Intervals(np.clip(estimates - half, 0, 1), np.clip(estimates + half, 0, 1), basis)


def _sampling_variance(accuracy: Numbers, n: Numbers) -> np.ndarray:
    """The variance of the share of correct ones among n responses, with two correct and two incorrect ones added.

    The addition keeps it above 0 if all seem correct (Agresti and Coull 1998). Infinite without responses.
    """
    n = np.asarray(n, dtype=float)
    share = (np.asarray(accuracy, dtype=float) * n + 2) / (n + 4)
    with np.errstate(divide="ignore"):
        return np.where(n > 0, share * (1 - share) / np.maximum(n, 1), math.inf)
