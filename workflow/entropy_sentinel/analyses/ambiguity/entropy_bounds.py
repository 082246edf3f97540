"""What the entropy H(p) of a model's answers says of its epistemic uncertainty where a question has one answer.

Source: Tomov et al., Entropy Is Not Enough (2025), Theorems 1 and 2 with their proofs in Appendix E. With several
answers neither holds, and by Proposition 1 there can be none like them. All in nats.
"""

import math
from collections.abc import Callable

from scipy.optimize import brentq
from scipy.special import entr

# Entropies that are at an end but for rounding.
_ROUNDING = 1e-12


def alpha_delta(delta: float, n_classes: int) -> float:
    """The largest probability that a class can have among `n_classes` where H(p) is at least `delta`.

    It is the one of 1/K .. 1 at which the entropy is `delta` with the rest spread evenly. Raises ValueError for less
    than two classes, and for a delta outside [0, log K].
    """
    if n_classes < 2:
        raise ValueError(f"n_classes must be at least 2, was {n_classes}")
    _check(delta, math.log(n_classes), f"log {n_classes}")

    def spread_evenly(alpha: float) -> float:
        return float(entr(alpha) + (n_classes - 1) * entr((1 - alpha) / (n_classes - 1)))

    return _solve(spread_evenly, delta, 1 / n_classes)


def gamma_delta(delta: float) -> float:
    """The smallest that the largest probability of a class can be where H(p) is at most `delta`.

    It is the one of 1/2 .. 1 at which the entropy is `delta` with all the rest in one other class. Raises ValueError
    for a delta outside [0, log 2].
    """
    _check(delta, math.log(2), "log 2")
    return _solve(lambda gamma: float(entr(gamma) + entr(1 - gamma)), delta, 0.5)


def least_uncertainty(delta: float, n_classes: int) -> float:
    """Theorem 1: with one answer, H(p) of at least `delta` means an epistemic uncertainty of at least this."""
    return -math.log(alpha_delta(delta, n_classes))


def most_uncertainty(delta: float) -> float:
    """Theorem 2: with one answer, H(p) of at most `delta` means at most this where the likeliest class is right."""
    return -math.log(gamma_delta(delta))


def _check(delta: float, highest: float, name: str) -> None:
    if not 0 <= delta <= highest + _ROUNDING:
        raise ValueError(f"delta must be between 0 and {name} = {highest:.4f}, was {delta}")


def _solve(entropy: Callable[[float], float], delta: float, lowest: float) -> float:
    """Where `entropy`, which falls from its maximum at `lowest` to 0 at 1, is `delta`."""
    if delta <= 0 or delta >= entropy(lowest):
        return 1.0 if delta <= 0 else lowest
    return float(brentq(lambda at: entropy(at) - delta, lowest, 1.0, xtol=1e-15))
