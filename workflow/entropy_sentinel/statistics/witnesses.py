"""True accuracies of labelled domains from a few labels by people and witnesses on more of their responses.

A witness is what is known of a response without a person: the verdict of a judge, P(correct) of an estimator, whether
another model gives the same answer. Each of its values x is in [0, 1]. With n labels y and m responses on which all
witnesses are known, the accuracy of a domain is

    t = mean over the labelled of  y + a (mean x of the m responses - x)

The powers a, one for each witness, are slopes of labels on witnesses within domains, clipped to [0, 1], and a label
gets those that the other labels tell, as in `judged`. So t is right on average whatever the witnesses do.

An estimator is compared with t on the same m responses. The sampling variance of its error is

    v = r^2 / n + Var(u - f) / m

with f = a x, what the witnesses predict of a label. r^2, the variance of y - f within domains, is pooled over domains,
because a few labels cannot tell that of one. u is what each response adds to the estimate (`influences`). The two parts
are uncorrelated, because y - f is the residual of a regression on the witnesses. v takes the place of the variance of
labels without witnesses.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from entropy_sentinel.statistics.numbers import Names, Numbers

# With fewer labels beyond one a domain, the powers cannot be estimated.
FEWEST_FOR_POWERS = 8
# The sums of squares and products of pseudo-labels with the weight of four: half of them right, half wrong, of which a
# witness recognises three quarters. With a pair that it always recognises, one wrong label among ten moved the powers
# from a third to one, and near 0 and 1 intervals of 90 % held in 75 to 87 % of cases.
_PSEUDO_SQUARES, _PSEUDO_PRODUCTS = 1.0, 0.5
# Sums of squares this small, relative to the largest one, count as 0.
_SAME = 1e-10


class WitnessedDomain(NamedTuple):
    """A domain with n labels, (n,), and the k witnesses of these responses, (n, k), and of all m responses, (m, k).

    `influences`, (m,), is what each response adds to the estimate, up to a constant. `weights`, (n,), and
    `all_weights`, (m,), are the numbers of responses that each one represents; null if all are equal. `n` and `m` are
    the effective numbers of labels and of responses; fewer if some depend on each other.
    """

    labels: Numbers
    witnesses: np.ndarray
    all_witnesses: np.ndarray
    influences: Numbers
    n: float
    m: float
    weights: Numbers | None = None
    all_weights: Numbers | None = None


class WitnessedAccuracies(NamedTuple):
    """Accuracies of k domains and the sampling variances of an estimator's errors, (k,) each.

    `powers` are those of the witnesses. `worth` is how many labels without witnesses tell as much as one label with
    them: the variances of the labels' means, divided by the sampling variances.
    """

    accuracies: np.ndarray
    variances: np.ndarray
    powers: np.ndarray
    worth: float


def accuracies_from(domains: Sequence[WitnessedDomain], recognises: Sequence[bool]) -> WitnessedAccuracies | None:
    """Return the accuracies of domains; null with fewer than FEWEST_FOR_POWERS labels beyond one a domain.

    `recognises` says for each witness whether its values are verdicts (`witness_powers`).
    """
    y = np.concatenate([np.asarray(domain.labels, dtype=float) for domain in domains])
    x = np.concatenate([np.asarray(domain.witnesses, dtype=float) for domain in domains])
    place = np.repeat(np.arange(len(domains)), [len(domain.labels) for domain in domains])
    powers = witness_powers(y, x, place, recognises)
    if powers is None:
        return None
    pooled = powers.pooled
    r2 = _variance_within(y - x @ pooled, place, x.shape[1])
    labels_alone = _variance_within(y, place, 0)
    accuracies, variances, alone = [], [], []
    for number, domain in enumerate(domains):
        here = place == number
        share, all_share = _shares(domain.weights, here.sum()), _shares(domain.all_weights, len(domain.all_witnesses))
        mean = all_share @ domain.all_witnesses
        accuracies.append(share @ (y[here] + ((mean - x[here]) * powers.each[here]).sum(axis=1)))
        left = np.asarray(domain.influences, dtype=float) - domain.all_witnesses @ pooled
        left_variance = all_share @ (left - all_share @ left) ** 2 * domain.m / max(domain.m - 1, 1)
        n, m = domain.n * _kish(share), domain.m * _kish(all_share)
        variances.append(r2 / n + left_variance / m)
        alone.append(labels_alone / n)
    # Witnesses that foresee every label are worth as much as labels on all responses, and more cannot be seen.
    most = sum(len(domain.all_witnesses) for domain in domains) / len(y)
    worth = min(float(np.sum(alone) / np.sum(variances)), most) if np.sum(variances) else most
    return WitnessedAccuracies(np.array(accuracies), np.array(variances), pooled, worth)


class WitnessPowers(NamedTuple):
    """The powers of k witnesses in [0, 1]: those that the other labels tell of each label, (n, k), and of all, (k,)."""

    each: np.ndarray
    pooled: np.ndarray


def witness_powers(
    labels: Numbers,
    witnesses: np.ndarray,
    domains: Names | Numbers,
    recognises: Sequence[bool],
    clusters: Names | Numbers | None = None,
) -> WitnessPowers | None:
    """Return the slopes within domains of n labels on k witnesses, (n, k); null with too few labels.

    `recognises`, (k,), says which witnesses say whether a response is correct. If all labels are right, these do not
    show how good a judge is; so pseudo-labels, which each such witness recognises mostly, keep its values in use.
    `clusters`, (n,), are clusters of dependent labels: a label gets the slopes that the other
    clusters tell. By default all labels are independent.
    """
    y, x = np.asarray(labels, dtype=float), np.asarray(witnesses, dtype=float)
    names, place = np.unique(np.asarray(domains), return_inverse=True)
    cluster = np.arange(len(y)) if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1]
    # The labels of one cluster in one domain.
    pairs, part = np.unique(place + len(names) * cluster, return_inverse=True)
    if len(pairs) - len(names) < FEWEST_FOR_POWERS:
        return None
    y, x = _within(y, place), np.column_stack([_within(column, place) for column in x.T])
    is_verdict = np.asarray(recognises, dtype=float)
    squares = x.T @ x + _PSEUDO_SQUARES * np.outer(is_verdict, is_verdict)
    products = x.T @ y + _PSEUDO_PRODUCTS * is_verdict
    left_out = _left_out_sums(
        np.column_stack([x, y]), part, np.bincount(place)[pairs % len(names)], pairs // len(names)
    )
    each = squares - left_out[cluster, :-1, :-1], products - left_out[cluster, :-1, -1]
    return WitnessPowers(_slopes(*each), _slopes(squares[None], products[None])[0])


def _left_out_sums(deviations: np.ndarray, part: np.ndarray, n_domain: np.ndarray, cluster: np.ndarray) -> np.ndarray:
    """Return by how much the sums of squares within domains fall without each cluster, (n_clusters, k, k).

    `deviations`, (n, k), are from the means of domains. `part`, (n,), is the part of a domain that each label is in;
    each has the size of its domain, `n_domain`, and its `cluster`, (n_parts,).
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


