"""What labels and a judge's verdicts will be worth before anybody has labelled: worths and widths of intervals."""

import numpy as np
from scipy.stats import binom, norm

from entropy_sentinel.statistics.array_types import Numbers
from entropy_sentinel.statistics.binomial import binomial_interval
from entropy_sentinel.statistics.monitoring.prediction_powered import effective_label_count

# From so many labels on, the mean width differs from the width at the accuracy by less than 1 %.
_MANY = 80


def expected_width(accuracy: float, n_effective: float, level: float) -> float:
    """The mean width of the intervals of labels worth `n_effective` labels without predictions or verdicts.

    With few labels, the observed share is often far from the accuracy, and its interval then narrower.
    """
    if n_effective >= _MANY:
        return _interval_width(accuracy, n_effective, level)
    n = max(round(n_effective), 1)
    shares = np.arange(n + 1) / n
    widths = [_interval_width(float(share), n_effective, level) for share in shares]
    return float(binom.pmf(np.arange(n + 1), n, accuracy) @ np.array(widths))


def _interval_width(share: float, n_effective: float, level: float) -> float:
    lower, upper = binomial_interval(share, n_effective, level)
    return upper - lower


def expected_size_with_predictions(predicted_on_all: Numbers, labels: int, level: float) -> float:
    """The expected `n_effective` of `prediction_powered_mean` for evenly drawn labels, if P(correct) is right.

    `predicted_on_all` is (N,).
    """
    p = np.asarray(predicted_on_all, dtype=float)
    accuracy = float(p.mean())
    alone = labels * accuracy * (1 - accuracy)
    left = labels * float(np.mean(p * (1 - p)))
    return effective_label_count(labels, len(p), alone, alone, left, 1.0, level)


def expected_size_with_judge(
    predicted_on_all: Numbers, labels: int, verdicts: int, sensitivity: float, specificity: float, level: float
) -> float:
    """The expected `n_effective` of `witnessed_mean` for a slice, if predictions are calibrated.

    `predicted_on_all` is (N,), `labels` and `verdicts` are the numbers of evenly drawn responses with either.
    """
    p = np.asarray(predicted_on_all, dtype=float)
    accuracy, says = float(p.mean()), sensitivity * p + (1 - specificity) * (1 - p)
    # Variances and covariances of a label y, a verdict z and a prediction p over the slice's responses.
    y, z, spread = accuracy * (1 - accuracy), float(says.mean() * (1 - says.mean())), float(p.var())
    yz, zp = sensitivity * accuracy - accuracy * float(says.mean()), (sensitivity + specificity - 1) * spread
    slopes = np.linalg.lstsq(np.array([[z, zp], [zp, spread]]), np.array([yz, spread]), rcond=None)[0]
    a, b = np.clip(slopes, 0, 1)
    left = y - 2 * a * yz - 2 * b * spread + a**2 * z + b**2 * spread + 2 * a * b * zp
    left_of_verdict = z - zp**2 / spread if spread > 0 else z
    sums = verdicts * z, verdicts * z, verdicts * left_of_verdict
    whole = effective_label_count(verdicts, len(p), *sums, 1.0, level)
    unbiased = labels / (labels - 1) if labels > 1 else 1.0
    unseen = float(norm.ppf((1 + level) / 2)) ** 2 / 4 / labels**2
    variance = left * unbiased / labels + a**2 * z / whole
    return float((y * unbiased / labels + unseen) / (variance + unseen) * labels)
