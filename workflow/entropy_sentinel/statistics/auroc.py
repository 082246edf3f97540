"""The AUROC of a feature, and its interval by DeLong, DeLong and Clarke-Pearson (1988).

The interval is computed from ranks, as in Sun and Xu (2014). Several answers to one question are correlated, so the
variance is that of clusters (Obuchowski 1997), which equals DeLong's if every question is answered once.
"""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from entropy_sentinel.statistics.array_types import Numbers


def roc_area(correct: np.ndarray, scores: np.ndarray) -> float:
    """The area under the ROC curve of `scores` for correct responses; both are (n_responses,), of two classes.

    It equals scikit-learn's `roc_auc_score` to the last digit, but omits its checks, which take longer than the area.
    """
    order = np.argsort(scores)[::-1]
    sorted_scores = scores[order]
    # The points of the curve: after each block of equal scores, correct responses and others so far.
    last_of_equals = np.append(np.flatnonzero(np.diff(sorted_scores)), len(order) - 1)
    hits = np.cumsum(correct[order], dtype=float)[last_of_equals]
    misses = 1.0 + last_of_equals - hits
    if len(hits) > 2:  # drops collinear points, as scikit-learn does, for the same rounding
        corners = np.concatenate([[True], (np.diff(hits, 2) != 0) | (np.diff(misses, 2) != 0), [True]])
        hits, misses = hits[corners], misses[corners]
    return float(np.trapezoid(np.append(0.0, hits) / hits[-1], np.append(0.0, misses) / misses[-1]))


def measure_auroc(
    feature_values: Numbers, correct: Numbers, larger_is_confident: bool
) -> tuple[float | None, str | None]:
    """The AUROC of a feature as a score for incorrect responses, 1 - AUROC for a confidence (paper, Table 1).

    Both arrays are (n_responses,), without nulls; `larger_is_confident` is the feature's sign. Returns (auroc, None),
    or (None, reason) if all labels are of one class.
    """
    incorrect = ~np.asarray(correct, dtype=bool)
    if not len(incorrect):
        return None, "no response with a label and features"
    if incorrect.all():
        return None, "no correct response"
    if not incorrect.any():
        return None, "no incorrect response"
    area = roc_area(incorrect, np.asarray(feature_values))
    return (1 - area if larger_is_confident else area), None


CONFIDENCE = 0.95


class Auroc(NamedTuple):
    """An AUROC and the limits of its interval, all in [0, 1].

    If the AUROC is null, so are the limits, and `reason` says why. Only the limits are null if the variance is
    undefined (a class has one response) or zero (the classes do not overlap).
    """

    auroc: float | None
    lower: float | None
    upper: float | None
    reason: str | None


def measure_auroc_interval(
    feature_values: Numbers,
    correct: Numbers,
    larger_is_confident: bool,
    items: Numbers | None = None,
) -> Auroc:
    """`measure_auroc` with its 95 % interval, clipped to [0, 1].

    `items`, (n_responses,), are the numbers of the questions answered; by default all questions differ.
    """
    area, reason = measure_auroc(feature_values, correct, larger_is_confident)
    if area is None:
        return Auroc(None, None, None, reason)
    values, right = np.asarray(feature_values, dtype=float), np.asarray(correct, dtype=bool)
    items = np.arange(len(right)) if items is None else np.asarray(items)
    _, variance = estimate_auc(values[~right], values[right], items[~right], items[right])
    if not variance > 0:
        return Auroc(area, None, None, None)
    half = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * variance**0.5
    return Auroc(area, max(0.0, area - half), min(1.0, area + half), None)


def estimate_auc(
    positive: np.ndarray,
    negative: np.ndarray,
    positive_items: np.ndarray | None = None,
    negative_items: np.ndarray | None = None,
) -> tuple[float, float]:
    """The share of pairs in which the positive value is larger, with ties counted half, and its variance.

    `positive` is (m,), `negative` is (n,); so are the numbers of their items, which by default all differ. The variance
    is NaN if a class has one item. A value's rank among all values minus its rank within its class is the number of
    values of the other class below it (Sun and Xu 2014, algorithm 2).
    """
    from scipy.stats import rankdata  # the import takes a second, which jobs without intervals save

    m, n = len(positive), len(negative)
    ranks = rankdata(np.concatenate([positive, negative]))
    v10 = (ranks[:m] - rankdata(positive)) / n  # (m,) share of negatives below each positive
    v01 = 1 - (ranks[m:] - rankdata(negative)) / m  # (n,) share of positives above each negative
    area = float(v10.mean())
    positive_clusters = np.arange(m) if positive_items is None else positive_items
    negative_clusters = np.arange(m, m + n) if negative_items is None else negative_items
    return area, _clustered_variance(v10 - area, v01 - area, positive_clusters, negative_clusters)


def _clustered_variance(
    v10: np.ndarray, v01: np.ndarray, positive_clusters: np.ndarray, negative_clusters: np.ndarray
) -> float:
    """The variance of an AUROC of clustered values (Obuchowski 1997, equations 3 to 6, whose symbols these are).

    `v10`, (m,), and `v01`, (n,), are the components of positive and negative values, minus the AUROC; clusters are the
    numbers of their items.
    """
    m, n = len(v10), len(v01)
    _, cluster = np.unique(np.concatenate([positive_clusters, negative_clusters]), return_inverse=True)
    # The number of clusters, of those with positive values, and of those with negative ones.
    i = cluster.max() + 1
    i10, i01 = len(np.unique(positive_clusters)), len(np.unique(negative_clusters))
    if i10 == 1 or i01 == 1:
        return float("nan")
    # Each cluster's sum of components, (i,).
    v10_sums, v01_sums = np.bincount(cluster[:m], v10, i), np.bincount(cluster[m:], v01, i)
    s10 = (v10_sums @ v10_sums) * i10 / (i10 - 1) / m
    s01 = (v01_sums @ v01_sums) * i01 / (i01 - 1) / n
    if i10 + i01 == i:  # no cluster has values of both classes
        return float(s10 / m + s01 / n)
    s11 = (v10_sums @ v01_sums) * i / (i - 1)
    return float(s10 / m + s01 / n + 2 * s11 / (m * n))
