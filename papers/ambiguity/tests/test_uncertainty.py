"""Total, aleatoric and epistemic uncertainty: the paper's examples by hand, its propositions on random simplices."""

import math

import numpy as np
import pytest
from papers.ambiguity.uncertainty import jensen_shannon, measure_expected_uncertainty, measure_uncertainty
from scipy import stats
from scipy.spatial.distance import jensenshannon

RNG = np.random.default_rng(11)
SIMPLICES = [(RNG.dirichlet(np.ones(k)), RNG.dirichlet(np.ones(k))) for k in (2, 3, 5, 9) for _ in range(25)]
NAN = math.nan


def test_the_fire_triangle_by_hand() -> None:
    """Heat, fuel, oxygen and carbon: the paper's example of B.1. Fuel was never sampled, carbon is no answer."""
    result = measure_uncertainty([0.30, 0.34, 0.36, 0], [0.4, NAN, 0.4, 0.2])
    aleatoric = -(0.30 * math.log(0.30) + 0.34 * math.log(0.34) + 0.36 * math.log(0.36))
    total = -(0.30 + 0.36) * math.log(0.4) - 0.34 * math.log(0.01)
    assert result == pytest.approx((total, aleatoric, total - aleatoric), abs=1e-12)
    scaled = measure_uncertainty([0.30, 0.34, 0.36, 0], [0.4, NAN, 0.4, 0.2], renormalise=True)
    # The sum of p is 1.01, so that each logarithm is log 1.01 less.
    assert scaled.epistemic == pytest.approx(result.epistemic + math.log(1.01), abs=1e-12)
    assert scaled.aleatoric == result.aleatoric


def test_it_is_the_cross_entropy_and_the_divergence() -> None:
    for true, model in SIMPLICES:
        result = measure_uncertainty(true, model)
        assert result.aleatoric == pytest.approx(stats.entropy(true), abs=1e-12)
        assert result.epistemic == pytest.approx(stats.entropy(true, model), abs=1e-10)
        assert result.total == pytest.approx(stats.entropy(true) + stats.entropy(true, model), abs=1e-10)


def test_it_can_be_below_zero_by_a_little() -> None:
    """With the 0.01 put in p adds up to 1.01: the least that KL can be is -log 1.01."""
    result = measure_uncertainty([0.99, 0.01], [1.0, NAN])
    assert result.epistemic == pytest.approx(0.99 * math.log(0.99), abs=1e-12)
    assert -math.log(1.01) <= result.epistemic < 0
    assert measure_uncertainty([0.99, 0.01], [1.0, NAN], renormalise=True).epistemic >= 0


def test_proposition_2_with_one_answer_it_is_minus_log_p() -> None:
    assert measure_uncertainty([0, 1, 0], [0.5, 0.25, 0.25]) == pytest.approx((math.log(4), 0, math.log(4)), abs=1e-12)
    assert measure_uncertainty([1, 0], [NAN, 1]).epistemic == pytest.approx(-math.log(0.01))
    assert measure_uncertainty([1, 0], [0, 1], epsilon=0.001).epistemic == pytest.approx(-math.log(0.001))


@pytest.mark.parametrize("true", [[0.5, 0.4], [1.5, -0.5], [NAN, 1.0]])
def test_what_is_not_a_distribution_is_refused(true: list[float]) -> None:
    with pytest.raises(ValueError, match=r"p\* must be at least 0 and add up to 1"):
        measure_uncertainty(true, [0.5, 0.5])


@pytest.mark.parametrize(("counts", "gamma"), [((31, 32, 25), 1), ((3, 1), 5), ((0, 2, 7, 1), 0), ((188, 91), 0.3)])
def test_dirichlet_expectations_are_those_of_draws(counts: tuple[int, ...], gamma: float) -> None:
    model = np.random.default_rng(2).dirichlet(np.ones(len(counts)))
    drawn = np.random.default_rng(3).dirichlet(1 + gamma * np.array(counts), size=200_000)
    entropies, divergences = stats.entropy(drawn, axis=1), stats.entropy(drawn, model, axis=1)
    result = measure_expected_uncertainty(counts, model, gamma)
    for value, draws in ((result.aleatoric, entropies), (result.epistemic, divergences)):
        assert value == pytest.approx(draws.mean(), abs=5 * draws.std() / math.sqrt(len(draws)))
    assert result.total == pytest.approx(result.aleatoric + result.epistemic, abs=1e-12)


def test_dirichlet_by_hand() -> None:
    """A uniform p* over two answers: E[-x log x] is the integral, 1/4 for each."""
    result = measure_expected_uncertainty([0, 0], [0.5, NAN], gamma=7)
    assert result.aleatoric == pytest.approx(0.5, abs=1e-12)
    assert result.total == pytest.approx(-(math.log(0.5) + math.log(0.01)) / 2, abs=1e-12)
    # Where the counts are believed without end it is the divergence itself.
    p, counts = [0.2, 0.5, 0.3], np.array([31, 32, 25])
    assert measure_expected_uncertainty(counts, p, 1e9) == pytest.approx(measure_uncertainty(counts / 88, p), abs=1e-6)
    with pytest.raises(ValueError, match="counts and gamma must be at least 0"):
        measure_expected_uncertainty([3, -1], [0.5, 0.5])


def test_jensen_shannon() -> None:
    for one, other in SIMPLICES:
        assert jensen_shannon(one, other) == pytest.approx(jensenshannon(one, other) ** 2, abs=1e-12)
        assert jensen_shannon(one, other) == pytest.approx(jensen_shannon(other, one), abs=1e-15)
    assert jensen_shannon([1, 0], [0, 1]) == pytest.approx(math.log(2))
    assert jensen_shannon([0.3, 0.7], [0.3, 0.7]) == 0
