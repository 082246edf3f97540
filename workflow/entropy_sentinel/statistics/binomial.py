"""The interval of a share of independent labels.

It lies between the mid-P interval and that of Clopper and Pearson (1934), and is designed not to fall below its level.
So near 0 and 1, where few labels allow few shares, its coverage is above the level.
"""

from scipy.optimize import brentq
from scipy.special import betainc

# The part of the probability of the observed count that counts as at least as extreme. 1/2 is mid-P, whose coverage is
# up to 7 points too low with 30 labels. 1 is Clopper and Pearson, whose coverage is never too low, but which is wider.
# With 3/4 and at least 30 labels, coverage is at most 2 points too low at levels from 90 %, and 3 points at 80 %
# (tests/statistics calculates it).
OBSERVED_WEIGHT = 0.75
# Shares this near to 0 or 1 count as 0 or 1.
_TOLERANCE = 1e-12


def binomial_interval(share: float, n: float, level: float) -> tuple[float, float]:
    """The interval of `level` for a share of `n` independent labels; n and the count may be fractions.

    With X binomial with n and p, s = share n the observed count and w = OBSERVED_WEIGHT (mid-P for w = 1/2), the limits
    are the shares p with

        lower: P(X > s) + w P(X = s) = (1 - level) / 2
        upper: P(X < s) + w P(X = s) = (1 - level) / 2
    """
    tail, s, w = (1 - level) / 2, share * n, OBSERVED_WEIGHT

    def probability_from(count: float, p: float) -> float:
        """P(X >= count) for X binomial with n and p."""
        if count <= 0:
            return 1.0
        return float(betainc(count, n - count + 1, p)) if count < n + 1 else 0.0

    def upper_tail(p: float) -> float:
        # P(X > s) + w P(X = s), because P(X = s) = P(X >= s) - P(X >= s + 1).
        return w * probability_from(s, p) + (1 - w) * probability_from(s + 1, p)

    def lower_tail(p: float) -> float:
        # P(X < s) + w P(X = s): here P(X >= s + 1) has the weight w.
        return 1 - w * probability_from(s + 1, p) - (1 - w) * probability_from(s, p)

    # A weighted mean of equal labels has rounding errors: 15 of 15 can give 0.9999999999999999.
    lower = 0.0 if s <= _TOLERANCE * n else brentq(lambda p: upper_tail(p) - tail, 0, 1)
    upper = 1.0 if s >= (1 - _TOLERANCE) * n else brentq(lambda p: lower_tail(p) - tail, 0, 1)
    return float(lower), float(upper)
