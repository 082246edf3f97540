"""Intervals from repeated answers, the perception tunnel and its index: by hand, and what the paper says of them."""

from itertools import product

import numpy as np
import pytest
from papers.intervals.perception_tunnel import (
    TemperatureSearch,
    asymptotic_covariance,
    compute_stated_limits,
    empirical_interval,
    empirical_quantile,
    perception_size,
    quantiles_of_quantiles,
    search_temperatures,
    simulate_queries,
    tunnel_index,
)
from scipy.stats import entropy, expon, norm, uniform

from entropy_sentinel.statistics.conformal import contains_truth


def test_quantiles_are_the_inverse_of_the_empirical_distribution() -> None:
    rng = np.random.default_rng(5)
    for m in (1, 2, 7, 20, 100):
        samples = rng.integers(-9, 9, size=(30, m))
        for share in (0.001, 0.025, 0.3, 0.5, 0.95, 0.999):
            expected = np.quantile(samples, share, axis=1, method="inverted_cdf")
            assert empirical_quantile(samples, share).tolist() == expected.tolist()


def test_quantiles_by_hand() -> None:
    samples = np.arange(1, 101)
    # The 7th of 100 has a share of 0.07 at or below it, though 0.07 * 100 is more than 7 in binary.
    assert empirical_quantile(samples, 0.07) == 7
    assert empirical_quantile(samples, 0.071) == 8
    assert empirical_quantile(samples, 0.0) == 1
    # Samples without a readable answer are no samples; a question of such alone has none.
    several = np.array([[5, np.nan, 1, 3], [np.nan] * 4, [2, 2, 2, 2]])
    lower, upper = empirical_interval(several, 0.5)  # of three, ranks ceil(0.75) and ceil(2.25)
    np.testing.assert_array_equal(lower, [1, np.nan, 2])
    np.testing.assert_array_equal(upper, [5, np.nan, 2])


def test_the_search_by_hand() -> None:
    """Two samples at 80 %: the interval is from the smaller to the larger. The truths are 0 and 3."""
    cold, warm = np.array([[0, 0], [2, 2]]), np.array([[-2, 0], [1, 4]])
    result = search_temperatures({0.2: cold, 1.0: warm}, [0, 3], alpha=0.2, penalty=0)
    # Cold: 0, and 10 for a distance of 1. Warm: widths of 2 and 3.
    assert result == [TemperatureSearch(1.0, 2.5, 1.0, 2.5), TemperatureSearch(0.2, 5.0, 0.5, 5.0)]
    # At 50 %, distance costs 4 and the interval is the same: cold is better but for its coverage of 0.5 being enough.
    assert [one.temperature for one in search_temperatures({0.2: cold, 1.0: warm}, [0, 3], 0.5, 1000)] == [0.2, 1.0]
    # At 60 %, 5 for the distance: 2.5 each; the coverage is 0.1 short, which costs 7 * 0.01.
    result = search_temperatures({0.2: cold, 1.0: warm}, [0, 3], alpha=0.4, penalty=7)
    assert [one.temperature for one in result] == [1.0, 0.2]
    assert [one.objective for one in result] == pytest.approx([2.5, 2.57])


def test_questions_without_an_answer_at_a_temperature_count_for_none() -> None:
    nan = np.nan
    cold, warm = np.array([[0, 0], [nan, nan], [2, 2]]), np.array([[nan, 0], [90, 90], [1, 4]])
    result = search_temperatures({0.2: cold, 1.0: warm}, [0, 50, 3], alpha=0.2, penalty=0)
    assert [(one.temperature, one.score) for one in result] == [(1.0, 1.5), (0.2, 5.0)]
    with pytest.raises(ValueError, match="no question has a readable answer"):
        search_temperatures({0.2: cold[1:2], 1.0: warm[1:2]}, [50], alpha=0.2, penalty=0)


def test_the_temperature_that_is_right_is_found() -> None:
    """Answers scatter around a centre by the temperature; so do the truths, by 1."""
    rng = np.random.default_rng(6)
    centre = rng.normal(0, 5, (300, 1))
    samples = {t: centre + rng.normal(0, t, (300, 100)) for t in (0.2, 0.5, 1.0, 2.0, 4.0)}
    result = search_temperatures(samples, (centre + rng.normal(0, 1, (300, 1)))[:, 0], alpha=0.1, penalty=10)
    assert result[0].temperature == 1.0
    assert result[0].coverage == pytest.approx(0.9, abs=0.05)


DISTRIBUTIONS = {"uniform": uniform, "normal": norm, "exponential": expon}


@pytest.mark.parametrize("beta", [0.05, 0.4, 0.7, 1.0])
@pytest.mark.parametrize("f", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)
def test_quantiles_of_quantiles_are_those_of_the_whole(f: type, beta: float) -> None:
    """Theorem 1, whatever beta is: in 40,000 queries on the scale of F, to five standard errors."""
    for alpha in (0.1, 0.5):
        lowers, uppers = simulate_queries(f.ppf, beta, alpha, (1, 40_000), seed=7)
        result = np.concatenate(quantiles_of_quantiles(lowers, uppers, alpha))
        error = (1 - beta) * np.sqrt(alpha / 2 * (1 - alpha / 2) / 40_000)
        np.testing.assert_allclose(f.cdf(result), [alpha / 2, 1 - alpha / 2], rtol=0, atol=5 * error + 1e-9)
        # What one query states is narrower, the more so the smaller beta is.
        np.testing.assert_allclose(f.cdf(uppers) - f.cdf(lowers), beta * (1 - alpha), atol=1e-9)


