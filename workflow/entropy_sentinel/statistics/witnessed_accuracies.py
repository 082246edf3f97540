"""True accuracies of labelled domains from a few labels by people and witnesses on more of their responses.

A witness is what is known of a response without a person: the verdict of a judge, P(correct) of an estimator, whether
another model gives the same answer. Each of its values x is in [0, 1]. With n labels y and several witnesses, each on a
sample of its own, the accuracy of a domain is

    t = mean over the labelled of  y + sum over witnesses of a (mean x of its sample - x)

A label of which a witness says nothing is not corrected by it. The powers a are slopes of labels on witnesses within
domains, clipped to [0, 1], and a label gets those that the other labels tell (`witnesses`). So t is right on
average whatever the witnesses do.

An estimator is compared with t on a sample of the same domain. The sampling variance of its error is

    v = r^2 / n + variance of  mean u - sum over witnesses of a (mean x of its sample)

r^2, the variance of y - a x within domains, is pooled over domains, because a few labels cannot tell that of one. u is
what each response adds to the estimate (`influences`), and the second variance is the sum of squares of what each
response adds to the difference. The two parts are uncorrelated, because y - a x is the residual of a regression on the
witnesses. v takes the place of the variance of labels without witnesses.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from entropy_sentinel.statistics.array_types import Numbers
from entropy_sentinel.statistics.witness_powers import FEWEST_FOR_POWERS, subtract_means
from entropy_sentinel.statistics.witness_sets import LabelledWitnesses


class WitnessedDomain(NamedTuple):
    """A domain with n labels, (n,), and the k witnesses of these responses, (n, k), and of m responses, (m, k).

    Witnesses are NaN where one says nothing. The first, P(correct) of an estimator, says something of all. `weights`,
    (n,), and `all_weights`, (m, k) or (m,), are the numbers of responses that each label and each of a witness's sample
    represents, 0 outside of the sample; null if all are equal. `influences`, (m,), is what each response adds to the
    estimate, up to a constant, and the estimate's sample is that of the first witness. `n` and `m` are the effective
    numbers of labels and of responses; fewer if some depend on each other. `columns` are the witnesses that may count;
    null means all. `clusters`, (n,), are the numbers of clusters of dependent labels.
    """

    labels: Numbers
    witnesses: np.ndarray
    all_witnesses: np.ndarray
    influences: Numbers
    n: float
    m: float
    weights: Numbers | None = None
    all_weights: np.ndarray | None = None
    columns: tuple[int, ...] | None = None
    clusters: Numbers | None = None


class WitnessedAccuracies(NamedTuple):
    """Accuracies of domains and the sampling variances of an estimator's errors, (n_domains,) each.

    `powers`, (k,), are those of the witnesses in the set that counts for most labels; NaN for one that counts nowhere.
    `worth` is how many labels without witnesses tell as much as one label with them: the variances of the labels'
    means, divided by the sampling variances. `counts`, (k,), are the numbers of domains in which each witness counts.
    """

    accuracies: np.ndarray
    variances: np.ndarray
    powers: np.ndarray
    worth: float
    counts: np.ndarray


def estimate_accuracies(domains: Sequence[WitnessedDomain], recognises: Sequence[bool]) -> WitnessedAccuracies | None:
    """The accuracies of domains; null with fewer than FEWEST_FOR_POWERS labels beyond one a domain.

    `recognises` says for each witness whether it says that a response is correct (`witness_powers`).
    """
    y = np.concatenate([np.asarray(domain.labels, dtype=float) for domain in domains])
    x = np.concatenate([np.asarray(domain.witnesses, dtype=float) for domain in domains])
    place = np.repeat(np.arange(len(domains)), [len(domain.labels) for domain in domains])
    labelled = LabelledWitnesses(
        y, witnesses=x, domains=place, recognises=recognises, clusters=_concatenate_clusters(domains)
    )
    k = x.shape[1]
    # First each domain's accuracy, with the witnesses that can count there; then, from the residuals of all domains,
    # the variances.
    residuals, powers = np.zeros(len(y)), np.full(k, np.nan)
    accuracies, parts = [], []
    n_labels = Counter[tuple[int, ...]]()  # by set of witnesses, the labels of the domains in which it counts
    counts = np.zeros(k, dtype=int)
    for number, domain in enumerate(domains):
        rows = place == number
        # The first witness, P(correct), always counts.
        candidates = [column for column in domain.columns or range(1, k) if column != 0]
        columns = (0, *labelled.choose_witnesses(candidates, required=0))
        fitted = labelled.fit_powers(columns)
        if fitted is None:
            return None
        n_labels[columns] += int(rows.sum())
        counts[list(columns)] += 1
        share = _normalise_weights(domain.weights, int(rows.sum()))
        all_shares = _sample_shares(domain)
        # Where a witness says nothing, it is as if it said its mean.
        means = np.nansum(all_shares * domain.all_witnesses, axis=0)[list(columns)]
        deviations = np.nan_to_num(x[rows][:, columns] - means)
        accuracies.append(share @ (y[rows] - (deviations * fitted.by_label[rows]).sum(axis=1)))
        residuals[rows] = y[rows] - deviations @ fitted.pooled
        witnessed_shares = share @ ~np.isnan(x[rows][:, columns])
        difference = _difference_variance(domain, all_shares, columns, fitted.pooled * witnessed_shares)
        parts.append((columns, share, difference))
    # The set with most labels is last, so that its powers are reported.
    for columns, _ in reversed(n_labels.most_common()):
        fitted = labelled.fit_powers(columns)
        assert fitted is not None, "the set has been used"
        powers[list(columns)] = fitted.pooled
    variances, label_variances = [], []
    label_variance = _variance_within(y, place, n_fitted=0)
    sets = [columns for columns, _, _ in parts]
    residual_variances = {columns: _residual_variance(residuals, place, sets, columns) for columns in n_labels}
    for domain, (columns, share, difference) in zip(domains, parts, strict=True):
        n = domain.n * _weighting_efficiency(share)
        variances.append(residual_variances[columns] / n + difference)
        label_variances.append(label_variance / n)
    # Witnesses that foresee every label are worth as much as labels on all responses, and more cannot be seen.
    largest_worth = sum(len(domain.all_witnesses) for domain in domains) / len(y)
    worth = largest_worth
    if np.sum(variances):
        worth = min(float(np.sum(label_variances) / np.sum(variances)), largest_worth)
    return WitnessedAccuracies(
        np.array(accuracies), variances=np.array(variances), powers=powers, worth=worth, counts=counts
    )


def _concatenate_clusters(domains: Sequence[WitnessedDomain]) -> np.ndarray | None:
    """The clusters of all labels, (n,); null if these are independent."""
    clusters = [np.asarray(domain.clusters) for domain in domains if domain.clusters is not None]
    return np.concatenate(clusters) if clusters else None


def _difference_variance(
    domain: WitnessedDomain, all_shares: np.ndarray, columns: tuple[int, ...], powers: np.ndarray
) -> float:
    """The sampling variance of the estimate minus what the witnesses' means add to the accuracy.

    `all_shares`, (m, k), are the shares of the responses in each witness's mean, which are those of the estimate for
    the first one. `powers` are those of the witnesses `columns`, in their order.
    """
    u = np.asarray(domain.influences, dtype=float)
    added = all_shares[:, 0] * (u - all_shares[:, 0] @ u)
    for column, power in zip(columns, powers, strict=True):
        share, values = all_shares[:, column], np.nan_to_num(domain.all_witnesses[:, column])
        added -= power * share * (values - share @ values)
    # Of m independent responses, the mean square is (m - 1) / m of the variance.
    return float(added @ added) * len(added) / max(domain.m - 1, 1)


def _residual_variance(
    residuals: np.ndarray, place: np.ndarray, sets: Sequence[tuple[int, ...]], columns: tuple[int, ...]
) -> float:
    """The variance of residuals within the domains with this set of witnesses; of all if these are too few.

    `place`, (n_labels,), has the position of each residual's domain in `sets`, the witnesses of each domain.
    """
    has_columns = np.array([domain_columns == columns for domain_columns in sets])[place]
    if has_columns.sum() - len(np.unique(place[has_columns])) - len(columns) < FEWEST_FOR_POWERS:
        has_columns[:] = True
    _, domain_numbers = np.unique(place[has_columns], return_inverse=True)
    return _variance_within(residuals[has_columns], domain_numbers, n_fitted=len(columns))


def response_influences(
    values: np.ndarray, accuracies_of: Callable[[np.ndarray], np.ndarray], weights: Numbers | None = None
) -> np.ndarray:
    """What each of m responses adds to an estimate, (m,): its derivative by the response's share, times m.

    The estimate is a function of the mean of `values`, (m, n_values). For an estimate that is the mean of
    P(correct) it is P(correct), up to a constant (the infinitesimal jackknife: Jaeckel 1972).
    """
    values = np.asarray(values, dtype=float)
    m = len(values)
    mean = _normalise_weights(weights, m) @ values
    moved = accuracies_of(mean + (values - mean) / m) - accuracies_of(mean[None])
    added: np.ndarray = m * np.asarray(moved, dtype=float)
    return added


def _variance_within(values: np.ndarray, place: np.ndarray, n_fitted: int) -> float:
    """The pooled variance of values, (n,), within domains, after fitting `n_fitted` slopes.

    `place`, (n,), is the number of each value's domain.
    """
    degrees = len(values) - len(np.bincount(place)) - n_fitted
    return float(np.sum(subtract_means(values, place) ** 2)) / max(degrees, 1)


def _normalise_weights(weights: Numbers | None, n: int) -> np.ndarray:
    """The weights, (n,), scaled to the sum 1; equal ones for null."""
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    share: np.ndarray = w / w.sum()
    return share


def _sample_shares(domain: WitnessedDomain) -> np.ndarray:
    """The share of each response in the mean of each witness's sample, (m, k); 0 where the witness says nothing."""
    weights = ~np.isnan(domain.all_witnesses) * 1.0
    if domain.all_weights is not None:
        weights *= np.asarray(domain.all_weights, dtype=float).reshape(len(weights), -1)
    shares: np.ndarray = weights / np.maximum(weights.sum(axis=0), np.finfo(float).tiny)
    return shares


def _weighting_efficiency(share: np.ndarray) -> float:
    """The effective share of labels with these weights, at most 1 (Kish 1965)."""
    return float(1 / (share @ share) / len(share))
