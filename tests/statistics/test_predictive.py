"""The posterior of the spread of errors: against Student's t, chi-squared, quadrature, and the published tables."""

import math

import numpy as np
import polars as pl
import pytest
from scipy import integrate, optimize, special, stats

from entropy_sentinel.statistics import predictive_posterior
from entropy_sentinel.statistics.predictive_posterior import Spread
from entropy_sentinel.study.analyses import accuracy

ERRORS = {0: [], 3: [0.05, 0.02, -0.1], 12: list(np.linspace(-0.2, 0.15, 12))}


def scale_of(errors: list[float]) -> tuple[float, float]:
    """Scale and degrees of freedom of the conjugate posterior (Gelman et al. 2013, section 3.2)."""
    freedom = 1.5 + len(errors)
    return math.sqrt((1.5 * 0.18**2 + sum(error**2 for error in errors)) / freedom), freedom


@pytest.mark.parametrize("errors", ERRORS.values(), ids=ERRORS)
@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95])
def test_without_chance_in_the_labels_it_is_students_t(errors: list[float], level: float) -> None:
    scale, freedom = scale_of(errors)
    [half] = Spread.fit(errors, [0.0] * len(errors)).half_widths([0.0], level)
    assert half == pytest.approx(stats.t.ppf((1 + level) / 2, freedom) * scale, rel=1e-3)


@pytest.mark.parametrize("errors", ERRORS.values(), ids=ERRORS)
def test_the_mean_error_is_that_of_a_chi_squared_variance(errors: list[float]) -> None:
    (scale, freedom), spread = scale_of(errors), Spread.fit(errors, [0.0] * len(errors))
    for confidence in (0.1, 0.5, 0.9):
        most = math.sqrt(2 / math.pi) * scale * math.sqrt(freedom / stats.chi2.ppf(1 - confidence, freedom))
        assert spread.mean_error_limit(confidence) == pytest.approx(most, rel=2e-3)
        assert spread.mean_error_below(most) == pytest.approx(confidence, abs=2e-3)


def test_chance_in_the_labels_and_in_the_slice_by_quadrature() -> None:
    errors, chance, slice_chance = np.array([0.05, -0.12, 0.2]), np.array([0.01, 0.0025, 0.04]), 0.003

    def weight(s: float) -> float:
        prior = s**-2.5 * math.exp(-1.5 * 0.18**2 / (2 * s**2))
        return prior * float(np.prod(stats.norm.pdf(errors, scale=np.sqrt(s**2 + chance))))

    def inside(half: float) -> float:
        def of(s: float) -> float:
            return weight(s) * (2 * stats.norm.cdf(half / math.sqrt(s**2 + slice_chance)) - 1)

        return integrate.quad(of, 1e-3, 30, limit=500, points=[0.1, 0.3, 1])[0] / total

    total = integrate.quad(weight, 1e-3, 30, limit=500, points=[0.1, 0.3, 1])[0]
    expected = optimize.brentq(lambda half: inside(half) - 0.9, 0.01, 2)
    [half] = Spread.fit(errors, chance).half_widths([slice_chance], 0.9)
    assert half == pytest.approx(expected, rel=1e-4)


def test_groups_against_the_whole_covariance_matrix() -> None:
    errors, chance = np.array([0.15, 0.12, -0.02, 0.05, 0.1]), np.array([0.01, 0.002, 0.004, 0.01, 0.003])
    groups = np.array(list("aabba"))
    alike = np.equal.outer(groups, groups)

    def density(s: float) -> float:
        def of_share(share: float) -> float:
            covariance = s**2 * (share * alike + (1 - share) * np.eye(5)) + np.diag(chance)
            return 4 * share**3 * stats.multivariate_normal.pdf(errors, cov=covariance)  # Beta(4, 1)

        return (
            s**-2.5
            * math.exp(-1.5 * 0.18**2 / (2 * s**2))
            * integrate.fixed_quad(np.vectorize(of_share), 0, 1, n=20)[0]
        )

    below, above = (integrate.quad(density, *ends, limit=200)[0] for ends in ((1e-2, 0.125), (0.125, 20)))
    spread, apart = Spread.fit(errors, chance, groups=groups), Spread.fit(errors, chance)
    limit = 0.125 * math.sqrt(2 / math.pi)
    assert spread.mean_error_below(limit) == pytest.approx(below / (below + above), abs=2e-3)
    # As groups of one each, they say as much as without groups.
    assert Spread.fit(errors, chance, groups=list("abcde")).weights == pytest.approx(apart.weights)
    assert spread.half_widths([0.0], 0.95) > apart.half_widths([0.0], 0.95)


