"""Intervals for the accuracy of unlabelled slices, from the errors of an estimator on labelled domains.

An estimate has two errors: the estimator's own error on an unseen domain, and the randomness of the accuracy of n
responses. The first is measured by refitting without each labelled domain in turn; the second follows from n. The
intervals assume that domains are exchangeable, that is, that a new domain resembles the labelled ones as they resemble
each other. Labels cannot show whether this holds.

There are two kinds of intervals from the same errors:

- `predictive`, the default, uses the posterior of `statistics.predictive_posterior`. It exists at any level and for any
  number of domains. The verdict of a validation uses the same posterior, so after a verdict based on lucky errors the
  intervals still allow for luck. Without any error it is the prior, an assumption, and its basis is called `prior`.
- `conformal` has the half width of the error of the right rank among the k domains. It exists up to the level
  k / (k + 1). It assumes nothing about the shape of errors, but its level holds over all sets of domains, not over the
  sets that a verdict selects. Errors come from refits without the domain, as in the jackknife+ (Barber et al. 2021).
  The jackknife+ theorem does not apply: it is about intervals built from all refits, at the level 1 - 2 alpha.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from entropy_sentinel.statistics.array_types import Names, Numbers
from entropy_sentinel.statistics.conformal import can_reach_level, conformal_quantile
from entropy_sentinel.statistics.predictive_posterior import CAUTIOUS, Prior, Spread

PREDICTIVE, PRIOR, CONFORMAL = "predictive", "prior", "conformal"
# A predictive interval of responses that somebody takes for those of the validated model.
ASSUMED = "assumed"
# A change of the model counts as a separate error, as large as that on a new domain: the variances add up.
SAME_MODEL_WIDENING = math.sqrt(2)

# Explanations on pages of the basis of an interval.
NOTES = {
    PREDICTIVE: "The interval is predictive: errors on new domains are assumed to be normal. Their spread comes from "
    "the held-out labelled domains, and from an assumption with the weight of "
    f"{CAUTIOUS.freedom} domains off by {CAUTIOUS.scale:.2f}. The interval holds if the new domain resembles the "
    "labelled ones as they resemble each other.",
    ASSUMED: "The interval rests on the assumption that a model with another name is the validated one "
    f"(--same-model): it is {SAME_MODEL_WIDENING:.2f} times as wide as a predictive one, as if the change of the model "
    "added an error as large as that on a new domain. No validation has tested that.",
    PRIOR: "No held-out domain shows the estimator's errors on such responses, so the interval assumes a typical error "
    "of 0.2 (prior), more than most published ones.",
}

# The factor by which errors are larger after training on one domain: the ratio of the medians for k = 1 and 2 in the
# paper's Table 4, which tests/statistics/test_intervals.py calculates.
ONE_DOMAIN = 1.64
# Labels added to those of a domain, and the least accuracy whose variance is trusted: 0 would have none.
_PSEUDO_LABELS, _LEAST_ACCURACY = 4, 0.02


class SliceIntervals(NamedTuple):
    """Lower and upper limits in [0, 1], (n_slices,), NaN for slices without an estimate.

    `basis` says what they rest on: PREDICTIVE, PRIOR or CONFORMAL.
    """

    lower: np.ndarray
    upper: np.ndarray
    basis: str


@dataclass(frozen=True)
class Residuals:
    """Estimated and true accuracies of k labelled domains, each held out in turn; (k,) each.

    `n`, (k,), is the number of labelled responses of each domain. `n_training` is the number of domains on which the
    estimator was fitted that gets the intervals. `prior` is the prior of the spread. If whole groups were held out,
    `groups`, (k,), are the domains' groups, and `n_training` counts groups. `noise`, (k,), is the sampling variance of
    each domain's error if it is not that of its labels, because a judge's verdicts reduced it
    (`statistics.witness_powers`); NaN for the other domains.
    """

    estimated: Numbers
    true: Numbers
    n: Numbers
    n_training: int
    prior: Prior = CAUTIOUS
    groups: Names | None = None
    noise: Numbers | None = None

    def __len__(self) -> int:
        return len(self.estimated)

    @property
    def n_units(self) -> int:
        """The number of held-out units: domains, or groups if whole groups were held out."""
        return len(self) if self.groups is None else len(np.unique(np.asarray(self.groups)))

    @property
    def errors(self) -> np.ndarray:
        """The differences estimated minus true, (k,)."""
        return np.subtract(self.estimated, self.true)

    @property
    def variances(self) -> np.ndarray:
        """The sampling variance of each domain's error, from its number of labels, (k,).

        It is the binomial variance of the accuracy after adding four labels that agree with the estimate. Two correct
        and two incorrect ones, as in `sampling_variance`, would double it at accuracies near 0 and 1. That widens an
        interval, but here it would excuse errors: what is subtracted from squared errors must be right on average.
        `noise` replaces it.
        """
        true, n = np.asarray(self.true, dtype=float), np.asarray(self.n, dtype=float)
        added_correct = _PSEUDO_LABELS * np.clip(self.estimated, _LEAST_ACCURACY, 1 - _LEAST_ACCURACY)
        share = (true * n + added_correct) / (n + _PSEUDO_LABELS)
        return self._replace_noise(_binomial_variance(share, n))

    @property
    def _sampling_variances(self) -> np.ndarray:
        """The sampling variance of each domain's true accuracy in its interval, (k,)."""
        return self._replace_noise(sampling_variance(self.estimated, self.n))

    def _replace_noise(self, variances: np.ndarray) -> np.ndarray:
        """The variances, (k,), with `noise` where it is known."""
        if self.noise is None:
            return variances
        noise = np.asarray(self.noise, dtype=float)
        return np.where(np.isnan(noise), variances, noise)

    @cached_property
    def spread(self) -> Spread:
        """The posterior of the spread of errors."""
        return Spread.fit(self.errors, self.variances, self._prior(self.n_training), self.groups)

    @cached_property
    def _leave_one_out(self) -> list[tuple[np.ndarray, Spread]]:
        """For each held-out unit (a domain, or a whole group), its positions and the posterior from the other units."""
        prior = self._prior(self.n_training - 1)
        return list(Spread.fit_leave_one_out(self.errors, self.variances, prior, self.groups))

    def intervals(self, estimates: Numbers, n: Numbers, level: float) -> SliceIntervals:
        """Predictive intervals for slices of `n` responses with these estimates, (n_slices,) each."""
        _check_level(level)
        half = self.spread.half_widths(sampling_variance(estimates, n), level)
        return _build_intervals(estimates, half, PREDICTIVE if len(self) else PRIOR)

    def conformal_intervals(self, estimates: Numbers, n: Numbers, level: float) -> SliceIntervals:
        """Conformal intervals for slices of `n` responses with these estimates, (n_slices,) each.

        They are NaN if the level is above the highest that this many domains reach.
        If a slice has more sampling variance than a domain, the domain's error is increased accordingly: squares of the
        error and of the normal quantile of the additional variance are added. A larger slice does not get a narrower
        interval, because it is unknown how much of the errors was sampling noise.
        """
        _check_level(level)
        if not can_reach_level(len(self), level):
            return _build_intervals(estimates, math.nan, CONFORMAL)
        sampling = sampling_variance(estimates, n)
        return _build_intervals(estimates, conformal_quantile(self._inflate_errors(sampling, level), level), CONFORMAL)

    def effective_sample_size(self, estimates: Numbers) -> np.ndarray:
        """How many labels tell as much as each estimate, (n_slices,); NaN without an estimate.

        It is e (1 - e) / s^2 - 1, at least 1/2, where s is the error's standard deviation: a beta distribution with
        this mean and variance has the weight of as many labels. s is that of a normal distribution with the 90 %
        interval of a slice of any size.
        """
        estimates = np.clip(np.asarray(estimates, dtype=float), _LEAST_ACCURACY, 1 - _LEAST_ACCURACY)
        [half] = self.spread.half_widths([0.0], 0.9)
        deviation = half / NormalDist().inv_cdf(0.95)
        labels: np.ndarray = np.maximum(estimates * (1 - estimates) / deviation**2 - 1, 0.5)
        return labels

    def leave_out(self, place: int) -> "Residuals":
        """The residuals without the domain at this position, or without its whole group."""
        units = np.arange(len(self)) if self.groups is None else np.asarray(self.groups)
        remaining = units != units[place]
        estimated, true, n = (np.asarray(numbers)[remaining] for numbers in (self.estimated, self.true, self.n))
        groups = None if self.groups is None else units[remaining]
        noise = None if self.noise is None else np.asarray(self.noise, dtype=float)[remaining]
        return Residuals(
            estimated, true, n, n_training=self.n_training - 1, prior=self.prior, groups=groups, noise=noise
        )

    def held_out_intervals(self, level: float) -> SliceIntervals:
        """The predictive interval of each domain, from the errors on the other domains, or other groups.

        It is the same as from the residuals `leave_out`, but one posterior is computed instead of one per domain.
        """
        _check_level(level)
        sampling, half = self._sampling_variances, np.zeros(len(self))
        for places, spread in self._leave_one_out:
            half[places] = spread.half_widths(sampling[places], level)
        return _build_intervals(self.estimated, half, PREDICTIVE if self.n_units > 1 else PRIOR)

    def _prior(self, n_training: int) -> Prior:
        """The prior of the spread, with larger errors if the estimator is fitted on only one domain or group."""
        if n_training > 1:
            return self.prior
        return self.prior._replace(scale=self.prior.scale * ONE_DOMAIN)

    def _inflate_errors(self, sampling: np.ndarray, level: float) -> np.ndarray:
        """The domains' absolute errors, increased to each slice's sampling variance, (n_slices, k)."""
        additional = np.maximum(sampling[:, None] - self._sampling_variances, 0)
        normal = NormalDist().inv_cdf((1 + level) / 2)
        larger: np.ndarray = np.sqrt(self.errors**2 + normal**2 * additional)
        return larger


