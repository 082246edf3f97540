"""What a model does not know, apart from what nobody can: total, aleatoric and epistemic uncertainty, in nats.

A question has a true distribution p* over its answers, and the model a distribution p over the same classes. Sources:
Tomov et al., Entropy Is Not Enough (2025), section 3 and Appendices A.1 and B.1, after Kotelevskii et al. (2025).
"""

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, entr, rel_entr, xlogy

from entropy_sentinel.statistics.numbers import Numbers

# What the paper puts in for the probability of an answer that no sample gave.
EPSILON = 0.01
# Shares of counts add up to 1 but for rounding.
_ROUNDING = 1e-6


class Uncertainty(NamedTuple):
    """Uncertainties of one question in nats: `total` is CE(p*, p), `aleatoric` H(p*), `epistemic` KL(p* || p)."""

    total: float
    aleatoric: float
    epistemic: float


def uncertainty(p_star: Numbers, p: Numbers, epsilon: float = EPSILON, renormalise: bool = False) -> Uncertainty:
    """The uncertainties of p*, (n_classes,), and p, (n_classes,), over the classes that either of them has.

    p* is 0 for a class that is no answer. p is NaN or 0 for a class that the model never gave, and `epsilon` is put in.
    p is then not scaled to add up to 1, as the paper says of no step, so that the epistemic uncertainty can be below 0
    by a little; `renormalise` scales it. Raises ValueError where p* is no distribution.
    """
    true = np.asarray(p_star, dtype=float)
    if not (true >= 0).all() or abs(true.sum() - 1) > _ROUNDING:
        raise ValueError(f"p* must be at least 0 and add up to 1, was {true.tolist()}")
    model = imputed(p, epsilon)
    if renormalise:
        model = model / model.sum()
    total, aleatoric = float(-xlogy(true, model).sum()), float(entr(true).sum())
    return Uncertainty(total, aleatoric, total - aleatoric)


def imputed(p: Numbers, epsilon: float = EPSILON) -> np.ndarray:
    """p, (n_classes,), with `epsilon` for each class that the model never gave: NaN or 0."""
    model = np.asarray(p, dtype=float)
    return np.where(model > 0, model, epsilon)


def expected_uncertainty(counts: Numbers, p: Numbers, gamma: float = 1.0, epsilon: float = EPSILON) -> Uncertainty:
    """E[H(p*)], E[KL(p* || p)] and their sum for p* ~ Dir(1 + gamma n), n the `counts` of the answers, (n_answers,).

    `p`, (n_answers,), is the model's for the same answers, NaN or 0 where it never gave one: `epsilon` is put in. The
    model's classes that are no answer have no count and no part. The larger gamma is, the more the counts are believed.
    Raises ValueError for counts or a gamma below 0.
    """
    seen = np.asarray(counts, dtype=float)
    if gamma < 0 or not len(seen) or not (seen >= 0).all():
        raise ValueError(f"counts and gamma must be at least 0, were {seen.tolist()} and {gamma}")
    alpha = 1 + gamma * seen
    mean = alpha / alpha.sum()
    aleatoric = float(-(mean * (digamma(alpha + 1) - digamma(alpha.sum() + 1))).sum())
    total = float(-(mean * np.log(imputed(p, epsilon))).sum())
    return Uncertainty(total, aleatoric, total - aleatoric)


def jensen_shannon(p: Numbers, q: Numbers) -> float:
    """The Jensen-Shannon divergence of two distributions, (n_classes,) each: 0 for the same, log 2 for no common class.

    That is (KL(p || m) + KL(q || m)) / 2 with m = (p + q) / 2 (Lin 1991).
    """
    first, second = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    middle = (first + second) / 2
    return float((rel_entr(first, middle).sum() + rel_entr(second, middle).sum()) / 2)
