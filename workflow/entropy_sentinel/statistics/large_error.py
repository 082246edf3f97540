"""The posterior of the share of new domains on which an estimator is far off, given the labelled domains.

A domain is far off if the true error of its estimate is above a limit. The labels show this error only with noise, so
each domain counts by the likelihood of its error:

- On a domain that is far off, the true error is uniform from the limit to twice the limit, in either direction, plus
  the sampling noise of its labels. An error beyond one and a half limits counts as one there, so that an error beyond
  twice the limit is not taken for noise.
- On any other domain, errors are normal with the usual spread plus the noise. The spread is estimated from the median
  squared error, so a few large errors do not change it, and is at most half of the limit.

So an error just above the limit says little if there are few labels, and an error just below it is not taken for none.

All domains of a group may be far off together. The probability that a group behaves as a unit (all of its domains are
far off, or none) has a uniform prior on [0, 1].

The prior of the share has the weight of eight domains, 0.2 of them far off. With it, six domains without error are
just enough for `usable`. benchmarks/bench_verdict.py measures the consequences.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betaincc, logsumexp, ndtr, ndtri

from entropy_sentinel.statistics.array_types import Names, Numbers

_PRIOR_LARGE, _PRIOR_SMALL = 0.2, 7.8
# The median of a squared standard normal variable.
_MEDIAN_SQUARE = 0.4549
_TINY = np.finfo(float).tiny
# The grid of shares, finer where verdicts are decided.
_EDGES = np.concatenate([np.arange(0, 0.2, 0.001), np.linspace(0.2, 1, 101)])
_SHARES = (_EDGES[1:] + _EDGES[:-1]) / 2
_PRIOR = np.log(-np.diff(betaincc(_PRIOR_LARGE, _PRIOR_SMALL, _EDGES)))
# The least variance of a label mean, which keeps densities finite.
_LEAST_VARIANCE = 1e-6
# Quantiles of a standard normal error.
_QUANTILES = ndtri((np.arange(40) + 0.5) / 40)
# The grid of probabilities u that a group behaves as a unit, (n_probabilities, 1, 1); each is equally likely.
_UNIT_PROBABILITIES = (np.arange(20) + 0.5)[:, None, None] / 20


@dataclass(frozen=True)
class LargeErrorRate:
    """The posterior of the share of domains with an error above `limit`: log weights over a grid of shares.

    `small_variance` is the variance of the errors of the domains that are not far off.
    """

    limit: float
    small_variance: float
    logarithms: np.ndarray

    @classmethod
    def fit(cls, errors: Numbers, variances: Numbers, limit: float, groups: Names | None = None) -> "LargeErrorRate":
        """The posterior given the errors of k domains, (k,), k at least 1; larger ones than `limit` are far off.

        `variances`, (k,), are the sampling variances of the domains' labels. `groups`, (k,), are the domains' groups;
        by default each domain is its own group.
        """
        squares, label_variances = np.square(errors), np.asarray(variances, dtype=float)
        # The usual spread, from the median squared error without the noise of the labels, is at most half of the limit.
        small_variance = float(
            np.clip(np.median(squares) / _MEDIAN_SQUARE - label_variances.mean(), 0, (limit / 2) ** 2)
        )
        large_densities, small_densities = _error_densities(
            np.asarray(errors, dtype=float), label_variances, limit, small_variance
        )
        return cls(limit, small_variance, _PRIOR + _log_likelihood(large_densities, small_densities, groups))

    def add_domains(self, n_domains: int, mean_square: float, label_variance: float) -> "LargeErrorRate":
        """The posterior after `n_domains` further domains, none of them far off, with normal errors of `mean_square`.

        `label_variance` is the sampling variance of each domain's labelled accuracy. The likelihood of a domain is its
        geometric mean over quantiles of the errors.
        """
        errors = _QUANTILES * math.sqrt(mean_square)
        large_densities, small_densities = _error_densities(
            errors, np.full(len(errors), label_variance), self.limit, self.small_variance
        )
        logarithms = _log_likelihood(large_densities, small_densities, None) / len(errors)
        return replace(self, logarithms=self.logarithms + n_domains * logarithms)

    def share_below(self, share: float) -> float:
        """The probability that at most this share of domains is far off."""
        cumulative = np.cumsum(np.exp(self.logarithms - self.logarithms.max()))
        return float(np.interp(share, _EDGES[1:], cumulative / cumulative[-1]))


def _error_densities(
    errors: np.ndarray, label_variances: np.ndarray, limit: float, small_variance: float
) -> tuple[np.ndarray, np.ndarray]:
    """The densities of the domains' errors if they are far off, and if they are not, (k,) each."""
    noise = np.sqrt(np.maximum(label_variances, _LEAST_VARIANCE))
    # Far off: the true error has density 1 / (2 limit) on limit .. 2 limit and on -2 limit .. -limit, plus the noise.
    distance = np.minimum(np.abs(errors), 1.5 * limit)
    one_side = ndtr((2 * limit - distance) / noise) - ndtr((limit - distance) / noise)
    other_side = ndtr((2 * limit + distance) / noise) - ndtr((limit + distance) / noise)
    large_density = np.maximum((one_side + other_side) / (2 * limit), _TINY)
    # Not far off: normal with mean 0.
    variance = noise**2 + small_variance
    small_density = np.exp(-(errors**2) / (2 * variance)) / np.sqrt(2 * math.pi * variance)
    return large_density, np.maximum(small_density, _TINY)


def _log_likelihood(large_densities: np.ndarray, small_densities: np.ndarray, groups: Names | None) -> np.ndarray:
    """The log-likelihood of the errors of k domains, for each share of the grid, (n_shares,), up to a constant.

    `large_densities` L and `small_densities` S, (k,), are the densities of a domain's error if it is far off, and if it
    is not. For a share q, and a probability u that a group g behaves as a unit, it is the product over groups

        u (q prod_g L + (1 - q) prod_g S) + (1 - u) prod_g (q L + (1 - q) S)

    and its mean over u is the likelihood of q.
    """
    # Of each domain by itself, log(q L + (1 - q) S), (k, n_shares).
    independent = np.log(_SHARES * large_densities[:, None] + (1 - _SHARES) * small_densities[:, None])
    names, group_numbers = np.unique(
        np.arange(len(large_densities)) if groups is None else np.asarray(groups), return_inverse=True
    )
    if len(names) == len(large_densities):
        return np.asarray(independent.sum(axis=0))
    # Of each group as a unit, (n_groups, n_shares): all of its domains are far off, or none.
    membership = np.eye(len(names))[:, group_numbers]
    # Minus infinity times 0 in the matrix product would be NaN.
    log_large = membership @ np.log(np.maximum(large_densities, _TINY))[:, None]
    log_small = membership @ np.log(np.maximum(small_densities, _TINY))[:, None]
    as_unit = np.logaddexp(np.log(_SHARES) + log_large, np.log(1 - _SHARES) + log_small)
    # (n_probabilities, n_groups, n_shares).
    group_likelihoods = np.logaddexp(
        np.log(_UNIT_PROBABILITIES) + as_unit, np.log(1 - _UNIT_PROBABILITIES) + membership @ independent
    )
    # The product over groups, then the sum over u, which all have the same prior: (n_shares,).
    likelihood: np.ndarray = logsumexp(group_likelihoods.sum(axis=1), axis=0)
    return likelihood
