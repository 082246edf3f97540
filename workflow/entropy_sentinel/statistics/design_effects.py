"""Design effects: how much wider a mean varies because responses come in clusters, such as answers to one question.

Repeated questions and the turns of a conversation are right or wrong together. The variance of a mean over n responses
is then that of n independent ones, times the design effect. Two measure it, from the clusters' numbers of responses n_c
and sums x_c of a value, N responses in all with the mean m:

- `robust`: sum (x_c - n_c m)^2 / sum (x - m)^2 over all responses. It is the cluster-robust ("sandwich") variance of
  the mean (Liang and Zeger 1986) divided by that of independent responses. It is 1 for values that are independent
  within clusters, whatever the clusters.
- `counts`: sum n_c^2 / N, the design effect of values that are equal within clusters (Kish 1965). N divided by it is
  the effective number of distinct questions: the number itself if all repeat equally often, fewer if some repeat more.

Both are 1 if each cluster has one response. They are ratios, so a random part of the clusters estimates them.
"""

from typing import NamedTuple

import numpy as np

# With fewer clusters, their variance is too uncertain, and values count as equal within clusters.
FEWEST_CLUSTERS = 8
# Windows in which a question that recurs for some time makes windows alike.
LAGS = 7
# A sum of squares this small, relative to the number of responses, is a rounding error.
_SAME = 1e-12


def independent_sample_size(clusters: np.ndarray, similarity: float) -> int:
    """How many independent labels n labels in `clusters`, (n,), are worth, rounded down.

    `similarity` is the correlation of labels in a cluster. n divided by the design effect 1 + (sum n_c^2 / n - 1)
    `similarity` (Kish 1965); with a similarity of 1 and clusters of equal sizes, the number of clusters.
    """
    _, sizes = np.unique(clusters, return_counts=True)
    counts = sizes.astype(float)
    n = counts.sum()
    effect = 1 + (counts @ counts / n - 1) * similarity
    # Against rounding errors of whole numbers.
    return int(n / effect + 1e-9)


def intraclass_correlation(labels: np.ndarray, domains: np.ndarray, clusters: np.ndarray) -> float:
    """The correlation of labels in a cluster within domains, (n,) each, in [0, 1]; 1 if nothing tells it.

    It is the estimate of the one-way analysis of variance for clusters of different sizes (Donner 1986), pooled over
    domains.
    """
    # Over domains: sums of squares between and within clusters, their degrees of freedom, and the clusters' mean size
    # (adjusted for different sizes) times the former degrees.
    between = within = size = 0.0
    n_between = n_within = 0
    for domain in np.unique(domains):
        rows = domains == domain
        y = labels[rows].astype(float)
        _, place, counts = np.unique(clusters[rows], return_inverse=True, return_counts=True)
        means = np.bincount(place, y) / counts
        between += float(counts @ (means - y.mean()) ** 2)
        within += float(np.sum((y - means[place]) ** 2))
        size += float(len(y) - counts @ counts / len(y))
        n_between += len(counts) - 1
        n_within += len(y) - len(counts)
    if not n_between or not n_within:
        return 1.0
    square_between, square_within, typical = between / n_between, within / n_within, size / n_between
    total = square_between + (typical - 1) * square_within
    return float(np.clip((square_between - square_within) / total, 0, 1)) if total > 0 else 1.0


def recurrence_effects(squares: np.ndarray, near_products: np.ndarray, all_products: np.ndarray) -> np.ndarray:
    """How much more means over many windows vary because clusters recur in near windows, (w,), at least 1.

    Let e be a cluster's sum of deviations in a window. For each window, `squares` is the sum of e^2 over clusters,
    `near_products` that of the products with the e of the same clusters in the LAGS windows before, and `all_products`
    with those of all windows before, (w,) each. A question that recurs for some days makes these days alike: the
    variance of a mean over many windows is that of one, plus twice its autocovariances (Newey and West 1987). What
    remains at long lags is subtracted: questions that are always asked are on both sides of a comparison, and cancel.
    Each value uses the windows up to it.
    """
    count = np.arange(1, len(squares) + 1)
    pairs_near = np.cumsum(np.minimum(np.arange(len(squares)), LAGS))
    pairs_far = count * (count - 1) / 2 - pairs_near
    variance, near_covariance = np.cumsum(squares) / count, np.cumsum(near_products) / count
    far_covariance = (np.cumsum(all_products) - np.cumsum(near_products)) / np.maximum(pairs_far, 1)
    constant_covariance = np.where(pairs_far > 0, np.maximum(far_covariance, 0), 0)
    long_run_variance = (
        variance - constant_covariance + 2 * (near_covariance - constant_covariance * pairs_near / count)
    )
    factor: np.ndarray = np.where(variance > 0, long_run_variance / np.where(variance > 0, variance, 1), 1.0)
    at_least_1: np.ndarray = np.maximum(factor, 1.0)
    return at_least_1


class ClusterMoments(NamedTuple):
    """Sums over the clusters of g groups, (g,) each.

    `clusters` is the number of clusters; over clusters, `n` is the sum of n_c, `nn` of n_c^2, `x` of x_c, `nx` of n_c
    x_c, `xx` of x_c^2; `squares` is the sum of squared values over responses.
    """

    clusters: np.ndarray
    n: np.ndarray
    nn: np.ndarray
    x: np.ndarray
    nx: np.ndarray
    xx: np.ndarray
    squares: np.ndarray

    @classmethod
    def zeros(cls, n_groups: int) -> "ClusterMoments":
        """The moments of groups without clusters."""
        return cls(*np.zeros((len(cls._fields), n_groups)))

    def select(self, which: np.ndarray) -> "ClusterMoments":
        """The moments of some groups, which `which` selects as a NumPy index of the g groups."""
        return ClusterMoments(*(part[which] for part in self))

    def cumulative(self) -> "ClusterMoments":
        """The moments of the groups up to each one; a cluster that is in several groups counts in each."""
        return ClusterMoments(*np.cumsum(self, axis=1))

    @property
    def counts_effect(self) -> np.ndarray:
        """The design effect of values that are equal within clusters, (g,), at least 1."""
        effect: np.ndarray = np.maximum(self.nn / np.maximum(self.n, 1), 1.0)
        return effect

    @property
    def robust_effect(self) -> np.ndarray:
        """The cluster-robust design effect, (g,), at least 1."""
        n, clusters = np.maximum(self.n, 1), np.maximum(self.clusters, 2)
        mean = self.x / n
        between = self.xx - 2 * mean * self.nx + mean**2 * self.nn
        within = self.squares - n * mean**2
        # Both sums are over deviations from an estimated mean.
        unbiased = clusters / (clusters - 1) * (n - 1) / n
        too_few = (self.clusters < FEWEST_CLUSTERS) | (within <= _SAME * n)
        effect = unbiased * between / np.where(too_few, 1, within)
        is_independent = self.nn == self.n  # each cluster has one response
        robust = np.where(is_independent, 1.0, np.where(too_few, self.counts_effect, effect))
        at_least_1: np.ndarray = np.maximum(robust, 1.0)
        return at_least_1
