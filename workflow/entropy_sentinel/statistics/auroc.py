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
    last_of_equals = np.append(np.flatnonzero(np.diff(sorted_scores)), len(order) - 1)
    hits = np.cumsum(correct[order], dtype=float)[last_of_equals]
    misses = 1.0 + last_of_equals - hits
    if len(hits) > 2:  # drops collinear points, as scikit-learn does, for the same rounding
        corners = np.concatenate([[True], (np.diff(hits, 2) != 0) | (np.diff(misses, 2) != 0), [True]])
        hits, misses = hits[corners], misses[corners]
    return float(np.trapezoid(np.append(0.0, hits) / hits[-1], np.append(0.0, misses) / misses[-1]))


def auroc(feature_values: Numbers, correct: Numbers, larger_is_confident: bool) -> tuple[float | None, str | None]:
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


def auroc_interval(
    feature_values: Numbers,
    correct: Numbers,
    larger_is_confident: bool,
    items: Numbers | None = None,
) -> Auroc:
    """`auroc` with its 95 % interval, clipped to [0, 1].

    `items`, (n_responses,), are the numbers of the questions answered; by default all questions differ.
    """
    area, reason = auroc(feature_values, correct, larger_is_confident)
    if area is None:
        return Auroc(None, None, None, reason)
    values, right = np.asarray(feature_values, dtype=float), np.asarray(correct, dtype=bool)
    items = np.arange(len(right)) if items is None else np.asarray(items)
    _, variance = delong(values[~right], values[right], items[~right], items[right])
    if not variance > 0:
        return Auroc(area, None, None, None)
    half = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * variance**0.5
    return Auroc(area, max(0.0, area - half), min(1.0, area + half), None)


def delong(
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
    above = (ranks[:m] - rankdata(positive)) / n  # (m,) share of negatives below each positive
    below = 1 - (ranks[m:] - rankdata(negative)) / m  # (n,) share of positives above each negative
    area = float(above.mean())
    own = np.arange(m) if positive_items is None else positive_items
    others = np.arange(m, m + n) if negative_items is None else negative_items
    return area, _variance(above - area, below - area, own, others)


def _variance(above: np.ndarray, below: np.ndarray, own: np.ndarray, others: np.ndarray) -> float:
    """The variance (Obuchowski 1997, equations 3 to 6) from terms of positives, (m,), and negatives, (n,)."""
    m, n = len(above), len(below)
    _, item = np.unique(np.concatenate([own, others]), return_inverse=True)
    size = item.max() + 1
    of_positive, of_negative = np.bincount(item[:m], above, size), np.bincount(item[m:], below, size)
    n_positive, n_negative = len(np.unique(own)), len(np.unique(others))
    if n_positive == 1 or n_negative == 1:
        return float("nan")
    within = (of_positive @ of_positive) * n_positive / (n_positive - 1) / m**2
    within += (of_negative @ of_negative) * n_negative / (n_negative - 1) / n**2
    if n_positive + n_negative == size:  # no item has answers of both classes
        return float(within)
    return float(within + 2 * (of_positive @ of_negative) * size / (size - 1) / (m * n))
