"""Accuracy from a few labels and predictions for all responses: power-tuned prediction-powered inference.

The estimate is mean(y) + power (mean(p of all) - mean(p of the labelled)): the mean label, corrected by how far the
labelled responses are from all responses in their predictions. The power is the one with the least variance,
cov(y, p) / var(p), clipped to [0, 1]. It is 0 for uninformative predictions, and only the labels count (Angelopoulos,
Duchi and Zrnic 2023, "PPI++"; the regression estimator of survey sampling). A power above 1 would give too much weight
to a few unusual predictions. Here the labelled responses are a sample of all responses. `ppi-python` takes only the
others as the unlabelled set, so its power is (1 - n / N) times this one for the same estimate.

Normal intervals fail near 0 and 1: 30 correct of 30 have no variance. So the interval is a binomial one
(`statistics.binomial`), for the number of labels that would be equally precise (the effective sample size: Korn and
Graubard 1998). For comparison, labels without predictions get the same kind of interval.
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from entropy_sentinel.statistics.array_types import Numbers
from entropy_sentinel.statistics.binomial import binomial_interval

# With fewer labels the power cannot be estimated.
FEWEST_FOR_POWER = 4
# Predictions with a smaller variance count as equal.
_SAME = 1e-12


class LabelledMean(NamedTuple):
    """A share in [0, 1] with its interval, the `power` of the predictions, and the effective number of labels."""

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
    clusters: Numbers | None = None,
) -> LabelledMean:
    """Estimate the accuracy of N responses of which n are labelled, n at least 1, with an interval of `level`.

    `labels` and `predicted_on_labelled` are (n,); `predicted_on_all` is (N,) and includes the labelled responses.
    Predictions are P(correct), calibrated or not. `weights`, (n,), is how many responses each labelled response
    represents, 1 / its probability of being sampled; by default all are equal. `power` replaces the calculated power.
    `clusters`, (n,), is the number of the cluster of each labelled response: labels of one cluster may depend on each
    other, so the variance is that between clusters. By default all labels are independent.

    Raises ValueError for NaN or infinite numbers, weights of 0 or less, different lengths, a level outside (0, 1).
    """
    y, p, p_all = (np.asarray(values, dtype=float) for values in (labels, predicted_on_labelled, predicted_on_all))
    u = _scale_weights(y, p, p_all, level, weights)  # the weights, scaled to a mean of 1
    n, share = len(y), u / len(y)
    y_mean, p_mean = share @ y, share @ p
    # Of each labelled response, (n,).
    y_deviations, p_deviations = y - y_mean, p - p_mean
    if power is None:
        power = sample_power(y_deviations, p_deviations, share, p_all)
    # PPI++: mean(y) + power (mean(p of all) - mean(p of the labelled)), with weighted means of the labelled.
    estimate = min(max(y_mean + power * (p_all.mean() - p_mean), 0.0), 1.0)
    n_clusters = n if clusters is None else len(np.unique(np.asarray(clusters)))
    label_squares = sum_cluster_squares(u * y_deviations, clusters) * _bias_factor(n_clusters, 1)
    residual_squares = label_squares
    if power:
        residual_squares = sum_cluster_squares(u * (y_deviations - power * p_deviations), clusters)
        residual_squares *= _bias_factor(n_clusters, 2)
    binomial_squares = n * estimate * (1 - estimate) * _bias_factor(n, 1)
    weight_square = float(share @ (u * _cluster_sums(u, clusters)))
    n_effective = effective_label_count(
        n,
        n_all=len(p_all),
        binomial_squares=binomial_squares,
        label_squares=label_squares,
        residual_squares=residual_squares,
        weight_square=weight_square,
        level=level,
    )
    return LabelledMean(float(estimate), *binomial_interval(estimate, n_effective, level), float(power), n_effective)


def sum_cluster_squares(values: np.ndarray, clusters: Numbers | None) -> float:
    """The sum of squares of the clusters' sums of values, (n,); without clusters, of the values."""
    # Each value times the sum of its cluster.
    return float(values @ _cluster_sums(values, clusters))


