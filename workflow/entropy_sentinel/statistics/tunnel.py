"""The perception tunnel: a model that sees only a part of its own distribution, and what shows the whole of it.

Source: Epstein et al., FermiEval (2025), section "Theory of LLM Perception" and Appendix A. Of a continuous
distribution F a query perceives the mass from I to I + beta alone, with I uniform on [0, 1 - beta], and states the
alpha / 2 and 1 - alpha / 2 quantiles of that part as if it were F. `beta` in [0, 1] is the perception size.
"""

from collections.abc import Callable

import numpy as np

from entropy_sentinel.statistics.numbers import Numbers
from entropy_sentinel.statistics.sampling import empirical_quantile


def quantiles_of_quantiles(lowers: np.ndarray, uppers: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """The tunnel estimator: lower and upper, (n,) each, from the ends of m queries of each question, (n, m) each.

    The alpha / 2 quantile of the lower ends and the 1 - alpha / 2 quantile of the upper ones, which tend to those of F
    whatever beta is (Theorem 1). NaN where a query gave no interval; the result is NaN where none did.
    """
    return empirical_quantile(lowers, alpha / 2), empirical_quantile(uppers, 1 - alpha / 2)


def perceived(
    inverse_cdf: Callable[[np.ndarray], np.ndarray], starts: np.ndarray, beta: float, alpha: float
) -> tuple[np.ndarray, np.ndarray]:
    """What queries state whose perceived mass begins at `starts`, the I of each: lower and upper, of its shape."""
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
