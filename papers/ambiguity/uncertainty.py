"""A model's total, aleatoric and epistemic uncertainty about a question, in nats.

A question has a true distribution p* over its answers, and the model a distribution p over the same classes. Sources:
Tomov et al., Entropy Is Not Enough (2025), section 3 and Appendices A.1 and B.1, after Kotelevskii et al. (2025).
"""

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, entr, rel_entr, xlogy

from entropy_sentinel.statistics.array_types import Numbers

# The paper's probability of an answer that no sample gave.
EPSILON = 0.01
# Shares of counts add up to 1 except for rounding.
_ROUNDING = 1e-6


class Uncertainty(NamedTuple):
    """Uncertainties of one question in nats: `total` is CE(p*, p), `aleatoric` H(p*), `epistemic` KL(p* || p)."""

    total: float
    aleatoric: float
    epistemic: float


def measure_uncertainty(
    p_star: Numbers, p: Numbers, epsilon: float = EPSILON, renormalise: bool = False
) -> Uncertainty:
    """The uncertainties from p*, (n_classes,), and p, (n_classes,), over the classes of both.

    p* is 0 for a class that is not a right answer. p is NaN or 0 for a class that the model never gave, and is replaced
    by `epsilon`. p is then not normalised, because the paper mentions no such step, so the epistemic uncertainty can be
    slightly negative; `renormalise` normalises it. Raises ValueError if p* is not a distribution.
    """
    true_p = np.asarray(p_star, dtype=float)
    if not (true_p >= 0).all() or abs(true_p.sum() - 1) > _ROUNDING:
        raise ValueError(f"p* must be at least 0 and add up to 1, got {true_p.tolist()}")
    model_p = impute_unseen(p, epsilon)
    if renormalise:
        model_p = model_p / model_p.sum()
    total = float(-xlogy(true_p, model_p).sum())
    aleatoric = float(entr(true_p).sum())
    return Uncertainty(total, aleatoric, total - aleatoric)


def impute_unseen(p: Numbers, epsilon: float = EPSILON) -> np.ndarray:
    """P, (n_classes,), with `epsilon` instead of NaN and 0, for classes that the model never gave."""
    model_p = np.asarray(p, dtype=float)
    return np.where(model_p > 0, model_p, epsilon)


def measure_expected_uncertainty(
    counts: Numbers, p: Numbers, gamma: float = 1.0, epsilon: float = EPSILON
) -> Uncertainty:
    """E[H(p*)], E[KL(p* || p)] and their sum for p* ~ Dir(1 + gamma n); n, (n_answers,), are the `counts`.

    `p`, (n_answers,), has the model's probabilities of the same answers; NaN or 0, for answers that it never gave, is
    replaced by `epsilon`. The model's other classes are ignored, because they have no count. A larger gamma gives the
    counts more weight. Raises ValueError for negative counts or gamma.
    """
    n = np.asarray(counts, dtype=float)
    if gamma < 0 or not len(n) or not (n >= 0).all():
        raise ValueError(f"counts and gamma must be at least 0, got {n.tolist()} and {gamma}")
    alpha = 1 + gamma * n
    mean = alpha / alpha.sum()
    aleatoric = float(-(mean * (digamma(alpha + 1) - digamma(alpha.sum() + 1))).sum())
    total = float(-(mean * np.log(impute_unseen(p, epsilon))).sum())
    return Uncertainty(total, aleatoric, total - aleatoric)


def jensen_shannon(p: Numbers, q: Numbers) -> float:
    """The Jensen-Shannon divergence of two distributions, (n_classes,) each: 0 if equal, log 2 if disjoint.

    It is (KL(p || m) + KL(q || m)) / 2 with m = (p + q) / 2 (Lin 1991).
    """
    first, second = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    m = (first + second) / 2
    return float((rel_entr(first, m).sum() + rel_entr(second, m).sum()) / 2)