def _cluster_sums(values: np.ndarray, clusters: Numbers | None) -> np.ndarray:
    """For each value the sum of the values, (n,), in its cluster, (n,); without clusters, the value."""
    if clusters is None:
        return values
    _, cluster_numbers = np.unique(np.asarray(clusters), return_inverse=True)
    sums: np.ndarray = np.bincount(cluster_numbers, values)[cluster_numbers]
    return sums


def effective_label_count(
    n: int,
    n_all: int,
    binomial_squares: float,
    label_squares: float,
    residual_squares: float,
    weight_square: float,
    level: float,
) -> float:
    """How many unweighted labels without predictions would be as precise as these `n` of `n_all` responses.

    `binomial_squares`, `label_squares` and `residual_squares` are sums of squares over the n labels: the binomial one
    at this accuracy, that of the weighted labels, and that of the weighted residuals after prediction. Two samplings
    add variance: of the labelled from all responses, which predictions reduce, and of all responses from their source,
    which they do not. `weight_square` is the weighted mean of the weights' squares, or with clusters of a weight times
    the sum of its cluster; 1 for equal weights without clusters. With B, L, R for the sums of squares, W for
    `weight_square` and c = quantile^2 / 4, it is

        n (B + c) / ((1 - n / N) R + (n / N) L + c W)
    """
    labelled_share = min(n / n_all, 1.0)
    # Adds quantile^2 labels, half of them correct: labels without any error do not prove that the variance is 0
    # (Agresti and Coull 1998).
    added_squares = float(norm.ppf((1 + level) / 2)) ** 2 / 4
    return float(
        n
        * (binomial_squares + added_squares)
        / ((1 - labelled_share) * residual_squares + labelled_share * label_squares + added_squares * weight_square)
    )


def labelled_mean(
    labels: Numbers, level: float, weights: Numbers | None = None, clusters: Numbers | None = None
) -> LabelledMean:
    """`prediction_powered_mean` from labels, (n,), without predictions: the baseline for predictions."""
    zeros = np.zeros(len(labels))
    return prediction_powered_mean(labels, zeros, zeros, level, weights, power=0.0, clusters=clusters)


def sample_power(y_deviations: np.ndarray, p_deviations: np.ndarray, share: np.ndarray, p_all: np.ndarray) -> float:
    """The power cov(y, p) / var(p), clipped to [0, 1]: the covariance over the labelled, the variance over all.

    `y_deviations`, `p_deviations` and `share`, the weights with the sum 1, are (n,); `p_all` is (N,).
    """
    variance = p_all.var(ddof=1) if len(p_all) > 1 else 0.0
    if len(y_deviations) < FEWEST_FOR_POWER or variance <= _SAME:
        return 0.0
    return float(np.clip(np.sum(share * y_deviations * p_deviations) / variance, 0, 1))


def _bias_factor(n: int, n_fitted: int) -> float:
    """The factor that makes a mean of n squared residuals unbiased after fitting `n_fitted` parameters.

    It is 1 if no degree of freedom is left.
    """
    return n / (n - n_fitted) if n > n_fitted else 1.0


def _scale_weights(
    y: np.ndarray, p: np.ndarray, p_all: np.ndarray, level: float, weights: Numbers | None
) -> np.ndarray:
    """Check the arguments; return the weights, (n,), scaled to a mean of 1."""
    w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    if not 0 < level < 1:
        raise ValueError(f"level must be above 0 and below 1, got {level}")
    if not len(y) == len(p) == len(w) > 0 or len(p_all) < len(y):
        raise ValueError(
            "labels, predictions and weights of the labelled must be equally many, from one to the number of "
            f"responses; got {len(y)}, {len(p)}, {len(w)} and {len(p_all)}"
        )
    if not all(np.isfinite(values).all() for values in (y, p, p_all, w)) or not (w > 0).all():
        raise ValueError("labels, predictions and weights must be finite numbers, and weights above 0")
    relative: np.ndarray = w / w.mean()
    return relative
