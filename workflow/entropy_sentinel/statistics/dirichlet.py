"""Uncertainties where p* itself is known from counts alone: expected over its Dirichlet posterior, in nats.

Source: Tomov et al., Entropy Is Not Enough (2025), Appendix A.1.
"""

import numpy as np
from scipy.special import digamma

from entropy_sentinel.statistics.numbers import Numbers
from entropy_sentinel.statistics.uncertainty import EPSILON, Uncertainty, imputed


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