@pytest.mark.parametrize("kind", ["independent", "opposite"])
def test_domains_of_a_group_can_turn_out_to_be_independent(kind: str) -> None:
    """Pairs: the sum and difference of two errors of variance s^2 and covariance share s^2 are independent."""
    rng = np.random.default_rng(1)
    first = 0.13 * rng.standard_normal(12)
    second = -first if kind == "opposite" else 0.13 * rng.standard_normal(12)
    chance, shares = 0.003, (np.arange(4000) + 0.5) / 4000
    spreads = np.exp(np.linspace(math.log(0.01), math.log(5), 2000))
    logarithms = np.zeros((len(spreads), len(shares)))
    for size, sign in (((first + second) / math.sqrt(2), 1), ((first - second) / math.sqrt(2), -1)):
        variance = spreads[:, None] ** 2 * (1 + sign * shares) + chance
        logarithms += -0.5 * (len(size) * np.log(variance) + (size**2).sum() / variance)
    prior = spreads**-1.5 * np.exp(-1.5 * 0.18**2 / (2 * spreads**2))  # of log s
    posterior = prior * (np.exp(logarithms - logarithms.max()) * 4 * shares**3).sum(axis=1)
    expected = posterior[spreads * math.sqrt(2 / math.pi) <= 0.1].sum() / posterior.sum()
    spread = Spread.fit([*first, *second], [chance] * 24, groups=[*range(12)] * 2)
    assert 0.05 < expected < 0.95
    assert spread.mean_error_below(0.1) == pytest.approx(expected, abs=2e-3)


def test_labels_that_are_all_chance_say_nothing() -> None:
    alone, few = Spread.fit([], []), Spread.fit([0.5, -0.4], [1e6, 1e6])
    assert few.mean_error_limit(0.9) == pytest.approx(alone.mean_error_limit(0.9), rel=1e-3)


def test_more_domains_of_a_mean_square_are_domains_with_its_root_as_error() -> None:
    more = Spread.fit([0.05, 0.02], [0.001, 0.002]).add_domains(3, 0.03**2, 0.004)
    every = Spread.fit([0.05, 0.02, 0.03, 0.03, 0.03], [0.001, 0.002, 0.004, 0.004, 0.004])
    np.testing.assert_allclose(more.weights, every.weights, atol=1e-12)


def test_the_share_inside_an_interval_if_the_mean_error_were_another() -> None:
    """Off by a normal error of standard deviation .2, whose mean distance is .2 sqrt(2 / pi)."""
    spread = Spread.fit([0.05, 0.02, -0.1], [0.0] * 3)
    [half] = spread.half_widths([0.0], 0.9)
    assert spread.coverage(0.9, 0.2 * math.sqrt(2 / math.pi)) == pytest.approx(1 - 2 * stats.norm.sf(half / 0.2))


def test_a_slice_without_a_response_has_no_limit_and_there_may_be_no_slice() -> None:
    spread = Spread.fit([0.1], [0.0])
    assert spread.half_widths([math.inf, math.nan], 0.9).tolist() == [math.inf, math.inf]
    assert len(spread.half_widths([], 0.9)) == 0


def test_the_prior_is_on_the_side_of_caution_of_the_published_tables() -> None:
    pairs = pl.read_csv(f"{accuracy.__path__[0]}/published/table_2_7_estimation.csv")["aee"].to_numpy()
    assert len(pairs) == 36
    # Of a normal error the deviation is sqrt(pi / 2) times the mean distance; three large models' is .16.
    published, large_models = np.array([np.quantile(pairs, 0.75), 0.16]) * math.sqrt(math.pi / 2)
    assert published == pytest.approx(0.163, abs=5e-4)
    assert published < predictive_posterior.CAUTIOUS.scale < large_models
    # The logarithm of a scaled inverse chi-squared variance has variance trigamma(nu / 2).
    logs = np.log(pairs**2 * math.pi / 2)
    freedom = optimize.brentq(lambda nu: special.polygamma(1, nu / 2) - logs.var(ddof=1), 0.5, 100)
    assert freedom == pytest.approx(4.3, abs=0.05)
    assert freedom / 3 == pytest.approx(predictive_posterior.CAUTIOUS.freedom, abs=0.1)
    scale = math.sqrt(np.exp(logs.mean() + special.digamma(freedom / 2)) * 2 / freedom)
    assert scale == pytest.approx(0.11, abs=0.005)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_many_half_widths_are_those_of_each_alone(level: float) -> None:
    """Many begin near their solution; 0, infinity, equal and very different variances are among them."""
    rng = np.random.default_rng(0)
    spread = Spread.fit(rng.normal(0, 0.1, 4), [0.002] * 4)
    some = [0.0, math.inf, 1e-12, 4.0, *rng.uniform(0, 0.02, 20)]
    many = spread.half_widths([*some, *rng.exponential(0.02, 3000), *some], level)
    alone = np.concatenate([spread.half_widths([variance], level) for variance in some])
    assert many[: len(some)] == pytest.approx(alone, abs=1e-12)
    assert many[-len(some) :] == pytest.approx(alone, abs=1e-12)
