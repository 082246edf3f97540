"""The posterior of the share of new domains on which an estimator is far off, given the labelled domains.

A domain is far off if the true error of its estimate is above a limit. The labels show this error only with noise:

- A domain that is far off shows an error above the limit with the probability SHOWN. This is a mean: the probability
  is 1/2 just at the limit and 1 far beyond it.
- Any other domain can show an error above the limit because of sampling noise in its labels or the usual spread of
  errors. The spread is estimated from the median squared error, so a few large errors do not change it, and is at most
  half of the limit.

All domains of a group may be far off together. The probability that a group behaves as a unit (all of its domains are
far off, or none) has a uniform prior on [0, 1].

The prior of the share has the weight of eight domains, 0.2 of them far off. With it, six domains without error are
just enough for `usable`. benchmarks/bench_verdict.py measures the consequences.
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
# The grid of shares, finer where verdicts are decided.
_EDGES = np.concatenate([np.arange(0, 0.2, 0.001), np.linspace(0.2, 1, 101)])
_SHARES = (_EDGES[1:] + _EDGES[:-1]) / 2
_PRIOR = np.log(-np.diff(betaincc(_FAR, _NEAR, _EDGES)))
# The grid of probabilities that a group behaves as a unit.
_ALIKE = (np.arange(20) + 0.5)[:, None, None] / 20


@dataclass(frozen=True)
class FarOff:
    """The posterior of the share of domains with an error above `limit`: log weights over a grid of shares.

    `near` is the variance of the errors of the domains that are not far off.
    """

    limit: float
    near: float
    logarithms: np.ndarray

    @classmethod
    def of(cls, errors: Numbers, variances: Numbers, limit: float, groups: Names | None = None) -> "FarOff":
        """Return the posterior given the errors of k domains, (k,), k at least 1.

        `variances`, (k,), are the sampling variances of the domains' labels. `groups`, (k,), are the domains' groups;
        by default each domain is its own group.
        """
        squares, chance = np.square(errors), np.asarray(variances, dtype=float)
        near = float(np.clip(np.median(squares) / _MEDIAN_SQUARE - chance.mean(), 0, (limit / 2) ** 2))
        seen_far = squares > limit**2
        by_chance = _shown_by_chance(limit, chance + near)
        if_far = np.where(seen_far, SHOWN, 1 - SHOWN)
        if_near = np.where(seen_far, by_chance, 1 - by_chance)
        return cls(limit, near, _PRIOR + _log_likelihood(if_far, if_near, groups))

    def after(self, more: int, far: int, chance: float) -> "FarOff":
        """Return the posterior after `more` domains, `far` above the limit; `chance` is their label variance."""
        above = _above(self.limit, chance + self.near)
        return replace(self, logarithms=self.logarithms + far * np.log(above) + (more - far) * np.log(1 - above))

    def share_below(self, share: float) -> float:
        """Return the probability that at most this share of domains is far off."""
        up_to = np.cumsum(np.exp(self.logarithms - self.logarithms.max()))
        return float(np.interp(share, _EDGES[1:], up_to / up_to[-1]))


def _above(limit: float, variance: np.ndarray | float) -> np.ndarray:
    """Return the probability that a domain shows an error above `limit`, for each share of the grid."""
    above: np.ndarray = _SHARES * SHOWN + (1 - _SHARES) * _shown_by_chance(limit, variance)
    return above


def _shown_by_chance(limit: float, variance: np.ndarray | float) -> np.ndarray:
    """Return the probability that a domain that is not far off shows an error above `limit`."""
    shown: np.ndarray = 2 * ndtr(-limit / np.sqrt(variance))
    return shown


def _log_likelihood(if_far: np.ndarray, if_near: np.ndarray, groups: Names | None) -> np.ndarray:
    """Return the log-likelihood of what the k domains show, for each share of the grid, (n_shares,), up to a constant.

    `if_far` and `if_near`, (k,), are the probabilities of a domain's observation if it is far off, and if it is not.
    """
    # Of each domain by itself, (k, n_shares).
    apart = np.log(_SHARES * if_far[:, None] + (1 - _SHARES) * if_near[:, None])
    names, places = np.unique(np.arange(len(if_far)) if groups is None else np.asarray(groups), return_inverse=True)
    if len(names) == len(if_far):
        return np.asarray(apart.sum(axis=0))
    # Of each group as a unit, (n_groups, n_shares): all of its domains are far off, or none.
    members = np.eye(len(names))[:, places]
    # Minus infinity times 0 in the matrix product would be NaN.
    far = members @ np.log(np.maximum(if_far, _TINY))[:, None]
    near = members @ np.log(np.maximum(if_near, _TINY))[:, None]
    together = np.logaddexp(np.log(_SHARES) + far, np.log(1 - _SHARES) + near)
    of_groups = np.logaddexp(np.log(_ALIKE) + together, np.log(1 - _ALIKE) + members @ apart)
    likelihood: np.ndarray = logsumexp(of_groups.sum(axis=1), axis=0)
    return likelihood
