"""The posterior of the spread of errors on labelled domains, which predicts the error on a new domain.

The error of an estimator on a domain is taken for normal around 0 with a standard deviation s, the spread, the same for
all domains, the new one included: a bias counts as spread. What is seen of it is the error and the chance in the
domain's labels, whose variance is known from their number. The prior of s^2 is scaled inverse chi-squared: as if
`freedom` domains more had been seen, off by `scale`. What follows for a new domain is Student's t where labels
have no chance in them (Gelman et al. 2013, section 3.2), and a mixture of normal distributions where they have.

Domains of one group (the subjects of a benchmark) may have errors that are alike. Then an error is the sum of the
group's part and the domain's own, both normal, and a share of the variance s^2, probably a large one before any error
is seen, is between groups. A new domain of a new group still has the spread s, but many domains of few groups say less
of it than as many domains of as many groups (the random-effects model: Gelman et al. 2013, section 5.4).

The prior is on the side of caution, and no guess of what to expect. Its scale is between the upper quartile of the
errors that the paper published, .16 (36 pairs of a model and a group of two or three domains, Tables 2 and 7; of a
normal error of standard deviation s the mean distance, AEE, is s sqrt(2 / pi)), and what three large models' option
probabilities showed, .20 (AEE .16). Its freedom is a third of theirs, for all of them are of one study. Published
errors as they are (.11, 4.3) make intervals that hold too rarely where a model is worse than most of theirs, above all
where few domains happened to look good: benchmarks/bench_verdict.py measures it.

On real answers of two small models it is too wide: their spread is .06, and 90 % intervals held 99 % of 504 times. What
would have suited them, learned on other models and domains (`make bench-learned`), is .06 to .11 of 3 to 4.5 domains,
whose interval score is a sixth less. But with .11 of 3 domains and three labelled ones, 90 % intervals hold 80 % of the
times for a model that is off by .20, as large ones have been (`bench_verdict.py --prior .11 3`): this one stays.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, ndtr

from entropy_sentinel.statistics.numbers import Names, Numbers


class Prior(NamedTuple):
    """What is taken of the spread of errors before any is seen: `freedom` domains off by `scale`."""

    scale: float
    freedom: float


CAUTIOUS = Prior(scale=0.18, freedom=1.5)

# Mean distance from 0 of a standard normal variable.
MEAN_DISTANCE = math.sqrt(2 / math.pi)
# Spreads dense and wide enough for sums over them to equal integrals to four digits.
_SPREADS = np.exp(np.linspace(math.log(0.003), math.log(3000), 481))
# Newton's steps converge from the left, because the share inside is a concave function of the half width.
_STEPS, _PRECISION = 60, 1e-10
# Shares of the variance that may be between groups, as probable each: quantiles of Beta(4, 1), whose mean is .8. Groups
# are taken for alike until their domains show otherwise: with a uniform prior, intervals of 80 % hold 75 % for three
# groups of six that are alike and an estimator off by .16 (benchmarks/bench_verdict.py --groups).
_BETWEEN = ((np.arange(20) + 0.5) / 20) ** (1 / 4)
# Slices at a time: bounds the memory. Spreads of less weight than this have no part in a width.
_BATCH, _NO_WEIGHT = 4096, 1e-12


@dataclass(frozen=True)
class Spread:
    """The posterior of the spread of errors: a weight for each of a grid of spreads, (n_spreads,), summing to 1."""

    weights: np.ndarray

    @classmethod
    def of(cls, errors: Numbers, variances: Numbers, prior: Prior = CAUTIOUS, groups: Names | None = None) -> "Spread":
        """The posterior after these errors, (k,), whose labels have these variances by chance, (k,).

        `groups` (k,) are the domains' groups; without them, each domain is a group of its own.
        """
        log_prior = -prior.freedom * np.log(_SPREADS) - prior.freedom * prior.scale**2 / (2 * _SPREADS**2)
        errors, variances = np.asarray(errors, dtype=float), np.asarray(variances, dtype=float)
        return cls(_normalised(log_prior + _log_likelihood(errors, variances, groups)))

    def after(self, more: int, mean_square: float, chance: float) -> "Spread":
        """The posterior after `more` domains with errors of this mean square, labels with a variance of `chance`."""
        variance = _SPREADS**2 + chance
        with np.errstate(divide="ignore"):
            return Spread(_normalised(np.log(self.weights) - more * 0.5 * (np.log(variance) + mean_square / variance)))

    def mean_error_below(self, limit: float) -> float:
        """The probability that the mean error on new domains is at most `limit`."""
        return float(np.interp(math.log(limit / MEAN_DISTANCE), np.log(_SPREADS), self._up_to()))

    def mean_error(self, confidence: float) -> float:
        """The upper limit of the mean error on new domains that holds with a probability of `confidence`."""
        return MEAN_DISTANCE * math.exp(np.interp(confidence, self._up_to(), np.log(_SPREADS)))

    def mean_over(self, of: Callable[[np.ndarray], np.ndarray]) -> float:
        """The mean over the posterior of a function of the spread."""
        there = self.weights > _NO_WEIGHT
        return float(of(_SPREADS[there]) @ self.weights[there])

    def half_widths(self, variances: Numbers, level: float) -> np.ndarray:
        """Half the widths of intervals of `level` for the error plus sampling of these variances, (n_slices,)."""
        variances = np.asarray(variances, dtype=float)
        parts = [self._half_widths(variances[at : at + _BATCH], level) for at in range(0, len(variances), _BATCH)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def share_inside(self, level: float, mean_error: float) -> float:
        """The share of new domains whose accuracy intervals of `level` would contain, if this were the mean error."""
        [half] = self.half_widths([0.0], level)
        return float(2 * ndtr(half * MEAN_DISTANCE / mean_error) - 1)

    def _up_to(self) -> np.ndarray:
        """The probability of a spread up to each value of the grid; half of a value's own weight counts as below it."""
        return np.cumsum(self.weights) - self.weights / 2

    def _half_widths(self, variances: np.ndarray, level: float) -> np.ndarray:
        half_widths = np.full(len(variances), math.inf)
        finite, there = np.isfinite(variances), self.weights > _NO_WEIGHT
        weights, deviations = self.weights[there], np.sqrt(_SPREADS[there] ** 2 + variances[finite][:, None])
        half = np.zeros(len(deviations))
        for _ in range(_STEPS):
            z = half[:, None] / deviations
            inside = (2 * ndtr(z) - 1) @ weights
            density = (np.exp(-(z**2) / 2) / deviations) @ weights * MEAN_DISTANCE
            step = (level - inside) / density
            half += step
            if np.all(np.abs(step) < _PRECISION):
                break
        half_widths[finite] = half
        return half_widths


