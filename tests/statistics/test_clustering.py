"""Design effects of dependent responses: from their definitions, and from the variance that they stand for."""

import numpy as np
import pytest

from entropy_sentinel.statistics.design_effects import (
    ClusterMoments,
    independent_sample_size,
    intraclass_correlation,
    recurrence_effects,
)


def moments(values: np.ndarray, clusters: np.ndarray) -> ClusterMoments:
    """Of one group of responses with these values, in these clusters, (n,) each."""
    parts = [values[clusters == cluster] for cluster in np.unique(clusters)]
    rows = [(1, len(part), len(part) ** 2, part.sum(), len(part) * part.sum(), part.sum() ** 2) for part in parts]
    sums = np.array(rows)
    return ClusterMoments(*(np.array([total]) for total in (*sums.sum(axis=0), values @ values)))


def test_equal_questions_count_once() -> None:
    """Ten questions asked four times: 10 independent answers; the variance is estimated with the factor 10 / 9."""
    values = np.repeat(np.random.default_rng(0).random(10), 4)
    found = moments(values, np.repeat(np.arange(10), 4))
    assert found.counts_effect[0] == pytest.approx(4)
    assert found.robust_effect[0] == pytest.approx(4 * 10 / 9 * 39 / 40)


def test_unequal_repeats_are_worth_fewer_than_distinct_questions() -> None:
    """One question 9 times and nine once: 18 responses to 10 questions, worth 18^2 / (81 + 9) = 3.6."""
    clusters = np.append(np.zeros(9), np.arange(1, 10))
    found = moments(np.random.default_rng(1).random(18), clusters)
    assert 18 / found.counts_effect[0] == pytest.approx(3.6)


@pytest.mark.parametrize(("alike", "expected"), [(1.0, 5.0), (0.7, 1 + 4 * 0.49), (0.0, 1.0)])
def test_the_robust_effect_is_that_of_the_correlation(alike: float, expected: float) -> None:
    """With probability `alike` a response has its cluster's value: a correlation of alike^2, 4,000 clusters of 5."""
    rng = np.random.default_rng(2)
    clusters = np.repeat(np.arange(4000), 5)
    values = np.where(rng.random(20000) < alike, rng.random(4000)[clusters], rng.random(20000))
    assert moments(values, clusters).robust_effect[0] == pytest.approx(expected, rel=0.08)


def test_the_robust_effect_is_the_sandwich_variance_over_that_of_independent_responses() -> None:
    rng = np.random.default_rng(3)
    clusters = rng.integers(0, 40, 300)
    values = rng.random(300) + rng.random(40)[clusters]
    residuals = values - values.mean()
    sandwich = sum(residuals[clusters == c].sum() ** 2 for c in range(40)) * 40 / 39 / 300**2
    assert moments(values, clusters).robust_effect[0] == pytest.approx(sandwich / (values.var(ddof=1) / 300))


def test_without_repeats_there_is_no_effect() -> None:
    found = moments(np.random.default_rng(4).random(30), np.arange(30))
    assert (found.robust_effect[0], found.counts_effect[0]) == (1.0, 1.0)
    empty = ClusterMoments.zeros(2)
    assert empty.robust_effect.tolist() == empty.counts_effect.tolist() == [1.0, 1.0]


def test_few_clusters_and_equal_values_count_as_alike() -> None:
    rng = np.random.default_rng(5)
    assert moments(rng.random(30), np.repeat(np.arange(6), 5)).robust_effect[0] == pytest.approx(5)
    assert moments(np.ones(50), np.repeat(np.arange(10), 5)).robust_effect[0] == pytest.approx(5)


def test_the_moments_of_windows_add_up() -> None:
    rng = np.random.default_rng(6)
    parts = [moments(rng.random(20), rng.integers(0, 8, 20)) for _ in range(3)]
    together = ClusterMoments(*np.concatenate(parts, axis=1)).cumulative()
    assert together.xx[2] == pytest.approx(sum(part.xx[0] for part in parts))
    assert together.select(np.array([2])).n[0] == 60


def test_labels_in_clusters_are_worth_their_number_over_the_design_effect() -> None:
    assert independent_sample_size(np.repeat(np.arange(12), 5), 1.0) == 12
    # 60 / (1 + 4 * .5) = 20.
    assert independent_sample_size(np.repeat(np.arange(12), 5), 0.5) == 20
    assert (
        independent_sample_size(np.repeat(np.arange(12), 5), 0.0) == independent_sample_size(np.arange(60), 1.0) == 60
    )
    # Sizes 6, 1, 1: 64 / 38.
    assert independent_sample_size(np.array([0, 0, 0, 0, 0, 0, 1, 2]), 1.0) == 1


def test_the_correlation_within_clusters_is_found_within_domains() -> None:
    """Domains that differ are no sign of dependence; a correlation of .36 is."""
    rng = np.random.default_rng(7)
    clusters = np.repeat(np.arange(1500), 4)
    domains = np.where(clusters < 750, "easy", "hard")
    share = np.where(domains == "easy", 0.8, 0.3)
    own = rng.random(6000) < share
    shared = rng.random(1500)[clusters] < share
    assert intraclass_correlation(own, domains, clusters) == pytest.approx(0, abs=0.03)
    alike = np.where(rng.random(6000) < 0.6, shared, own)
    assert intraclass_correlation(alike, domains, clusters) == pytest.approx(0.36, abs=0.04)
    assert intraclass_correlation(own[:4], domains[:4], np.arange(4)) == 1.0


def recurrences(deviations: np.ndarray) -> np.ndarray:
    """The effects of clusters with these sums of deviations in each window, (clusters, windows)."""
    products = deviations.T @ deviations
    windows = range(len(products))
    near = [sum(products[t, max(t - 7, 0) : t]) for t in windows]
    return recurrence_effects(np.diag(products), np.array(near), np.array([sum(products[t, :t]) for t in windows]))


def test_questions_that_recur_for_four_days_make_these_alike() -> None:
    """Each has the same deviation on four days in a row: a mean over many days varies four times as much."""
    rng = np.random.default_rng(8)
    deviations = np.zeros((1200, 300))
    for cluster in range(1200):
        first = cluster // 4
        deviations[cluster, first : first + 4] = rng.standard_normal()
    found = recurrences(deviations)
    assert found[-1] == pytest.approx(4, rel=0.1)
    assert recurrences(deviations[:, :100])[-1] == found[99]


def test_questions_that_are_always_asked_and_those_that_never_recur_change_nothing() -> None:
    rng = np.random.default_rng(9)
    assert recurrences(np.eye(200) * rng.standard_normal(200)).max() == 1
    always = np.outer(rng.standard_normal(20), np.ones(200)) + 0.5 * rng.standard_normal((20, 200))
    assert recurrences(always)[-1] == pytest.approx(1, abs=0.1)