def _check_level(level: float) -> None:
    """Raise ValueError unless the level of an interval is in (0, 1)."""
    if not 0 < level < 1:
        raise ValueError(f"level must be above 0 and below 1, got {level}")


def _build_intervals(estimates: Numbers, half: np.ndarray | float, basis: str) -> SliceIntervals:
    """The intervals of the estimates, (n_slices,), plus and minus `half`, clipped to [0, 1]."""
    estimates = np.asarray(estimates, dtype=float)
    return SliceIntervals(np.clip(estimates - half, 0, 1), np.clip(estimates + half, 0, 1), basis)


def sampling_variance(accuracy: Numbers, n: Numbers) -> np.ndarray:
    """The binomial variance of the accuracy of n responses, after adding two correct and two incorrect ones.

    The addition keeps it above 0 if all responses seem correct (Agresti and Coull 1998). It is infinite for n = 0.
    """
    n = np.asarray(n, dtype=float)
    share = (np.asarray(accuracy, dtype=float) * n + _PSEUDO_LABELS / 2) / (n + _PSEUDO_LABELS)
    return _binomial_variance(share, n)


def _binomial_variance(share: np.ndarray, n: np.ndarray) -> np.ndarray:
    """The variance of a share of n responses, (k,) each; infinite for n = 0."""
    return np.where(n > 0, share * (1 - share) / np.maximum(n, 1), math.inf)
