"""The share of domains that an estimator is far off on: against a beta distribution, quadrature and drawn errors."""

import numpy as np
import pytest
from scipy import integrate, stats

from entropy_sentinel.statistics.large_error import LargeErrorRate

EXACT = 1e-12


@pytest.mark.parametrize("k", [1, 6, 40])
def test_domains_without_error(k: int) -> None:
    """Labels without chance show that a domain is not far off: prior Beta(.2, 7.8), posterior Beta(.2, 7.8 + k)."""
    result = LargeErrorRate.fit([0.0] * k, [EXACT] * k, 0.25)
    assert result.share_below(0.05) == pytest.approx(stats.beta.cdf(0.05, 0.2, 7.8 + k), abs=1e-3)


def test_likelihoods_by_quadrature() -> None:
    """Three domains with errors of .1, .2 and .3, whose labels have a standard deviation of .1.

    The median square is .04, which is .0879 for a normal variance, minus .01; but the spread is at most half of .25.
    """
    near = stats.norm(scale=np.sqrt(0.125**2 + 0.01))

    def far(error: float) -> float:
        either = (lambda true: stats.norm.pdf(error, true, 0.1), lambda true: stats.norm.pdf(error, -true, 0.1))
        return sum(integrate.quad(density, 0.25, 0.5)[0] for density in either) / 0.5

    ratios = [far(error) / near.pdf(error) for error in (0.1, 0.2, 0.3)]

    def integral(up_to: float) -> float:
        def weight(share: float) -> float:
            return float((1 - share) ** 6.8 * np.prod([share * ratio + 1 - share for ratio in ratios]))

        return integrate.quad(weight, 0, up_to, weight="alg", wvar=(-0.8, 0))[0]

    result = LargeErrorRate.fit([0.1, -0.2, 0.3], [0.01] * 3, 0.25)
    assert result.small_variance == pytest.approx(0.125**2)
    assert result.share_below(0.05) == pytest.approx(integral(0.05) / integral(1), abs=1e-3)


def test_an_error_beyond_twice_the_limit_is_far_off() -> None:
    results = [
        LargeErrorRate.fit([error] + [0.0] * 20, [1e-4] * 21, 0.25).share_below(0.05) for error in (0.4, 0.6, 0.9)
    ]
    assert results == pytest.approx([stats.beta.cdf(0.05, 0.2 + 1, 7.8 + 20)] * 3, abs=0.01)


def test_groups_by_the_states_of_their_domains() -> None:
    """Two domains of a group are far off, of another neither, and nor is a domain by itself: by quadrature.

    A group is alike with probability q, which is uniform: the means of q^2, q (1 - q) and (1 - q)^2 are 1/3, 1/6 and
    1/3.
    """

    def likelihood(share: float) -> float:
        both, neither, both_apart, neither_apart = share, 1 - share, share**2, (1 - share) ** 2
        mixed = both * neither / 3 + (both * neither_apart + both_apart * neither) / 6 + both_apart * neither_apart / 3
        return mixed * (1 - share)

    def integral(up_to: float) -> float:
        prior = integrate.quad(lambda x: (1 - x) ** 6.8 * likelihood(x), 0, up_to, weight="alg", wvar=(-0.8, 0))
        return prior[0]

    posterior = LargeErrorRate.fit([0.3, 0.3, 0.0, 0.0, 0.0], [EXACT] * 5, 0.25, ["a", "a", "b", "b", "c"])
    assert posterior.share_below(0.2) == pytest.approx(integral(0.2) / integral(1), abs=2e-3)


def test_errors_above_the_limit_raise_the_share_and_domains_without_them_lower_it() -> None:
    shares = [
        LargeErrorRate.fit([0.3] * far + [0.0] * 20, [EXACT] * (20 + far), 0.25).share_below(0.05) for far in range(5)
    ]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.9
    assert shares[4] < 0.1
    assert (
        LargeErrorRate.fit([0.3] + [0.0] * 20, [EXACT] * 21, 0.25).add_domains(60, 0.0, EXACT).share_below(0.05) > 0.9
    )


def test_an_error_that_few_labels_show_by_chance_says_less() -> None:
    """Twenty labels have a standard deviation of .11: of 80 domains without error, two show one above .25."""
    assert 80 * 2 * stats.norm.sf(0.25, scale=np.sqrt(0.25 / 20)) == pytest.approx(2, abs=0.1)
    few, many = (
        LargeErrorRate.fit([0.26] * 4 + [0.0] * 76, [0.25 / n] * 80, 0.25).share_below(0.05) for n in (20, 1000)
    )
    assert few > 0.85
    assert many < 0.65


def test_a_normal_spread_is_not_taken_for_a_share_far_off() -> None:
    """Errors of standard deviation .1 and labels of .11: 9 % of domains show more than .25, and 1.2 % are off by it."""
    quantiles = stats.norm.ppf((np.arange(160) + 0.5) / 160)
    errors = quantiles * np.sqrt(0.1**2 + 0.25 / 20)
    assert (abs(errors) > 0.25).mean() == pytest.approx(0.09, abs=0.011)
    result = LargeErrorRate.fit(errors, [0.25 / 20] * 160, 0.25)
    assert result.small_variance == pytest.approx(0.1**2, rel=0.02)
    assert result.share_below(0.05) > 0.9


def test_errors_that_are_all_large_have_no_spread() -> None:
    assert LargeErrorRate.fit([0.3, -0.3, 0.3, -0.3], [EXACT] * 4, 0.25).share_below(0.05) < 0.2


def test_more_domains_are_domains() -> None:
    """Without error as such domains; with errors, by the mean log-likelihood of normal ones."""
    before = LargeErrorRate.fit([0.3, 0.0, 0.0], [0.01] * 3, 0.25)
    every = LargeErrorRate.fit([0.3, 0.0, 0.0, 0.0, 0.0], [0.01] * 5, 0.25)
    assert before.small_variance == every.small_variance == 0
    assert before.add_domains(2, 0.0, 0.01).share_below(0.05) == pytest.approx(every.share_below(0.05))
    quantiles = stats.norm.ppf((np.arange(40) + 0.5) / 40, scale=0.1)
    all_forty = LargeErrorRate.fit([*quantiles, 0.0, 0.0, 0.3], [0.01] * 43, 0.25)
    assert all_forty.small_variance == 0
    assert before.add_domains(40, 0.01, 0.01).share_below(0.05) == pytest.approx(all_forty.share_below(0.05))
