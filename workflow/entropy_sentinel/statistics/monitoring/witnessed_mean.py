"""Accuracy of a slice from a few labels by people, several witnesses, and predictions for all of its responses.

A witness, such as a judge or another model's answer, is cheap and makes errors. Its values z in [0, 1] are known for a
sample of the N responses, which each witness may have of its own, and labels y for n of them. The estimate is

    mean over the labelled of  y + sum over witnesses of a (mean z of all responses - z) + b (mean p of all - p)

A label of which a witness says nothing is not corrected by it. So the estimate is also right if a witness says nothing
of some kinds of responses. The mean of all z is estimated from the witness's sample and the predictions p of all
responses (`prediction_powered`). The powers a and b are slopes of labels on witnesses within slices
(`statistics.witness_powers.witness_powers`), from the labels of all slices, because a few labels of one slice cannot
tell them; a useless witness has a power near 0. Each label gets the powers that the other labels tell (cross-fitting:
Chernozhukov et al. 2018). So they do not depend on the label that they correct, and the estimate is right on average
whatever the witnesses do, with few labels too.

The variance is the sum of squares of what each response adds to the estimate as a label, in the samples of witnesses,
and by its prediction (the influence function). So samples may be the same, overlap or differ, and witnesses may make
the same errors.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from entropy_sentinel.statistics.array_types import Numbers
from entropy_sentinel.statistics.binomial import binomial_interval
from entropy_sentinel.statistics.monitoring.prediction_powered import (
    LabelledMean,
    sample_power,
    sum_cluster_squares,
)


class WitnessValues(NamedTuple):
    """What a witness says of a slice's N responses, (N,), NaN where it says nothing, and the sample that it has seen.

    `weights`, (N,), are the numbers of responses that each one of the sample represents, and 0 outside of it. A value
    outside of the sample only corrects the witness's errors.
    """

    values: Numbers
    weights: Numbers


class LabelledSample(NamedTuple):
    """The n labels of a slice, (n,), and the places of their responses among its N responses, (n,).

    `weights`, (n,), are the numbers of responses that each label represents; null if all are equal.
    """

    labels: Numbers
    places: np.ndarray
    weights: Numbers | None = None


def witnessed_mean(
    labelled: LabelledSample,
    witnesses: Sequence[WitnessValues],
    predicted: Numbers,
    powers: np.ndarray,
    level: float,
    clusters: Numbers | None = None,
) -> LabelledMean:
    """Estimate the accuracy of N responses from n labels and k witnesses, with an interval of `level`.

    `predicted`, (N,), are predictions for all responses; without any, a constant. `powers`, (n, k + 1), are those of
    the witnesses and, last, of predictions for each label. `clusters`, (N,), are the numbers of clusters of dependent
    responses; null if all are independent.
    """
    y, places = np.asarray(labelled.labels, dtype=float), labelled.places
    p = np.asarray(predicted, dtype=float)
    n, n_all = len(y), len(p)
    w = np.ones(n) if labelled.weights is None else np.asarray(labelled.weights, dtype=float)
    share = w / w.sum()
    *each_power, b = np.asarray(powers, dtype=float).T
    p_deviations = p - p.mean()
    # The corrected labels, (n,); what each response adds to the estimate, (N,), without what its prediction adds, which
    # is `p_power` times the prediction's deviation from the mean.
    corrected = y - b * p_deviations[places]
    influence = np.zeros(n_all)
    p_power = float(share @ b)
    for witness, power in zip(witnesses, each_power, strict=True):
        values = np.asarray(witness.values, dtype=float)
        sample = _sample_mean(values, np.asarray(witness.weights, dtype=float), p_deviations, clusters)
        says = values[places]
        corrected += np.where(np.isnan(says), 0, power * (sample.mean - says))
        mean_power = float(share @ np.where(np.isnan(says), 0, power))
        influence += mean_power * sample.influence
        p_power += mean_power * sample.p_power
    mean = float(share @ corrected)
    influence[places] += share * (corrected - mean) * _bias_factor(places, clusters)
    influence += p_power * p_deviations / n_all * _bias_factor(np.arange(n_all), clusters)
    return _add_interval(
        mean,
        variance=sum_cluster_squares(influence, clusters),
        labelled=labelled,
        share=share,
        level=level,
        power=float(share @ b),
        clusters=clusters,
    )


class _SampleMean(NamedTuple):
    """The mean of a witness over all responses, and what each response of its sample adds to it, (N,).

    `p_power` is the power by which predictions improve it; `influence` is without what these add.
    """

    mean: float
    influence: np.ndarray
    p_power: float


def _sample_mean(
    values: np.ndarray, weights: np.ndarray, p_deviations: np.ndarray, clusters: Numbers | None
) -> _SampleMean:
    """The mean of the values of a sample for all responses, improved by predictions.

    `values`, `weights` (0 outside of the sample) and `p_deviations` (of P(correct) from its mean) are those of all
    responses, (n,).
    """
    places = np.flatnonzero(weights > 0)
    share = weights[places] / weights[places].sum()
    z, p = values[places], p_deviations[places]
    z_mean, p_mean = share @ z, share @ p
    power = sample_power(z - z_mean, p - p_mean, share, p_deviations)
    influence = np.zeros(len(values))
    n_fitted = 2 if power else 1
    influence[places] = share * (z - z_mean - power * (p - p_mean)) * _bias_factor(places, clusters, n_fitted)
    return _SampleMean(float(min(max(z_mean - power * p_mean, 0.0), 1.0)), influence, power)


def _bias_factor(places: np.ndarray, clusters: Numbers | None, n_fitted: int = 1) -> float:
    """The factor of deviations that makes their mean square unbiased after fitting `n_fitted` parameters.

    `places` are the positions of the responses, `clusters` those of all responses. It is 1 if no degree of freedom is
    left.
    """
    n = len(places) if clusters is None else len(np.unique(np.asarray(clusters)[places]))
    return float(np.sqrt(n / (n - n_fitted))) if n > n_fitted else 1.0


def _add_interval(
    mean: float,
    variance: float,
    labelled: LabelledSample,
    share: np.ndarray,
    level: float,
    power: float,
    clusters: Numbers | None,
) -> LabelledMean:
    """The estimate in [0, 1] with its interval, that of the number of labels that would be equally precise.

    `share`, (n,), are the weights of the labels, which add up to 1, and `power` is that of the predictions.
    """
    n = len(share)
    estimate = float(min(max(mean, 0.0), 1.0))
    # As for `prediction_powered`: labels without any error do not prove that the variance is 0.
    added_variance = float(norm.ppf((1 + level) / 2)) ** 2 / 4 / n**2
    label_clusters = None if clusters is None else np.asarray(clusters)[labelled.places]
    weight_square = sum_cluster_squares(share, label_clusters) * n
    binomial = estimate * (1 - estimate) / (n - 1 if n > 1 else 1)
    # The number of labels that would have this variance if each had that of binomial ones.
    n_effective = (binomial + added_variance) / (variance + added_variance * weight_square) * n
    return LabelledMean(estimate, *binomial_interval(estimate, float(n_effective), level), power, float(n_effective))
