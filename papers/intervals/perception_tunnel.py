"""Intervals from repeated answers to a question, and the perception tunnel, which makes single answers too narrow.

Source: Epstein et al., FermiEval (2025), sections "Theory of LLM Perception" and Appendices A, F and G. Samples are
(..., m), NaN for an unreadable answer.

The tunnel: a model sees only a part of its own distribution. A query perceives only the mass from I to I + beta of a
continuous distribution F, with I uniform on [0, 1 - beta], and states the alpha / 2 and 1 - alpha / 2 quantiles of that
part as those of F. `beta` in [0, 1] is the perception size.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from scipy.special import entr

from entropy_sentinel.statistics.array_types import Numbers
from entropy_sentinel.statistics.conformal import contains_truth
from papers.intervals.interval_score import compute_winkler_scores

# 0.07 * 100 is 7, in binary too.
_ROUNDING = 1e-9


def empirical_quantile(samples: np.ndarray, share: float) -> np.ndarray:
    """The smallest sample that is at least as large as this share of the samples, (...); NaN without samples.

    It is one of the samples, so an integer if these are.
    """
    ordered = np.sort(np.asarray(samples, dtype=float), axis=-1)  # NaN last
    n = (~np.isnan(ordered)).sum(axis=-1)
    rank = np.maximum(np.ceil(share * n - _ROUNDING), 1).astype(int)
    quantiles: np.ndarray = np.take_along_axis(ordered, rank[..., None] - 1, axis=-1)[..., 0]
    return quantiles


def empirical_interval(samples: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """The alpha / 2 and 1 - alpha / 2 quantiles of n questions' samples, (n, m): lower and upper, (n,) each.

    These intervals have the best expected score if the samples are from the true distribution (Proposition 2).
    """
    return empirical_quantile(samples, alpha / 2), empirical_quantile(samples, 1 - alpha / 2)


class TemperatureSearch(NamedTuple):
    """The result of a temperature on the calibration questions: mean score, coverage, and the minimised value."""

    temperature: float
    score: float
    coverage: float
    objective: float


def search_temperatures(
    samples: Mapping[float, np.ndarray], true: Numbers, alpha: float, penalty: float
) -> list[TemperatureSearch]:
    """All temperatures, the best first, from samples of n questions at each, (n, m).

    The minimised value is the mean interval score plus `penalty` (the paper's lambda, whose value it does not give)
    times the squared shortfall of the coverage below 1 - alpha. Questions without a readable answer at any of the
    temperatures are excluded for all. Raises ValueError if no question is left.
    """
    intervals = {temperature: empirical_interval(drawn, alpha) for temperature, drawn in samples.items()}
    readable = ~np.isnan([lower for lower, _ in intervals.values()]).any(axis=0)
    if not readable.any():
        raise ValueError("no question has a readable answer at every temperature")
    true = np.asarray(true, dtype=float)[readable]
    candidates = []
    for temperature, (lower, upper) in intervals.items():
        score = float(compute_winkler_scores(lower[readable], upper[readable], true, alpha).mean())
        coverage = float(contains_truth(lower[readable], upper[readable], true).mean())
        shortfall = max(0.0, 1 - alpha - coverage)
        candidates.append(TemperatureSearch(temperature, score, coverage, score + penalty * shortfall**2))
    return sorted(candidates, key=lambda candidate: candidate.objective)


def quantiles_of_quantiles(lowers: np.ndarray, uppers: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """The tunnel estimator: lower and upper, (n,) each, from the limits of m queries, (n, m) each.

    It is the alpha / 2 quantile of the lower limits and the 1 - alpha / 2 quantile of the upper limits, which converge
    to those of F for any beta (Theorem 1). A query without an interval is NaN; if all are, so is the result.
    """
    return empirical_quantile(lowers, alpha / 2), empirical_quantile(uppers, 1 - alpha / 2)


def compute_stated_limits(
    inverse_cdf: Callable[[np.ndarray], np.ndarray], starts: np.ndarray, beta: float, alpha: float
) -> tuple[np.ndarray, np.ndarray]:
    """The limits, lower and upper, (n,) each, that n queries state for the level 1 - alpha.

    Each sees the mass from its start in `starts`, (n,), to start + beta, of a distribution with this inverse function.
    """
    return inverse_cdf(starts + beta * alpha / 2), inverse_cdf(starts + beta * (1 - alpha / 2))


def simulate_queries(
    inverse_cdf: Callable[[np.ndarray], np.ndarray], beta: float, alpha: float, shape: tuple[int, ...], seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """The limits that independent queries state by the theory of the tunnel: lower and upper, each of `shape`.

    `inverse_cdf` is that of the model's own distribution, of which each query sees the share `beta`.
    """
    if not 0 <= beta <= 1:
        raise ValueError(f"beta is a share of the distribution and must be in [0, 1], got {beta}")
    starts = np.random.default_rng(seed).uniform(0, 1 - beta, size=shape)
    return compute_stated_limits(inverse_cdf, starts, beta, alpha)


def asymptotic_covariance(alpha: float, beta: float, densities: tuple[float, float]) -> np.ndarray:
    """The covariance, (2, 2), of sqrt(m) times the errors of lower and upper, for many queries m.

    `densities` are those of F at its alpha / 2 and 1 - alpha / 2 quantiles. The lower ends are uniform on the scale of
    F, over a range of 1 - beta; so a sample quantile has the variance (1 - beta)^2 q (1 - q) / f^2 with q = alpha / 2,
    and that of the lower and the upper one together (1 - beta)^2 q^2 / (f f'). Proposition 1 of the paper prints
    1 - beta instead of its square, and q (1 - q) instead of q^2 off the diagonal: the first overlooks that a density of
    1 / (1 - beta) enters squared, the second treats the two as the same quantile. Simulation agrees with the formula
    here. With beta = 1 all queries are equal.
    """
    q, scale = alpha / 2, (1 - beta) / np.asarray(densities, dtype=float)
    covariance: np.ndarray = np.outer(scale, scale) * np.array([[q * (1 - q), q * q], [q * q, q * (1 - q)]])
    return covariance


def perception_size(levels: Numbers, coverages: Numbers) -> float:
    """The perception size beta from the observed coverages and stated levels, (n_levels,) each, in [0, 1].

    The method: an interval of level p contains the mass beta p of F. If the truth is a draw from F, it is covered with
    that probability, so coverage tends to beta as p tends to 1. Each coverage divided by its level is an estimate, and
    so is the sum of all coverages divided by the sum of all levels, which is returned. It assumes that F itself is
    right: errors of F count as tunnel, too. If beta differs between questions, the result is the mean. The theory
    implies coverage proportional to the level; coverage that falls as the level rises contradicts it. The result is at
    most 1: intervals that hold at least as often as stated show no tunnel.
    """
    levels, coverages = np.asarray(levels, dtype=float), np.asarray(coverages, dtype=float)
    if not len(levels) or len(levels) != len(coverages):
        raise ValueError(f"there must be a coverage for each level, got {len(coverages)} and {len(levels)}")
    return min(float(coverages.sum() / levels.sum()), 1.0)


def tunnel_index(direct: Numbers, answers: Numbers) -> float:
    """The empirical tunnel index: H(direct) less the entropy of the shares of the answers, in nats.

    `direct`, (k,), are the probabilities that the model gives k answers without a reasoning trace; `answers`, (m,), are
    the answers that it gave after m traces. By Theorem 2 the index falls in expectation with m, to H(direct) less the
    entropy of the mean over all traces. It is sure to be at least 0 only if `direct` is that mean. The paper's equation
    2 takes the mean of the entropies instead, which is the index of a single trace.
    """
    _, counts = np.unique(np.asarray(answers), return_counts=True)
    return float(entr(np.asarray(direct, dtype=float)).sum() - entr(counts / counts.sum()).sum())
