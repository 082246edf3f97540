"""The accuracy of many responses from a few labels and a prediction of each: power-tuned prediction-powered inference.

The estimate is the mean of the labels, set right by how far the predictions of the labelled responses are from those of
all: mean(y) + power (mean(p of all) - mean(p of the labelled)). Of all powers the one of least variance is taken,
cov(y, p) / var(p), kept in [0, 1]: 0 for predictions that say nothing, which leaves the labels alone (Angelopoulos,
Duchi and Zrnic 2023, "PPI++"; the regression estimator of survey sampling). A larger one would make more of a few odd
predictions among the labelled than they are worth. The labelled responses are a sample of all; `ppi-python`
wants the others apart, where the same estimate has the power (1 - n / N) times this one.

A normal interval fails for accuracies near 0 or 1: 30 correct of 30 have no variance. So the interval is that of a
binomial share of as many labels as would be as exact (the effective sample size: Korn and Graubard 1998), between that
of mid-P and that of Clopper and Pearson (1934). It is made not to fall short of its level; so near 0 and 1, where a few
labels can show a few shares only, it holds the truth more often than its level says. Labels alone, the yardstick, get
the interval of the same kind.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc
from scipy.stats import norm

from entropy_sentinel.statistics.numbers import Numbers

# How much of the probability of just this many correct counts as more extreme: 1/2 is mid-P, whose coverage falls up to
# 7 points short with 30 labels, 1 is Clopper and Pearson, never short and wider. With 3/4 it is at most 2 points short
# at levels of 90 % and more with 30 labels or more, and 3 points at 80 % (tests/statistics has the sums).
OWN_SHARE = 0.75
# With fewer labels the power cannot be estimated.
FEWEST_FOR_POWER = 4
# Predictions that differ by less count as equal.
_SAME = 1e-12
# So is a share that is as near to 0 or 1.


class LabelledMean(NamedTuple):
    """A share in [0, 1] with its interval; `power`, how much of the predictions is used; the labels it is worth."""

    estimate: float
    lower: float
    upper: float
    power: float
    n_effective: float


def prediction_powered_mean(
    labels: Numbers,
    predicted_on_labelled: Numbers,
    predicted_on_all: Numbers,
    level: float,
    weights: Numbers | None = None,
    power: float | None = None,
) -> LabelledMean:
    """The accuracy that responses are drawn with, of which those with `labels`, (n,), at least one, are a sample.

    `predicted_on_labelled` is (n,), `predicted_on_all` is (N,), the labelled ones among them: P(correct) of each, well
    calibrated or not. `weights`, (n,), are how many responses each labelled one stands
    for, 1 / its probability of being chosen; without them all are as likely. `power` is given only to look at another.

    Raises ValueError for NaN or infinite numbers, weights of 0 or less, different lengths, a level outside (0, 1).
    """
    y, p, everywhere = (np.asarray(values, dtype=float) for values in (labels, predicted_on_labelled, predicted_on_all))
    u = _checked(y, p, everywhere, level, weights)
    n, share = len(y), u / len(y)
    y_mean, p_mean = share @ y, share @ p
    y_off, p_off = y - y_mean, p - p_mean
    if power is None:
        power = _power(y_off, p_off, share, everywhere)
    estimate = min(max(y_mean + power * (everywhere.mean() - p_mean), 0.0), 1.0)
    alone = np.sum((u * y_off) ** 2) * _unbiased(n, 1)
    left = np.sum((u * (y_off - power * p_off)) ** 2) * _unbiased(n, 2) if power else alone
    binomial = n * estimate * (1 - estimate) * _unbiased(n, 1)
    n_effective = effective_labels(n, len(everywhere), binomial, alone, left, float(share @ u**2), level)
    return LabelledMean(float(estimate), *binomial_interval(estimate, n_effective, level), float(power), n_effective)


def effective_labels(
    n: int, n_all: int, binomial: float, alone: float, left: float, uneven: float, level: float
) -> float:
    """How many labels without weights and predictions are worth as much as `n` of `n_all` responses.

    Sums of squares over the n: `binomial`, what labels of this accuracy have; `alone`, of labels by their weight;
    `left`, of what predictions leave of them. The labelled are drawn from all, and all from where they come from: the
    first is better known for the predictions, the second is not. `uneven` is the mean of the squared weights, each
    weight counted as often as it says; 1 for equal ones.
    """
    known = min(n / n_all, 1.0)
    # As if normal quantile^2 more labels had been seen, half of them correct: errors too rare to be among the labels
    # are no proof of a variance of 0 (Agresti and Coull 1998).
    unseen = float(norm.ppf((1 + level) / 2)) ** 2 / 4
    return float(n * (binomial + unseen) / ((1 - known) * left + known * alone + unseen * uneven))


def labelled_mean(labels: Numbers, level: float, weights: Numbers | None = None) -> LabelledMean:
    """`prediction_powered_mean` of labels alone, (n,): what predictions must improve on."""
    nothing = np.zeros(len(labels))
    return prediction_powered_mean(labels, nothing, nothing, level, weights, power=0.0)


def binomial_interval(share: float, n: float, level: float) -> tuple[float, float]:
    """The interval of `level` for a share seen in `n` independent labels, neither of which need be whole.

    The lower limit is the share at which as much or more would be seen with a probability of (1 - level) / 2, where
    just this much counts by OWN_SHARE; the upper one likewise.
    """
    tail, seen = (1 - level) / 2, share * n

    def at_least(p: float, count: float) -> float:
        """P(X >= count), X binomial with n and p."""
        return 1.0 if count <= 0 else float(betainc(count, n - count + 1, p)) if count < n + 1 else 0.0

    def above(p: float) -> float:
        return OWN_SHARE * at_least(p, seen) + (1 - OWN_SHARE) * at_least(p, seen + 1)

    def below(p: float) -> float:
        return 1 - OWN_SHARE * at_least(p, seen + 1) - (1 - OWN_SHARE) * at_least(p, seen)

    # The weighted mean of equal labels has rounding errors: 15 of 15 can give 0.9999999999999999.
    lower = 0.0 if seen <= _SAME * n else brentq(lambda p: above(p) - tail, 0, 1)
    upper = 1.0 if seen >= (1 - _SAME) * n else brentq(lambda p: below(p) - tail, 0, 1)
    return float(lower), float(upper)


def _power(y_off: np.ndarray, p_off: np.ndarray, share: np.ndarray, everywhere: np.ndarray) -> float:
    """The covariance on the labelled over the variance on all, in [0, 1]."""
    variance = everywhere.var(ddof=1) if len(everywhere) > 1 else 0.0
    if len(y_off) < FEWEST_FOR_POWER or variance <= _SAME:
        return 0.0
    return float(np.clip(np.sum(share * y_off * p_off) / variance, 0, 1))


def _unbiased(n: int, n_fitted: int) -> float:
    """What a mean square about what was fitted to n numbers is too small by; 1 where nothing is left."""
    return n / (n - n_fitted) if n > n_fitted else 1.0


def _checked(y: np.ndarray, p: np.ndarray, everywhere: np.ndarray, level: float, weights: Numbers | None) -> np.ndarray:
    """The weights with a mean of 1, (n,)."""
    w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    if not 0 < level < 1:
        raise ValueError(f"level must be above 0 and below 1, was {level}")
    if not len(y) == len(p) == len(w) > 0 or len(everywhere) < len(y):
        raise ValueError(
            "labels, predictions and weights of the labelled must be as many, at least one, and no more than there are "
            f"responses; were {len(y)}, {len(p)}, {len(w)} and {len(everywhere)}"
        )
    if not all(np.isfinite(values).all() for values in (y, p, everywhere, w)) or not (w > 0).all():
        raise ValueError("labels, predictions and weights must be finite numbers, and weights above 0")
    relative: np.ndarray = w / w.mean()
    return relative
