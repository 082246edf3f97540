"""Powers of witnesses: the slopes by which what is known of a response without a person foretells its label.

A witness is the verdict of a judge, P(correct) of an estimator, whether another model gives the same answer. Each of
its values is in [0, 1]. Its power says how much of it counts in the estimate of an accuracy (`witnessed_accuracies`,
`monitoring.witnessed_mean`); a useless one has a power near 0. A label gets the powers that the other labels tell
(cross-fitting: Chernozhukov et al. 2018), so these do not depend on the label that they correct.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from entropy_sentinel.statistics.array_types import Names, Numbers

# With fewer labels beyond one a domain, the powers cannot be estimated.
FEWEST_FOR_POWERS = 8
# The sums of squares and products of pseudo-labels with the weight of four: half of them right, half wrong, of which a
# witness recognises three quarters. With a pair that it always recognises, one wrong label among ten moved the powers
# from a third to one, and near 0 and 1 intervals of 90 % held in 75 to 87 % of cases.
_PSEUDO_SQUARES, _PSEUDO_PRODUCTS = 1.0, 0.5
# Sums of squares this small, relative to the largest one, count as 0.
_SAME = 1e-10


class WitnessPowers(NamedTuple):
    """The powers of k witnesses in [0, 1]: those that the other labels tell of each label, (n, k), and of all, (k,)."""

    by_label: np.ndarray
    pooled: np.ndarray


def fit_witness_powers(
    labels: Numbers,
    witnesses: np.ndarray,
    domains: Names | Numbers,
    recognises: Sequence[bool],
    clusters: Names | Numbers | None = None,
) -> WitnessPowers | None:
    """The slopes within domains of n labels on k witnesses, (n, k); null with too few labels.

    `recognises`, (k,), says which witnesses say whether a response is correct. If all labels are right, these do not
    show how good a judge is; so pseudo-labels, which each such witness recognises mostly, keep its values in use.
    `clusters`, (n,), are clusters of dependent labels: a label gets the slopes that the other clusters tell. By default
    all labels are independent.
    """
    y, x = np.asarray(labels, dtype=float), np.asarray(witnesses, dtype=float)
    names, place = np.unique(np.asarray(domains), return_inverse=True)
    cluster = np.arange(len(y))
    if clusters is not None:
        _, cluster = np.unique(np.asarray(clusters), return_inverse=True)
    # A part is the labels of one cluster in one domain; a pair of these two has one number.
    pairs, part = np.unique(place + len(names) * cluster, return_inverse=True)
    domain_by_part, cluster_by_part = pairs % len(names), pairs // len(names)
    if len(pairs) - len(names) < FEWEST_FOR_POWERS:
        return None
    y, x = subtract_means(y, place), np.column_stack([subtract_means(column, place) for column in x.T])
    is_verdict = np.asarray(recognises, dtype=float)
    squares = x.T @ x + _PSEUDO_SQUARES * np.outer(is_verdict, is_verdict)
    products = x.T @ y + _PSEUDO_PRODUCTS * is_verdict
    left_out = _left_out_sums(np.column_stack([x, y]), part, np.bincount(place)[domain_by_part], cluster_by_part)
    # Of each label, without its cluster.
    other_squares = squares - left_out[cluster, :-1, :-1]
    other_products = products - left_out[cluster, :-1, -1]
    [pooled] = _solve_slopes(squares[None], products[None])
    return WitnessPowers(_solve_slopes(other_squares, other_products), pooled)


def _left_out_sums(deviations: np.ndarray, part: np.ndarray, n_domain: np.ndarray, cluster: np.ndarray) -> np.ndarray:
    """By how much the sums of squares within domains fall without each cluster, (n_clusters, k, k).

    `deviations`, (n, k), are from the means of domains. `part`, (n,), is the number of each label's part, the labels of
    one cluster in one domain; `n_domain` and `cluster`, (n_parts,), are the size of its domain and its cluster's
    number.
    """
    sizes = np.bincount(part)
    k = deviations.shape[1]
    sums, squares = np.zeros((len(sizes), k)), np.zeros((len(sizes), k, k))
    np.add.at(sums, part, deviations)
    np.add.at(squares, part, deviations[:, :, None] * deviations[:, None, :])
    # Without a part, the mean of the others moves; without a whole domain, its deviations add up to 0.
    moved = sums[:, :, None] * sums[:, None, :] / np.maximum(n_domain - sizes, 1)[:, None, None]
    left_out = np.zeros((cluster.max() + 1, k, k))
    np.add.at(left_out, cluster, squares + moved)
    return left_out


def _solve_slopes(squares: np.ndarray, products: np.ndarray) -> np.ndarray:
    """The solutions of n systems of normal equations, (n, k), clipped to [0, 1]; 0 for a witness without any spread.

    `squares` is (n, k, k), `products` (n, k).
    """
    inverse = np.linalg.pinv(squares, rcond=_SAME, hermitian=True)
    slopes: np.ndarray = np.clip(np.einsum("nij,nj->ni", inverse, products), 0, 1)
    return slopes


def subtract_means(values: np.ndarray, place: np.ndarray) -> np.ndarray:
    """The values minus the mean of their domain, (n,); `place`, (n,), is the number of each one's domain."""
    centred: np.ndarray = values - (np.bincount(place, values) / np.bincount(place))[place]
    return centred
