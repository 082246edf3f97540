"""How well an estimator ranks questions by their epistemic uncertainty: AUC_c, and the AUROC at a threshold.

AUC_c is P(EU_i > EU_j | estimator_i > estimator_j) over pairs of questions (Tomov et al., Entropy Is Not Enough, 2025,
section 4): 0.5 is chance. It is the concordance of R's package survival (Therneau and Atkinson 2024) with the estimator
as the response: pairs with equal estimators are left out, pairs with equal uncertainties count half.
"""

from bisect import bisect_left
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from entropy_sentinel.statistics.array_types import Numbers
from entropy_sentinel.statistics.auroc import CONFIDENCE, Auroc, measure_auroc_interval


class Concordance(NamedTuple):
    """AUC_c with the ends of its 95 % interval, all in [0, 1].

    `reason` says why there is no value. The ends are also null if all pairs agree: the variance is then 0, and there is
    no interval to show. `tied` is the share of pairs that are left out, null for less than two questions;
    `alike` the share of the others whose uncertainties are equal: they count half, and pull the value towards 0.5.
    """

    auc_c: float | None
    lower: float | None
    upper: float | None
    tied: float | None
    alike: float | None
    reason: str | None


def measure_concordance(estimator: Numbers, epistemic: Numbers) -> Concordance:
    """AUC_c of an estimator for the epistemic uncertainty, (n_items,) each, without nulls.

    The interval is normal, cut off at 0 and 1. Its variance is the infinitesimal jackknife, as in survival: the sum of
    the squared derivatives of AUC_c by the weight of each question.
    """
    x, y = np.asarray(estimator, dtype=float), np.asarray(epistemic, dtype=float)
    n = len(x)
    if n < 2:
        return Concordance(None, None, None, None, None, f"{n} items, 2 are needed")
    # For each question: the pairs with it whose estimators differ, of these those with equal uncertainties, and those
    # in order, where the larger estimator has the larger uncertainty.
    pairs = n - _count_equal(x)
    equal = _count_equal(y) - _count_equal(x, y)
    in_order = _count_below(x, y) + _count_below(-x, -y) + equal / 2
    tied = 1 - pairs.sum() / (n * (n - 1))
    if not pairs.any():
        return Concordance(None, None, None, tied, None, "the estimator is the same for all items")
    alike = float(equal.sum() / pairs.sum())
    value = float(in_order.sum() / pairs.sum())
    variance = float((((in_order - value * pairs) / (pairs.sum() / 2)) ** 2).sum())
    if not variance > 0:
        return Concordance(value, None, None, tied, alike, None)
    half = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * variance**0.5
    return Concordance(value, max(0.0, value - half), min(1.0, value + half), tied, alike, None)


def measure_separation(estimator: Numbers, epistemic: Numbers, threshold: float) -> Auroc:
    """The AUROC of an estimator for questions whose epistemic uncertainty is at least `threshold` nats.

    Both arrays are (n_items,), without nulls. The AUROC is null, with a reason, if all questions are on one side.
    """
    certain = np.asarray(epistemic, dtype=float) < threshold
    if certain.all() or not certain.any():
        side = "no item is at or above it" if certain.all() else "no item is below it"
        return Auroc(None, None, None, side if len(certain) else "no items")
    return measure_auroc_interval(estimator, certain, larger_is_confident=False)


def _count_equal(*values: np.ndarray) -> np.ndarray:
    """The number of questions with the same values as each question, itself included, (n,)."""
    _, inverse, sizes = np.unique(np.column_stack(values), axis=0, return_inverse=True, return_counts=True)
    return np.asarray(sizes[inverse])


def _count_below(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The number of questions with both a smaller x and a smaller y than each question, (n,)."""
    # Among equal x, sort larger y first, so that no earlier question has the same x and a smaller y.
    order = np.lexsort((-y, x))
    counts, sorted_values = np.empty(len(x), dtype=int), list[float]()
    for question, value in zip(order, y[order].tolist(), strict=True):
        position = bisect_left(sorted_values, value)
        counts[question] = position
        sorted_values.insert(position, value)
    return counts