def influences(
    values: np.ndarray, accuracies_of: Callable[[np.ndarray], np.ndarray], weights: Numbers | None = None
) -> np.ndarray:
    """Return what each of m responses adds to an estimate, (m,): its derivative by the response's share, times m.

    The estimate is a function of the mean of `values`, (m,) or (m, n_values). For an estimate that is the mean of
    P(correct) it is P(correct), up to a constant (the infinitesimal jackknife: Jaeckel 1972).
    """
    values = np.asarray(values, dtype=float)
    m = len(values)
    mean = _shares(weights, m) @ values
    moved = accuracies_of(mean + (values - mean) / m) - accuracies_of(mean[None])
    added: np.ndarray = m * np.asarray(moved, dtype=float)
    return added


def _slopes(squares: np.ndarray, products: np.ndarray) -> np.ndarray:
    """Return the solutions of the normal equations, (n, k), clipped to [0, 1]; 0 for a witness without any spread."""
    inverse = np.linalg.pinv(squares, rcond=_SAME, hermitian=True)
    slopes: np.ndarray = np.clip(np.einsum("nij,nj->ni", inverse, products), 0, 1)
    return slopes


def _within(values: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Return the values minus the mean of their domain, (n,)."""
    centred: np.ndarray = values - (np.bincount(place, values) / np.bincount(place))[place]
    return centred


def _variance_within(values: np.ndarray, place: np.ndarray, n_fitted: int) -> float:
    """Return the pooled variance of values within domains, after fitting so many slopes."""
    degrees = len(values) - len(np.bincount(place)) - n_fitted
    return float(np.sum(_within(values, place) ** 2)) / max(degrees, 1)


def _shares(weights: Numbers | None, n: int) -> np.ndarray:
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    shares: np.ndarray = w / w.sum()
    return shares


def _kish(shares: np.ndarray) -> float:
    """Return the effective share of labels with these weights, at most 1 (Kish 1965)."""
    return float(1 / (shares @ shares) / len(shares))
