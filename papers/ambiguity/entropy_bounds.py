"""What the entropy H(p) of a model's answers implies for its epistemic uncertainty on questions with one answer.

Source: Tomov et al., Entropy Is Not Enough (2025), Theorems 1 and 2 with their proofs in Appendix E. Neither holds for
questions with several answers, and by Proposition 1 no such bound exists for them. All in nats.
"""

import math

from scipy.optimize import brentq
from scipy.special import entr

# Entropies this close to an end of their range count as equal to that end.
_ROUNDING = 1e-12


def alpha_delta(delta: float, n_classes: int) -> float:
    """The largest probability that one of `n_classes` can have if H(p) is at least `delta`.

    It is the probability in [1/K, 1] at which the entropy is `delta` if the other classes share the rest evenly. Raises
    ValueError for fewer than two classes, and for a delta outside [0, log K].
    """
    if n_classes < 2:
        raise ValueError(f"n_classes must be at least 2, got {n_classes}")
    highest = math.log(n_classes)
    if not 0 <= delta <= highest + _ROUNDING:
        raise ValueError(f"delta must be between 0 and log {n_classes} = {highest:.4f}, got {delta}")

    def entropy(alpha: float) -> float:
        return float(entr(alpha) + (n_classes - 1) * entr((1 - alpha) / (n_classes - 1)))

    if delta == 0 or delta >= entropy(1 / n_classes):
        return 1.0 if delta == 0 else 1 / n_classes
    return float(brentq(lambda alpha: entropy(alpha) - delta, 1 / n_classes, 1.0, xtol=1e-15))


def gamma_delta(delta: float) -> float:
    """The smallest probability that the likeliest class can have if H(p) is at most `delta`.

    It is the probability in [1/2, 1] at which the entropy is `delta` if one other class has all the rest. Raises
    ValueError for a delta outside [0, log 2].
    """
    return alpha_delta(delta, 2)


def compute_lower_bound(delta: float, n_classes: int) -> float:
    """The lower bound of Theorem 1 on the epistemic uncertainty if H(p) is at least `delta`."""
    return -math.log(alpha_delta(delta, n_classes))


def compute_upper_bound(delta: float) -> float:
    """The upper bound of Theorem 2 if H(p) is at most `delta` and the likeliest class is right."""
    return -math.log(gamma_delta(delta))
