"""Smallest sets by hand and by trying all subsets; the best temperature where it is known."""

from itertools import combinations

import numpy as np
import pytest
from papers.intervals.interval_score import compute_winkler_scores
from papers.intervals.smallest_mass import Distribution, compute_hulls, find_best_temperature, find_smallest_set
from scipy.special import log_softmax


def test_the_set_by_hand() -> None:
    values, probabilities = [7, 3, 4, 12], [0.2, 0.5, 0.2, 0.1]
    assert find_smallest_set(values, probabilities, 0.4).tolist() == [3]
    # 0.5 is not more than 0.5; of 4 and 7, equally likely, the smaller comes first.
    assert find_smallest_set(values, probabilities, 0.5).tolist() == [3, 4]
    assert find_smallest_set(values, probabilities, 0.69).tolist() == [3, 4]
    assert find_smallest_set(values, probabilities, 0.7).tolist() == [3, 4, 7]
    # 0.5 + 0.2 + 0.2 is 0.9 but for the last bit.
    assert find_smallest_set(values, probabilities, 0.9).tolist() == [3, 4, 7, 12]
    assert find_smallest_set(values, probabilities, 0.999).tolist() == [3, 4, 7, 12]
    lower, upper = compute_hulls([Distribution(np.array(values), np.array(probabilities))] * 2, 0.6)
    assert (lower.tolist(), upper.tolist()) == ([3, 3], [4, 4])


def test_no_smaller_set_holds_as_much() -> None:
    rng = np.random.default_rng(3)
    for _ in range(60):
        size, coverage = int(rng.integers(1, 8)), float(rng.uniform(0.1, 0.99))
        values, probabilities = rng.permutation(np.arange(-4, 4))[:size], rng.dirichlet(np.ones(size))
        result = find_smallest_set(values, probabilities, coverage)
        mass = dict(zip(values.tolist(), probabilities.tolist(), strict=True))
        of_its_size = [sum(mass[v] for v in one) for one in combinations(mass, len(result))]
        assert sum(mass[v] for v in result) == pytest.approx(max(of_its_size))
        assert sum(mass[v] for v in result) > coverage or len(result) == size
        assert all(sum(mass[v] for v in one) <= coverage for one in combinations(mass, len(result) - 1))


def test_temperature_scaling() -> None:
    def scaled(probabilities: list[float], temperature: float) -> list[float]:
        values = np.arange(len(probabilities))
        return Distribution(values, np.array(probabilities)).scale(temperature).probabilities.tolist()

    assert scaled([0.8, 0.2], 1) == pytest.approx([0.8, 0.2])
    assert scaled([0.8, 0.2], 2) == pytest.approx([2 / 3, 1 / 3])  # roots of 4 to 1
    assert scaled([0.8, 0.2], 0.5) == pytest.approx([16 / 17, 1 / 17])
    logits = np.array([3.0, -700.0, 2.0, 0.5])
    expected = np.exp(log_softmax(logits / 0.3))
    np.testing.assert_allclose(scaled(np.exp(log_softmax(logits)), 0.3), expected, rtol=1e-10, atol=1e-300)
    with pytest.raises(ValueError, match="temperature must be above 0, got 0"):
        scaled([0.5, 0.5], 0)


def test_best_temperature_by_hand() -> None:
    """Probabilities 16 : 4 : 1 of 0, 1 and 2: at T = 2 they are 4 : 2 : 1.

    The set of more than 0.7 is {0} at T = 1, for 16 / 21 = 0.76, and {0, 1} at T = 2, for 4 / 7 = 0.57.
    """
    one = Distribution(np.array([0.0, 1.0, 2.0]), np.array([16, 4, 1]) / 21)
    grid = [1, 2]
    # The truth is 1 for half: at T = 1 the score is 2 / 0.3 for these, at T = 2 it is 1 for all.
    assert find_best_temperature([one, one], [0, 1], [0.3], grid) == 2
    assert find_best_temperature([one, one], [0, 0], [0.3], grid) == 1
    # At 90 % the sets are {0, 1} at T = 1 (20 / 21) and all at T = 2: the mean over both targets decides.
    expected = {1: (np.mean([0, 2 / 0.3]) + 1) / 2, 2: (1 + 2) / 2}
    for temperature, score in expected.items():
        at = [one.scale(temperature)] * 2
        result = np.mean([compute_winkler_scores(*compute_hulls(at, 1 - alpha), [0, 1], alpha) for alpha in (0.3, 0.1)])
        assert result == pytest.approx(score)
    assert find_best_temperature([one, one], [0, 1], [0.3, 0.1], grid) == 2
    assert find_best_temperature([one, one], [0, 0], [0.3, 0.1], [2, 1, 1.0]) == 1


def test_the_temperature_that_spoiled_distributions_is_found() -> None:
    """Truths are drawn from the distributions, which are then sharpened: T* is what undoes that."""
    rng, values = np.random.default_rng(4), np.arange(-6, 7)
    true, sharpened = [], []
    for _ in range(400):
        logits = -((values - rng.normal(0, 2)) ** 2) / 8
        honest = np.exp(log_softmax(logits))
        true.append(rng.choice(values, p=honest))
        sharpened.append(Distribution(values, honest).scale(1 / 3))
    assert find_best_temperature(sharpened, true, [0.1, 0.05], [0.5, 1, 2, 3, 4, 6]) in (3, 4)
