"""The perception tunnel by simulation: Theorem 1, Proposition 1, and the perception size."""

import numpy as np
import pytest
from scipy.stats import expon, norm, uniform

from entropy_sentinel.analyses.intervals.tunnel import (
    asymptotic_covariance,
    perceived,
    perception_size,
    quantiles_of_quantiles,
    simulate,
)
from entropy_sentinel.statistics.conformal import covered

DISTRIBUTIONS = {"uniform": uniform, "normal": norm, "exponential": expon}


@pytest.mark.parametrize("beta", [0.05, 0.4, 0.7, 1.0])
@pytest.mark.parametrize("f", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)
def test_quantiles_of_quantiles_are_those_of_the_whole(f: type, beta: float) -> None:
    """Theorem 1, whatever beta is: in 40,000 queries on the scale of F, to five standard errors."""
    for alpha in (0.1, 0.5):
        lowers, uppers = simulate(f.ppf, beta, alpha, (1, 40_000), seed=7)
        found = np.concatenate(quantiles_of_quantiles(lowers, uppers, alpha))
        error = (1 - beta) * np.sqrt(alpha / 2 * (1 - alpha / 2) / 40_000)
        np.testing.assert_allclose(f.cdf(found), [alpha / 2, 1 - alpha / 2], rtol=0, atol=5 * error + 1e-9)
        # What one query states is narrower, the more so the smaller beta is.
        np.testing.assert_allclose(f.cdf(uppers) - f.cdf(lowers), beta * (1 - alpha), atol=1e-9)


def test_queries_by_hand() -> None:
    """Uniform, beta 0.5, alpha 0.2: from I + 0.05 to I + 0.45."""
    lowers, uppers = perceived(uniform.ppf, np.array([0.0, 0.25, 0.5]), 0.5, 0.2)
    assert lowers.tolist() == pytest.approx([0.05, 0.3, 0.55])
    assert uppers.tolist() == pytest.approx([0.45, 0.7, 0.95])
    # Of three, the 0.1 quantile is the first and the 0.9 quantile the last; a query without an interval is none.
    lower, upper = quantiles_of_quantiles(np.array([[*lowers, np.nan]]), np.array([[*uppers, np.nan]]), 0.2)
    assert [lower[0], upper[0]] == pytest.approx([0.05, 0.95])
    with pytest.raises(ValueError, match=r"must be in \[0, 1\], was 1.2"):
        simulate(uniform.ppf, 1.2, 0.1, (1, 1), seed=0)


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
    estimates = quantiles_of_quantiles(*simulate(f.ppf, beta, alpha, (runs, m), seed=8), alpha)
    found, expected = np.cov(estimates) * m, asymptotic_covariance(alpha, beta, tuple(f.pdf(ends)))
    np.testing.assert_allclose(np.diag(found), np.diag(expected), rtol=4 * np.sqrt(2 / (runs - 1)))
    assert expected[0, 1] / np.sqrt(expected[0, 0] * expected[1, 1]) == pytest.approx(1 / 9)
    np.testing.assert_allclose(found[0, 1], expected[0, 1], rtol=4 * np.sqrt(82 / runs))
    # As the paper prints it, with 1 - beta for its square and both ends moving as one, it is not.
    printed = expected[0, 0] / (1 - beta)
    assert found[0, 0] < 0.9 * printed
    assert abs(found[0, 1]) < 0.3 * np.sqrt(found[0, 0] * found[1, 1])


def test_a_model_that_sees_all_does_not_vary() -> None:
    assert asymptotic_covariance(0.1, 1.0, (0.3, 0.4)).tolist() == [[0, 0], [0, 0]]
    lowers, uppers = simulate(norm.ppf, 1.0, 0.1, (2, 50), seed=9)
    assert np.ptp(lowers) == np.ptp(uppers) == 0
    assert lowers[0, 0] == pytest.approx(norm.ppf(0.05))
    assert uppers[0, 0] == pytest.approx(norm.ppf(0.95))


def test_covariance_by_hand() -> None:
    """q = 0.1: 0.09 and 0.01, over the densities 0.5 and 0.25, times 0.4 squared."""
    found = asymptotic_covariance(0.2, 0.6, (0.5, 0.25))
    assert found.ravel().tolist() == pytest.approx([0.0576, 0.0128, 0.0128, 0.2304])


@pytest.mark.parametrize("beta", [0.3, 0.65, 0.9])
def test_perception_size_is_found_from_stated_intervals(beta: float) -> None:
    """20,000 truths drawn from F, asked at the paper's four levels; the largest error is that of one level alone."""
    levels, truths = [0.9, 0.95, 0.99, 0.998], norm.rvs(size=20_000, random_state=10)
    shares = []
    for seed, level in enumerate(levels):
        lower, upper = simulate(norm.ppf, beta, 1 - level, (20_000,), seed)
        shares.append(covered(lower, upper, truths).mean())
    error = np.sqrt(beta * (1 - beta) / 20_000)
    assert perception_size(levels, shares) == pytest.approx(beta, abs=4 * error)
    assert shares[-1] == pytest.approx(beta, abs=4 * error + 0.002)


def test_perception_size_by_hand() -> None:
    assert perception_size([0.9, 0.99], [0.45, 0.495]) == pytest.approx(0.5)
    # GPT-4o-mini in the paper: 1.86 over 2.84.
    assert perception_size([0.9, 0.95, 0.99], [0.63, 0.59, 0.64]) == pytest.approx(0.655, abs=5e-4)
    assert perception_size([0.9, 0.95], [0.95, 0.97]) == 1
    with pytest.raises(ValueError, match="a coverage for each level, were 1 and 2"):
        perception_size([0.9, 0.95], [0.9])