def _log_likelihood(errors: np.ndarray, variances: np.ndarray, groups: Names | None) -> np.ndarray:
    """The logarithm of the errors' density for each spread, (n_spreads,), up to a constant.

    The covariance of a group's errors is diagonal but for the group's part, so its inverse and determinant are sums
    over the group (Sherman and Morrison 1950). Arrays are (n_shares, n_domains or n_groups, n_spreads).
    """
    names, places = np.unique(np.arange(len(errors)) if groups is None else np.asarray(groups), return_inverse=True)
    members = np.eye(len(names))[:, places]
    shares = (_BETWEEN if len(names) < len(errors) else np.zeros(1))[:, None, None]
    between, own = shares * _SPREADS**2, (1 - shares) * _SPREADS**2 + variances[:, None]
    ratio = 1 + between * (members @ (1 / own))
    square = (errors[:, None] ** 2 / own).sum(axis=1)
    square -= (between * (members @ (errors[:, None] / own)) ** 2 / ratio).sum(axis=1)
    determinant = np.log(own).sum(axis=1) + np.log(ratio).sum(axis=1)
    likelihood: np.ndarray = logsumexp(-0.5 * (determinant + square), axis=0)
    return likelihood


def _normalised(logarithms: np.ndarray) -> np.ndarray:
    weights: np.ndarray = np.exp(logarithms - logsumexp(logarithms))
    return weights
