"""Accuracy from a few labels by people, the verdicts of a judge on more responses, and predictions for all.

A judge, such as a language model, is cheap and makes errors. Its verdicts z are known for m of the N responses, and
labels y for n of these. The estimate is

    mean over the labelled of  y + a (mean z of all responses - z) + b (mean p of all responses - p)

The mean of all verdicts is itself estimated from the m verdicts and the predictions p of all responses
(`prediction_powered`). The two samplings add their variances (double sampling: Neyman 1938; with predictions:
Angelopoulos, Duchi and Zrnic 2023).

The powers a and b are slopes of labels on verdicts and predictions, from the labels of all slices, because a few labels
of one slice cannot tell them; a useless judge has a power near 0. Each label gets the powers that the other labels
tell (cross-fitting: Chernozhukov et al. 2018). So they do not depend on the label that they correct, and the estimate
is right on average whatever the judge does, with few labels too. If all labels are right, they do not show how good the
judge is. Two pseudo-labels, a right and a wrong response that the judge recognises, then keep its verdicts in use;
otherwise a good judge would count only in samples that happen to have a wrong response, which is a bias.
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from entropy_sentinel.statistics.monitoring.prediction_powered import (
    LabelledMean,
    binomial_interval,
    prediction_powered_mean,
    squares_between,
)
from entropy_sentinel.statistics.numbers import Numbers
from entropy_sentinel.statistics.witnesses import witness_powers


class Verdicts(NamedTuple):
    """A judge's verdicts on m responses of a slice, 0 or 1, with predictions and weights, (m,) each.

    Weights are the numbers of responses that each judged one represents; null if all were equally likely.
    `clusters` are the numbers of clusters of dependent responses; null if all are independent.
    """

    verdicts: Numbers
    predicted: Numbers
    weights: Numbers | None
    clusters: Numbers | None = None


class Powers(NamedTuple):
    """The weights of a judge's verdicts and of predictions in the correction of each label, (n,) each, in [0, 1]."""

    verdict: Numbers
    prediction: Numbers


def powers_of(labels: Numbers, verdicts: Numbers, predicted: Numbers, slices: Numbers) -> Powers | None:
    """Return the powers of n labels with verdicts and predictions in several slices; null with too few labels.

    Those of a label are the slopes within slices that the other labels and the pseudo-labels tell.
    """
    witnesses = np.column_stack([np.asarray(values, dtype=float) for values in (verdicts, predicted)])
    powers = witness_powers(labels, witnesses, slices, recognises=(True, False))
    return None if powers is None else Powers(powers.each[:, 0], powers.each[:, 1])


def judged_mean(
    labels: Numbers,
    verdicts: Numbers,
    predicted: Numbers,
    judged: Verdicts,
    predicted_on_all: Numbers,
    level: float,
    powers: Powers,
    weights: Numbers | None = None,
    clusters: Numbers | None = None,
) -> LabelledMean:
    """Estimate the accuracy of N responses from n labels and a judge's verdicts on m of them.

    `labels`, `verdicts` and `predicted` are those of the n labelled responses that the judge has seen, (n,), with their
    `weights` and `powers`, and the numbers of their `clusters` if some depend on each other; `judged` has all m.
    """
    y, z, p, everywhere = (
        np.asarray(values, dtype=float) for values in (labels, verdicts, predicted, predicted_on_all)
    )
    n = len(y)
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    share = w / w.sum()
    whole = prediction_powered_mean(
        judged.verdicts, judged.predicted, everywhere, level, judged.weights, clusters=judged.clusters
    )
    verdict, prediction = np.asarray(powers.verdict, dtype=float), np.asarray(powers.prediction, dtype=float)
    corrected = y + verdict * (whole.estimate - z) + prediction * (everywhere.mean() - p)
    mean = float(share @ corrected)
    estimate = float(min(max(mean, 0.0), 1.0))
    unbiased = n / (n - 1) if n > 1 else 1.0
    k = n if clusters is None else len(np.unique(np.asarray(clusters)))
    # As for `prediction_powered`: labels without any error do not prove that the variance is 0.
    unseen = float(norm.ppf((1 + level) / 2)) ** 2 / 4 / n**2
    uneven = squares_between(share, clusters) * n
    variance = squares_between(share * (corrected - mean), clusters) * (k / (k - 1) if k > 1 else 1.0)
    variance += float(share @ verdict) ** 2 * whole.estimate * (1 - whole.estimate) / whole.n_effective
    n_effective = (estimate * (1 - estimate) * unbiased / n + unseen) / (variance + unseen * uneven) * n
    lower, upper = binomial_interval(estimate, float(n_effective), level)
    return LabelledMean(estimate, lower, upper, float(share @ prediction), float(n_effective))
