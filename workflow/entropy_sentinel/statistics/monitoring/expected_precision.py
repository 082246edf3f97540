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
    # The mean over the observed counts of n labels, which are binomial.
    n = max(round(n_effective), 1)
    shares = np.arange(n + 1) / n
    widths = [_interval_width(float(share), n_effective, level) for share in shares]
    return float(binom.pmf(np.arange(n + 1), n, accuracy) @ np.array(widths))


def _interval_width(share: float, n_effective: float, level: float) -> float:
    """The width of the interval of a share of so many labels."""
    lower, upper = binomial_interval(share, n_effective, level)
    return upper - lower


def expected_size_with_predictions(predicted_on_all: Numbers, labels: int, level: float) -> float:
    """The expected `n_effective` of `prediction_powered_mean` for evenly drawn labels, if P(correct) is right.

    `predicted_on_all`, (N,), are P(correct) of all responses, p. A label y then has the variance a (1 - a), where a is
    the mean of p, and the residual y - p has the mean of p (1 - p).
    """
    p = np.asarray(predicted_on_all, dtype=float)
    accuracy = float(p.mean())
    # Expected sums over the labels: of (y - a)^2, and of (y - p)^2.
    label_squares = labels * accuracy * (1 - accuracy)
    residual_squares = labels * float(np.mean(p * (1 - p)))
    return effective_label_count(
        labels,
        len(p),
        # Evenly drawn labels have equal weights, 1, and independent ones the variance of binomial numbers.
        binomial_squares=label_squares,
        label_squares=label_squares,
        residual_squares=residual_squares,
        weight_square=1.0,
        level=level,
    )


def expected_size_with_judge(
    predicted_on_all: Numbers, labels: int, verdicts: int, sensitivity: float, specificity: float, level: float
) -> float:
    """The expected `n_effective` of `witnessed_mean` for a slice, if predictions are calibrated.

    `predicted_on_all` p is (N,), `labels` and `verdicts` are the numbers of evenly drawn responses with either. With
    calibrated predictions E[y | p] = p, a verdict z has the mean E[z | p] = sensitivity p + (1 - specificity) (1 - p),
    and cov(y, p) = var p. The variance of the mean is that of y - a z - b p over the labels, plus that of a z over the
    verdicts.
    """
    p = np.asarray(predicted_on_all, dtype=float)
    accuracy = float(p.mean())
    mean_verdict = (sensitivity * p + (1 - specificity) * (1 - p)).mean()
    # Over the slice's responses, of a label y, a verdict z and a prediction p.
    var_y = accuracy * (1 - accuracy)
    var_z = float(mean_verdict * (1 - mean_verdict))
    var_p = float(p.var())
    cov_yz = sensitivity * accuracy - accuracy * float(mean_verdict)
    cov_zp = (sensitivity + specificity - 1) * var_p
    # The regression of y on z and p.
    covariance = np.array([[var_z, cov_zp], [cov_zp, var_p]])
    slopes, *_ = np.linalg.lstsq(covariance, np.array([cov_yz, var_p]), rcond=None)
    a, b = np.clip(slopes, 0, 1)
    # var(y - a z - b p).
    var_residual = var_y - 2 * a * cov_yz - 2 * b * var_p + a**2 * var_z + b**2 * var_p + 2 * a * b * cov_zp
    # The variance of z after its regression on p.
    var_z_residual = var_z - cov_zp**2 / var_p if var_p > 0 else var_z
    n_effective_verdicts = effective_label_count(
        verdicts,
        len(p),
        binomial_squares=verdicts * var_z,
        label_squares=verdicts * var_z,
        residual_squares=verdicts * var_z_residual,
        weight_square=1.0,
        level=level,
    )
    bias_factor = labels / (labels - 1) if labels > 1 else 1.0
    # As in `effective_label_count`: quantile^2 labels more, half of them correct.
    added_variance = float(norm.ppf((1 + level) / 2)) ** 2 / 4 / labels**2
    variance = var_residual * bias_factor / labels + a**2 * var_z / n_effective_verdicts
    return float((var_y * bias_factor / labels + added_variance) / (variance + added_variance) * labels)
