"""The posterior of the spread of errors on labelled domains, which predicts the error on a new domain.

Model: the error on a domain is normal with mean 0 and standard deviation s, the spread, which is the same for all
domains, including new ones. So a bias counts as spread. The observed error also contains sampling noise, whose variance
follows from the number of labels. The prior of s^2 is scaled inverse chi-squared, with the weight of `freedom` domains
whose errors have the standard deviation `scale`. The predictive distribution of a new domain's error is Student's t if
the labels have no noise (Gelman et al. 2013, section 3.2), and otherwise a mixture of normal distributions.

Domains of one group (the subjects of a benchmark) may have similar errors. Then an error is the sum of two normal
parts, the group's and the domain's. A share of the variance s^2 is between groups; its prior favours large shares. A
new domain of a new group still has the spread s, but many domains in few groups tell less about s than the same number
in as many groups (the random-effects model: Gelman et al. 2013, section 5.4).

The prior is cautious rather than a best guess:

- Its scale, .18, lies between the upper quartile of the paper's errors, .16, and the spread that the option
  probabilities of three large models showed, .20 (AEE .16). The paper's errors are 36 pairs of a model and a group of
  two or three domains (Tables 2 and 7), converted by AEE = s sqrt(2 / pi).
- Its freedom is a third of that of the paper's errors, because they all come from one study.
- The paper's errors themselves (.11, 4.3) give intervals that hold too rarely if a model is worse than most of the
  paper's, above all if a few domains happened to look good (benchmarks/bench_verdict.py).

For real answers of two small models the prior is too wide: their spread is .06, and 90 % intervals held in 99 % of 504
cases. A prior learned on other models and domains (`make bench-learned`) has .06 to .11 with 3 to 4.5 domains and a
sixth less interval score. But with .11, 3 domains and three labelled domains, 90 % intervals hold in only 80 % of cases
for a model that is off by .20, as large models have been (`bench_verdict.py --prior .11 3`). So the wide prior stays.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, ndtr, roots_jacobi

from entropy_sentinel.statistics.array_types import Names, Numbers


class Prior(NamedTuple):
    """The prior of the spread: it has the weight of `freedom` domains with errors of `scale`."""

    scale: float
    freedom: float


CAUTIOUS = Prior(scale=0.18, freedom=1.5)

# The mean absolute value of a standard normal variable.
MEAN_ABS_NORMAL = math.sqrt(2 / math.pi)
# The grid of spreads: sums over it equal integrals to four digits.
_SPREADS = np.exp(np.linspace(math.log(0.003), math.log(3000), 481))
# Limits of Newton's method, which converges from the left because coverage is a concave function of the half width.
_STEPS, _PRECISION, _DIGITS = 60, 1e-10, 12
# The share of variance between groups has the prior Beta(4, 1), with the mean .8. So domains of a group count as alike
# until they show otherwise. With a uniform prior, 80 % intervals hold in 75 % of cases for three groups of six similar
# domains and an estimator off by .16 (benchmarks/bench_verdict.py --groups). Gauss-Jacobi quadrature has nodes near 0,
# too, so that domains of a group can turn out to be independent; probabilities are right to .0002.
_NODES, _NODE_WEIGHTS = roots_jacobi(20, 0, 3)
_GROUP_SHARES, _LOG_SHARE_WEIGHTS = (_NODES + 1) / 2, np.log(_NODE_WEIGHTS / _NODE_WEIGHTS.sum())
# Slices at a time, to limit memory; and the weight below which a spread is ignored.
_BATCH, _NO_WEIGHT = 4096, 1e-12
# Number of variances whose half widths are found from 0 if there are many.
_FEW_VARIANCES = 256


@dataclass(frozen=True)
class Spread:
    """The posterior of the spread of errors: weights over a grid of spreads, (n_spreads,), with the sum 1."""

    weights: np.ndarray

    @classmethod
    def fit(cls, errors: Numbers, variances: Numbers, prior: Prior = CAUTIOUS, groups: Names | None = None) -> "Spread":
        """The posterior given the errors of k domains, (k,), and their label sampling variances, (k,).

        `groups`, (k,), are the domains' groups; by default each domain is its own group.
        """
        likelihoods, _ = _log_likelihoods(errors, variances, groups)
        return cls(_normalise_weights(_log_prior(prior) + _integrate_shares(likelihoods.sum(axis=0))))

    @classmethod
    def fit_leave_one_out(
        cls, errors: Numbers, variances: Numbers, prior: Prior = CAUTIOUS, groups: Names | None = None
    ) -> "Iterator[tuple[np.ndarray, Spread]]":
        """Yield the positions of the domains of each group, (n_in_group,), and the posterior given all other domains.

        The arguments are those of `fit`. The groups are independent given the spread and the share, so their
        log-likelihoods are computed once, and one is subtracted from the sum in turn.
        """
        likelihoods, places = _log_likelihoods(errors, variances, groups)
        total, log_prior = likelihoods.sum(axis=0), _log_prior(prior)
        for number, likelihood in enumerate(likelihoods):
            remaining = _integrate_shares(total - likelihood)
            yield np.flatnonzero(places == number), cls(_normalise_weights(log_prior + remaining))

    def add_domains(self, n_domains: int, mean_square: float, label_variance: float) -> "Spread":
        """The posterior after `n_domains` further domains with errors of `mean_square`.

        `label_variance` is the sampling variance of each domain's labelled accuracy.
        """
        variance = _SPREADS**2 + label_variance
        with np.errstate(divide="ignore"):
            # n normal errors: log-likelihood -n/2 (log v + mean square / v), v = s^2 + label variance.
            return Spread(
                _normalise_weights(np.log(self.weights) - n_domains * 0.5 * (np.log(variance) + mean_square / variance))
            )

    def mean_error_below(self, limit: float) -> float:
        """The probability that the mean absolute error on new domains is at most `limit`."""
        return float(np.interp(math.log(limit / MEAN_ABS_NORMAL), np.log(_SPREADS), self._cumulative_weights()))

    def mean_error_limit(self, confidence: float) -> float:
        """The one-sided upper limit, at `confidence`, of the mean absolute error on new domains."""
        return MEAN_ABS_NORMAL * math.exp(np.interp(confidence, self._cumulative_weights(), np.log(_SPREADS)))

    def posterior_mean(self, function: Callable[[np.ndarray], np.ndarray]) -> float:
        """The posterior mean of a function of the spread, which maps spreads, (n,), to numbers, (n,)."""
        support = self.weights > _NO_WEIGHT
        return float(function(_SPREADS[support]) @ self.weights[support])

    def density(self, errors: Numbers, variance: float) -> np.ndarray:
        """The density of each of n errors on a slice with this sampling variance, (n,), up to a factor.

        It is the mean over s of the normal density with variance s^2 + `variance`.
        """
        support = self.weights > _NO_WEIGHT
        deviations = np.sqrt(_SPREADS[support] ** 2 + variance)
        z = np.asarray(errors, dtype=float)[:, None] / deviations
        densities: np.ndarray = np.exp(-(z**2) / 2) @ (self.weights[support] / deviations)
        return densities

    def half_widths(self, variances: Numbers, level: float) -> np.ndarray:
        """Half the widths of the predictive intervals of slices with these sampling variances, (n_slices,)."""
        distinct, positions = np.unique(np.asarray(variances, dtype=float), return_inverse=True)
        begin = np.zeros(len(distinct))
        if len(distinct) > 4 * _FEW_VARIANCES:
            # Between the solutions for a few variances, Newton's method needs two steps in place of ten.
            nodes = distinct[np.isfinite(distinct)]
            nodes = nodes[np.linspace(0, len(nodes) - 1, _FEW_VARIANCES).astype(int)]
            begin = np.interp(distinct, nodes, self._solve_half_widths(nodes, level, np.zeros(len(nodes))))
        parts = [
            self._solve_half_widths(distinct[at : at + _BATCH], level, begin[at : at + _BATCH])
            for at in range(0, len(distinct), _BATCH)
        ]
        # Rounded, because the last bits depend on which variances are computed together.
        return np.concatenate(parts).round(_DIGITS)[positions] if parts else np.zeros(0)

    def coverage(self, level: float, mean_error: float) -> float:
        """The coverage on new domains of intervals of `level`, if errors were normal with this mean absolute error."""
        [half_width] = self.half_widths([0.0], level)
        # The errors' standard deviation is mean_error / MEAN_ABS_NORMAL.
        return float(2 * ndtr(half_width * MEAN_ABS_NORMAL / mean_error) - 1)

    def _cumulative_weights(self) -> np.ndarray:
        """The cumulative weights of the grid, each with half of its own weight."""
        return np.cumsum(self.weights) - self.weights / 2

    def _solve_half_widths(self, variances: np.ndarray, level: float, begin: np.ndarray) -> np.ndarray:
        """The half widths h by Newton's method from `begin`, (n_slices,); infinite for an infinite variance.

        They solve P(|error| <= h) = level, where the error is normal with variance s^2 + the slice's, averaged over s.
        """
        half_widths = np.full(len(variances), math.inf)
        finite, support = np.isfinite(variances), self.weights > _NO_WEIGHT
        weights = self.weights[support]
        # Standard deviations of the error, (n_slices, n_spreads).
        deviations = np.sqrt(_SPREADS[support] ** 2 + variances[finite][:, None])
        half = begin[finite].copy()
        for _ in range(_STEPS):
            z = half[:, None] / deviations
            inside = (2 * ndtr(z) - 1) @ weights
            # d/dh (2 Phi(h / d) - 1) = sqrt(2 / pi) exp(-(h / d)^2 / 2) / d.
            slope = (np.exp(-(z**2) / 2) / deviations) @ weights * MEAN_ABS_NORMAL
            step = (level - inside) / slope
            half += step
            if np.all(np.abs(step) < _PRECISION):
                break
        half_widths[finite] = half
        return half_widths


def _log_prior(prior: Prior) -> np.ndarray:
    """The log prior of each spread s of the grid, (n_spreads,), up to a constant."""
    # The density of log s if s^2 is scaled inverse chi-squared: s^-freedom exp(-freedom scale^2 / (2 s^2)).
    logarithms: np.ndarray = -prior.freedom * (np.log(_SPREADS) + prior.scale**2 / (2 * _SPREADS**2))
    return logarithms


def _log_likelihoods(errors: Numbers, variances: Numbers, groups: Names | None) -> tuple[np.ndarray, np.ndarray]:
    """Each group's log-likelihood, (n_groups, n_shares, n_spreads), up to a constant; and each domain's group.

    There is one share if each domain is its own group, because no share then changes anything.
    """
    errors, variances = np.asarray(errors, dtype=float), np.asarray(variances, dtype=float)
    group_names = np.arange(len(errors)) if groups is None else np.asarray(groups)
    names, places = np.unique(group_names, return_inverse=True)
    if len(names) == len(errors):
        order = np.argsort(places)
        variance = _SPREADS**2 + variances[order, None]
        return -0.5 * (np.log(variance) + errors[order, None] ** 2 / variance)[:, None], places
    likelihoods = [
        _group_log_likelihood(errors[places == number], variances[places == number]) for number in range(len(names))
    ]
    return np.array(likelihoods), places


def _integrate_shares(likelihoods: np.ndarray) -> np.ndarray:
    """Integrate the likelihood over the share between groups: (n_shares, n_spreads) to (n_spreads,), in logarithms."""
    if len(likelihoods) == 1:
        return np.asarray(likelihoods[0])
    return np.asarray(logsumexp(likelihoods + _LOG_SHARE_WEIGHTS[:, None], axis=0))


def _group_log_likelihood(errors: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """The log-likelihood of one group's errors for each share and spread, (n_shares, n_spreads).

    The covariance matrix of its errors e is C = diag(d) + b 1 1', with the variance b = share s^2 between groups and
    d = (1 - share) s^2 + label variance of each domain. So its inverse and determinant are sums over the group (Sherman
    and Morrison 1950): with R = 1 + b sum(1 / d),

        log det C = sum(log d) + log R
        e' C^-1 e = sum(e^2 / d) - b sum(e / d)^2 / R
    """
    shares = _GROUP_SHARES[:, None]
    between = shares * _SPREADS**2  # b, (n_shares, n_spreads)
    independent = (1 - shares)[:, None] * _SPREADS**2 + variances[:, None]  # d, (n_shares, n_domains, n_spreads)
    ratio = 1 + between * (1 / independent).sum(axis=1)
    square = (errors[:, None] ** 2 / independent).sum(axis=1)
    square -= between * (errors[:, None] / independent).sum(axis=1) ** 2 / ratio
    likelihood: np.ndarray = -0.5 * (np.log(independent).sum(axis=1) + np.log(ratio) + square)
    return likelihood


def _normalise_weights(logarithms: np.ndarray) -> np.ndarray:
    """The weights with these logarithms, (n,), up to a constant, scaled to the sum 1."""
    weights: np.ndarray = np.exp(logarithms - logsumexp(logarithms))
    return weights