def test_queries_by_hand() -> None:
    """Uniform, beta 0.5, alpha 0.2: from I + 0.05 to I + 0.45."""
    lowers, uppers = compute_stated_limits(uniform.ppf, np.array([0.0, 0.25, 0.5]), 0.5, 0.2)
    assert lowers.tolist() == pytest.approx([0.05, 0.3, 0.55])
    assert uppers.tolist() == pytest.approx([0.45, 0.7, 0.95])
    # Of three, the 0.1 quantile is the first and the 0.9 quantile the last; a query without an interval is none.
    lower, upper = quantiles_of_quantiles(np.array([[*lowers, np.nan]]), np.array([[*uppers, np.nan]]), 0.2)
    assert [lower[0], upper[0]] == pytest.approx([0.05, 0.95])
    with pytest.raises(ValueError, match=r"must be in \[0, 1\], got 1.2"):
        simulate_queries(uniform.ppf, 1.2, 0.1, (1, 1), seed=0)


@pytest.mark.parametrize("beta", [0.2, 0.6, 0.9])
@pytest.mark.parametrize("f", [norm, expon], ids=["normal", "exponential"])
def test_the_estimator_varies_as_the_covariance_says(f: type, beta: float) -> None:
    """Proposition 1 in 2,000 runs of 1,000 queries.

    A variance from R runs has a relative standard error of sqrt(2 / (R - 1)), 0.032; a covariance one of
    sqrt((1 + 1 / r^2) / R) with the correlation r = 1 / 9 here, 0.2. In 1,000 queries, terms of higher order are about
    1 %: below half a standard error.
    """
    alpha, m, runs = 0.2, 1000, 2000
    ends = f.ppf([alpha / 2, 1 - alpha / 2])
    estimates = quantiles_of_quantiles(*simulate_queries(f.ppf, beta, alpha, (runs, m), seed=8), alpha)
    result, expected = np.cov(estimates) * m, asymptotic_covariance(alpha, beta, tuple(f.pdf(ends)))
    np.testing.assert_allclose(np.diag(result), np.diag(expected), rtol=4 * np.sqrt(2 / (runs - 1)))
    assert expected[0, 1] / np.sqrt(expected[0, 0] * expected[1, 1]) == pytest.approx(1 / 9)
    np.testing.assert_allclose(result[0, 1], expected[0, 1], rtol=4 * np.sqrt(82 / runs))
    # As the paper prints it, with 1 - beta for its square and both ends moving as one, it is not.
    printed = expected[0, 0] / (1 - beta)
    assert result[0, 0] < 0.9 * printed
    assert abs(result[0, 1]) < 0.3 * np.sqrt(result[0, 0] * result[1, 1])


def test_covariance_by_hand() -> None:
    """q = 0.1: 0.09 and 0.01, over the densities 0.5 and 0.25, times 0.4 squared."""
    result = asymptotic_covariance(0.2, 0.6, (0.5, 0.25))
    assert result.ravel().tolist() == pytest.approx([0.0576, 0.0128, 0.0128, 0.2304])


@pytest.mark.parametrize("beta", [0.3, 0.65, 0.9])
def test_perception_size_is_found_from_stated_intervals(beta: float) -> None:
    """20,000 truths drawn from F, asked at the paper's four levels; the largest error is that of one level alone."""
    levels, truths = [0.9, 0.95, 0.99, 0.998], norm.rvs(size=20_000, random_state=10)
    shares = []
    for seed, level in enumerate(levels):
        lower, upper = simulate_queries(norm.ppf, beta, 1 - level, (20_000,), seed)
        shares.append(contains_truth(lower, upper, truths).mean())
    error = np.sqrt(beta * (1 - beta) / 20_000)
    assert perception_size(levels, shares) == pytest.approx(beta, abs=4 * error)
    assert shares[-1] == pytest.approx(beta, abs=4 * error + 0.002)


def test_perception_size_by_hand() -> None:
    assert perception_size([0.9, 0.99], [0.45, 0.495]) == pytest.approx(0.5)
    # GPT-4o-mini in the paper: 1.86 over 2.84.
    assert perception_size([0.9, 0.95, 0.99], [0.63, 0.59, 0.64]) == pytest.approx(0.655, abs=5e-4)
    assert perception_size([0.9, 0.95], [0.95, 0.97]) == 1
    with pytest.raises(ValueError, match="a coverage for each level, got 1 and 2"):
        perception_size([0.9, 0.95], [0.9])


def test_indices_by_hand() -> None:
    # Shares of 3/4 and 1/4.
    shares = 2 * np.log(2) - 0.75 * np.log(3)
    assert tunnel_index([0.5, 0.25, 0.25], [3, -1, 3, 3]) == pytest.approx(1.5 * np.log(2) - shares)
    # With one answer it is the whole entropy; below 0 if the answers vary and the model without a trace does not.
    assert tunnel_index([0.5, 0.5], [7]) == pytest.approx(np.log(2))
    assert tunnel_index([1.0, 0.0], [3, -1, 3, 3]) == pytest.approx(-shares)


@pytest.mark.parametrize("seed", range(5))
def test_more_answers_reduce_the_index(seed: int) -> None:
    """The expectation over m answers, exactly: all 3^m ways to draw them from three equally likely ones."""
    direct = np.random.default_rng(seed).dirichlet([1] * 4)
    expected = [np.mean([tunnel_index(direct, drawn) for drawn in product(range(3), repeat=m)]) for m in range(1, 7)]
    # Theorem 2's bound: the entropy of the mean of all traces.
    bound = entropy(direct) - np.log(3)
    assert all(index >= bound - 1e-12 for index in expected)
    assert (np.diff(expected) < 0).all()
    assert expected[-1] - bound < 0.3 * (expected[0] - bound)
    assert tunnel_index(direct, np.random.default_rng(seed).integers(3, size=200_000)) == pytest.approx(bound, abs=0.01)
