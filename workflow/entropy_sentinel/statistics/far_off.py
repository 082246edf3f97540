"""The posterior of the share of new domains on which an estimator is far off, given the labelled domains.

A domain is far off if the error of its estimate is above a limit. Only the error that its labels show is known.

- A domain that is far off shows an error above the limit with a probability of SHOWN: one half right at the limit, one
  far beyond it.
- Another domain shows such an error by chance in its labels, or because the errors of most domains are spread. The
  median of the squared errors gives that spread, so that a few large errors do not change it. It is at most half of the
  limit.

Domains of one group may be far off together: with a probability that is uniform on [0, 1] before any error is seen, a
group is far off as a whole, or not at all.

The prior is as if eight domains had been seen, a fifth of one far off: six domains without error are then just enough
for `usable`. benchmarks/bench_verdict.py measures what follows.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betaincc, logsumexp, ndtr

from entropy_sentinel.statistics.numbers import Names, Numbers

SHOWN = 0.75
_FAR, _NEAR = 0.2, 7.8
# The median of a squared standard normal variable.
_MEDIAN_SQUARE = 0.4549
_TINY = np.finfo(float).tiny
# Shares of domains, closer to each other where verdicts are decided.
_EDGES = np.concatenate([np.arange(0, 0.2, 0.001), np.linspace(0.2, 1, 101)])
_SHARES = (_EDGES[1:] + _EDGES[:-1]) / 2
_PRIOR = np.log(-np.diff(betaincc(_FAR, _NEAR, _EDGES)))
# Probabilities with which a group is far off as a whole, or not at all.
_ALIKE = (np.arange(20) + 0.5)[:, None, None] / 20


@dataclass(frozen=True)
class FarOff:
    """The posterior of the share of domains with an error above `limit`: logarithms of the weights of a grid of shares.

    `near` is the variance of the errors of most domains.
    """

    limit: float
    near: float
    logarithms: np.ndarray

    @classmethod
    def of(cls, errors: Numbers, variances: Numbers, limit: float, groups: Names | None = None) -> "FarOff":
        """The posterior after these errors, (k,), k at least 1, whose labels have these variances by chance, (k,).

        `groups` (k,) are the domains' groups; without them, each domain is a group of its own.
        """
        squares, chance = np.square(errors), np.asarray(variances, dtype=float)
        near = float(np.clip(np.median(squares) / _MEDIAN_SQUARE - chance.mean(), 0, (limit / 2) ** 2))
        seen_far = squares > limit**2
        if_far, if_near = np.full(len(squares), SHOWN), _shown_by_chance(limit, chance + near)
        if_far, if_near = (np.where(seen_far, shown, 1 - shown) for shown in (if_far, if_near))
        return cls(limit, near, _PRIOR + _log_likelihood(if_far, if_near, groups))

    def after(self, more: int, far: int, chance: float) -> "FarOff":
        """The posterior after `more` domains, `far` of them above the limit, labels with a variance of `chance`."""
        above = _above(self.limit, chance + self.near)
        return replace(self, logarithms=self.logarithms + far * np.log(above) + (more - far) * np.log(1 - above))

    def share_below(self, share: float) -> float:
        """The probability that at most this share of domains is far off."""
        up_to = np.cumsum(np.exp(self.logarithms - self.logarithms.max()))
        return float(np.interp(share, _EDGES[1:], up_to / up_to[-1]))


def _above(limit: float, variance: np.ndarray | float) -> np.ndarray:
    """The probability of showing an error above `limit` for each share, if errors near 0 have this variance."""
    above: np.ndarray = _SHARES * SHOWN + (1 - _SHARES) * _shown_by_chance(limit, variance)
    return above


def _shown_by_chance(limit: float, variance: np.ndarray | float) -> np.ndarray:
    """The probability that an error near 0 of this variance shows above `limit`."""
    shown: np.ndarray = 2 * ndtr(-limit / np.sqrt(variance))
    return shown


def _log_likelihood(if_far: np.ndarray, if_near: np.ndarray, groups: Names | None) -> np.ndarray:
    """The logarithm of the probability of what each domain shows, (n_shares,), up to a constant.

    `if_far` and `if_near`, (k,), are the probabilities of what a domain shows if it is far off, and if not.
    """
    apart = np.log(_SHARES * if_far[:, None] + (1 - _SHARES) * if_near[:, None])
    names, places = np.unique(np.arange(len(if_far)) if groups is None else np.asarray(groups), return_inverse=True)
    if len(names) == len(if_far):
        return np.asarray(apart.sum(axis=0))
    members = np.eye(len(names))[:, places]
    # An impossible outcome gets the logarithm of the smallest number, because sums cannot hold minus infinity.
    far, near = (members @ np.log(np.maximum(probability, _TINY))[:, None] for probability in (if_far, if_near))
    together = np.logaddexp(np.log(_SHARES) + far, np.log(1 - _SHARES) + near)
    of_groups = np.logaddexp(np.log(_ALIKE) + together, np.log(1 - _ALIKE) + members @ apart)
    likelihood: np.ndarray = logsumexp(of_groups.sum(axis=1), axis=0)
    return likelihood
