"""Intervals from repeated answers to a question, and the perception tunnel that makes one answer too narrow.

Source: Epstein et al., FermiEval (2025), sections "Theory of LLM Perception" and Appendices A, F and G. Samples are
(..., m), NaN where one has no readable answer.

The tunnel: a model sees only a part of its own distribution. Of a continuous distribution F a query perceives the mass
from I to I + beta alone, with I uniform on [0, 1 - beta], and states the alpha / 2 and 1 - alpha / 2 quantiles of that
part as if it were F. `beta` in [0, 1] is the perception size.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from scipy.special import entr

from entropy_sentinel.analyses.intervals.interval_score import winkler
from entropy_sentinel.statistics.conformal import covered
from entropy_sentinel.statistics.numbers import Numbers

# 0.07 * 100 is 7, in binary too.
_ROUNDING = 1e-9


def empirical_quantile(samples: np.ndarray, share: float) -> np.ndarray:
    """The smallest sample that is at least as large as this share of the samples, (...); NaN without samples.

    It is one of the samples: a whole number where these are.
    """
    ordered = np.sort(np.asarray(samples, dtype=float), axis=-1)  # NaN last
    n = (~np.isnan(ordered)).sum(axis=-1)
    rank = np.maximum(np.ceil(share * n - _ROUNDING), 1).astype(int)
    quantiles: np.ndarray = np.take_along_axis(ordered, rank[..., None] - 1, axis=-1)[..., 0]
    return quantiles


def empirical_interval(samples: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """The alpha / 2 and 1 - alpha / 2 quantiles of the samples of n questions, (n, m): lower and upper, (n,) each.

    Of all intervals these have the best expected score, if the samples are what is to be believed (Proposition 2).
    """
    return empirical_quantile(samples, alpha / 2), empirical_quantile(samples, 1 - alpha / 2)


class Searched(NamedTuple):
    """What a temperature makes of the calibration questions: mean score, coverage, and what is minimised."""

    temperature: float
    score: float
    coverage: float
    objective: float


def temperature_search(
    samples: Mapping[float, np.ndarray], true: Numbers, alpha: float, penalty: float
) -> list[Searched]:
    """Every temperature, the best first, of those whose samples of n questions are given, (n, m) each.

    What is minimised is the mean interval score plus `penalty` (the paper's lambda, which it does not give) times the
    square of how far the coverage is below 1 - alpha. Questions without a readable answer at one of the temperatures
    count for none. Raises ValueError where no question is left.
    """
    intervals = {temperature: empirical_interval(drawn, alpha) for temperature, drawn in samples.items()}
    known = ~np.isnan([lower for lower, _ in intervals.values()]).any(axis=0)
    if not known.any():
        raise ValueError("no question has a readable answer at every temperature")
    true, searched = np.asarray(true, dtype=float)[known], []
    for temperature, (lower, upper) in intervals.items():
        ends = lower[known], upper[known]
        score, coverage = float(winkler(*ends, true, alpha).mean()), float(covered(*ends, true).mean())
        short = max(0.0, 1 - alpha - coverage)
        searched.append(Searched(temperature, score, coverage, score + penalty * short**2))
    return sorted(searched, key=lambda candidate: candidate.objective)


def quantiles_of_quantiles(lowers: np.ndarray, uppers: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """The tunnel estimator: lower and upper, (n,) each, from the ends of m queries of each question, (n, m) each.

    The alpha / 2 quantile of the lower ends and the 1 - alpha / 2 quantile of the upper ones, which tend to those of F
    whatever beta is (Theorem 1). NaN where a query gave no interval; the result is NaN where none did.
    """
    return empirical_quantile(lowers, alpha / 2), empirical_quantile(uppers, 1 - alpha / 2)


def perceived(
    inverse_cdf: Callable[[np.ndarray], np.ndarray], starts: np.ndarray, beta: float, alpha: float
) -> tuple[np.ndarray, np.ndarray]:
    """The ends, lower and upper, that queries state if their perceived mass begins at `starts`, the I of each."""
    return inverse_cdf(starts + beta * alpha / 2), inverse_cdf(starts + beta * (1 - alpha / 2))


def simulate(
    inverse_cdf: Callable[[np.ndarray], np.ndarray], beta: float, alpha: float, shape: tuple[int, ...], seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """What independent queries state under the theory: lower and upper, of `shape`, such as (n, m)."""
    if not 0 <= beta <= 1:
        raise ValueError(f"beta is a share of the distribution and must be in [0, 1], was {beta}")
    starts = np.random.default_rng(seed).uniform(0, 1 - beta, size=shape)
    return perceived(inverse_cdf, starts, beta, alpha)


def asymptotic_covariance(alpha: float, beta: float, densities: tuple[float, float]) -> np.ndarray:
    """The covariance, (2, 2), of the root of m times the error of lower and upper, for many queries m.

    `densities` are those of F at its alpha / 2 and 1 - alpha / 2 quantiles. The lower ends are uniform on the scale of
    F, over a range of 1 - beta; so a sample quantile has the variance (1 - beta)^2 q (1 - q) / f^2 with q = alpha / 2,
    and that of the lower and the upper one together (1 - beta)^2 q^2 / (f f'). Proposition 1 of the paper prints
    1 - beta for its square, and q (1 - q) for q^2 beside the diagonal: the first forgets that a density of
    1 / (1 - beta) counts squared, the second takes the two for the same quantile. Simulation agrees with what stands
    here. With beta = 1 every query says the same.
    """
    q, scale = alpha / 2, (1 - beta) / np.asarray(densities, dtype=float)
    covariance: np.ndarray = np.outer(scale, scale) * np.array([[q * (1 - q), q * q], [q * q, q * (1 - q)]])
    return covariance


def perception_size(levels: Numbers, coverages: Numbers) -> float:
    """The perception size beta from the coverage observed at each stated level, (n_levels,) each, both in [0, 1].

    The method: an interval of level p holds the mass beta p of F. If the truth is a draw of F, it is covered with that
    probability, so that coverage tends to beta as p tends to 1, and stagnates there; each coverage over its level is
    an estimate, and so is the sum of all coverages over that of all levels, which is returned. It assumes that F, were
    it all perceived, would be right: what is wrong with F counts as tunnel too. Where beta differs between questions,
    it is the mean. Coverage in proportion to the level is what the theory says; where it falls as the level rises, the
    theory is not what is seen. At most 1: intervals that hold at least as often as stated show no tunnel.
    """
    levels, coverages = np.asarray(levels, dtype=float), np.asarray(coverages, dtype=float)
    if not len(levels) or len(levels) != len(coverages):
        raise ValueError(f"there must be a coverage for each level, were {len(coverages)} and {len(levels)}")
    return min(float(coverages.sum() / levels.sum()), 1.0)


def tunnel_index(direct: Numbers, answers: Numbers) -> float:
    """Return the empirical tunnel index: H(direct) less the entropy of the shares of the answers, in nats.

    `direct`, (k,), are the probabilities that the model gives k answers without a reasoning trace; `answers`, (m,), are
    the answers that it gave after m traces. By Theorem 2 the index falls in expectation with m, to H(direct) less the
    entropy of the mean over all traces. It is sure to be at least 0 only if `direct` is that mean. The paper's equation
    2 takes the mean of the entropies instead, which is the index of a single trace.
    """
    _, counts = np.unique(np.asarray(answers), return_counts=True)
    return float(entr(np.asarray(direct, dtype=float)).sum() - entr(counts / counts.sum()).sum())
