"""Accuracy from a few labels by people, the verdicts of a judge on more responses, and predictions for all.

A judge, such as a language model, is cheap and makes errors. Its verdicts z are known for m of the N responses, and
labels y for n of these. The estimate is

    a (mean z of all responses) + b (mean p of all responses) + mean of (y - a z - b p) over the labelled

The first mean is itself estimated from the m verdicts and the predictions p of all responses (`prediction_powered`);
the last corrects the errors of both. So it is right on average whatever the judge does (double sampling: Neyman 1938;
with predictions: Angelopoulos, Duchi and Zrnic 2023). The two samplings add their variances. The powers a and b come
from the labels of all slices, because a few labels of one slice cannot tell them; a useless judge has a power near 0.
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from entropy_sentinel.statistics.numbers import Numbers
from entropy_sentinel.statistics.prediction_powered import (
    LabelledMean,
    binomial_interval,
    effective_labels,
    prediction_powered_mean,
)

# With fewer labels beyond one a slice, the powers cannot be estimated.
FEWEST_FOR_POWERS = 8


class Verdicts(NamedTuple):
    """A judge's verdicts on m responses of a slice, 0 or 1, with predictions and weights, (m,) each.

    Weights are the numbers of responses that each judged one represents; null if all were equally likely.
    """

    verdicts: Numbers
    predicted: Numbers
    weights: Numbers | None


class Powers(NamedTuple):
    """The weights of a judge's verdicts and of predictions in the estimate, each in [0, 1]."""

    verdict: float
    prediction: float


def powers_of(labels: Numbers, verdicts: Numbers, predicted: Numbers, slices: Numbers) -> Powers | None:
    """Return the powers from labels, verdicts and predictions of several slices, (n,) each; null with too few labels.

    They are the slopes of labels on verdicts and predictions within slices.
    """
    y, of = np.asarray(labels, dtype=float), np.asarray(slices)
    both = np.column_stack([np.asarray(verdicts, dtype=float), np.asarray(predicted, dtype=float)])
    _, place = np.unique(of, return_inverse=True)
    if len(y) - (place.max(initial=0) + 1) < FEWEST_FOR_POWERS:
        return None
    counts = np.bincount(place)
    means = np.column_stack([np.bincount(place, column) / counts for column in both.T])
    slopes = np.linalg.lstsq(both - means[place], y - (np.bincount(place, y) / counts)[place], rcond=None)[0]
    return Powers(*np.clip(slopes, 0, 1).tolist())


def judged_mean(
    labels: Numbers,
    verdicts: Numbers,
    predicted: Numbers,
    judged: Verdicts,
    predicted_on_all: Numbers,
    level: float,
    powers: Powers,
    weights: Numbers | None = None,
) -> LabelledMean:
    """Estimate the accuracy of N responses from n labels and a judge's verdicts on m of them.

    `labels`, `verdicts` and `predicted` are those of the n labelled responses that the judge has seen, (n,), and
    `weights` their weights; `judged` has all m.
    """
    y, z, p, everywhere = (
        np.asarray(values, dtype=float) for values in (labels, verdicts, predicted, predicted_on_all)
    )
    n = len(y)
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    share = w / w.sum()
    whole = prediction_powered_mean(judged.verdicts, judged.predicted, everywhere, level, judged.weights)
    residual = y - powers.verdict * z - powers.prediction * p
    corrected = float(share @ residual)
    expected = powers.verdict * whole.estimate + powers.prediction * everywhere.mean()
    estimate = float(min(max(expected + corrected, 0.0), 1.0))
    unbiased = n / (n - 1) if n > 1 else 1.0
    # As for `prediction_powered`: labels without any error do not prove that the variance is 0.
    unseen = float(norm.ppf((1 + level) / 2)) ** 2 / 4 / n**2
    uneven = float(share @ share) * n
    variance = float(np.sum((share * (residual - corrected)) ** 2)) * unbiased
    variance += powers.verdict**2 * whole.estimate * (1 - whole.estimate) / whole.n_effective
    n_effective = (estimate * (1 - estimate) * unbiased / n + unseen) / (variance + unseen * uneven) * n
    lower, upper = binomial_interval(estimate, float(n_effective), level)
    return LabelledMean(estimate, lower, upper, powers.prediction, float(n_effective))


def expected_worth(predicted_on_all: Numbers, labels: int, verdicts: int, quality: float, level: float) -> float:
    """Return the expected `n_effective` of `judged_mean` for a slice, if predictions are calibrated.

    `predicted_on_all` is (N,), `labels` and `verdicts` are the numbers of evenly drawn responses with either, and
    `quality` is the judge's sensitivity and specificity.
    """
    p = np.asarray(predicted_on_all, dtype=float)
    accuracy, says = float(p.mean()), quality * p + (1 - quality) * (1 - p)
    # Variances and covariances of a label y, a verdict z and a prediction p over the slice's responses.
    y, z, spread = accuracy * (1 - accuracy), float(says.mean() * (1 - says.mean())), float(p.var())
    yz, zp = quality * accuracy - accuracy * float(says.mean()), (2 * quality - 1) * spread
    slopes = np.linalg.lstsq(np.array([[z, zp], [zp, spread]]), np.array([yz, spread]), rcond=None)[0]
    a, b = np.clip(slopes, 0, 1)
    left = y - 2 * a * yz - 2 * b * spread + a**2 * z + b**2 * spread + 2 * a * b * zp
    left_of_verdict = z - zp**2 / spread if spread > 0 else z
    sums = verdicts * z, verdicts * z, verdicts * left_of_verdict
    whole = effective_labels(verdicts, len(p), *sums, 1.0, level)
    unbiased = labels / (labels - 1) if labels > 1 else 1.0
    unseen = float(norm.ppf((1 + level) / 2)) ** 2 / 4 / labels**2
    variance = left * unbiased / labels + a**2 * z / whole
    return float((y * unbiased / labels + unseen) / (variance + unseen) * labels)
