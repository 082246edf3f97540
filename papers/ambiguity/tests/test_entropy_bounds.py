"""The bounds of Theorems 1 and 2: by hand, and held by random distributions."""

import math

import numpy as np
import pytest
from papers.ambiguity.entropy_bounds import (
    alpha_delta,
    compute_lower_bound,
    compute_upper_bound,
    gamma_delta,
)
from scipy import stats


def test_by_hand() -> None:
    assert alpha_delta(0, 5) == gamma_delta(0) == 1
    for n_classes in (2, 3, 10):
        assert alpha_delta(math.log(n_classes), n_classes) == pytest.approx(1 / n_classes)
    assert gamma_delta(math.log(2)) == pytest.approx(0.5)
    # Three classes: with 1/2, 1/4 and 1/4 the entropy is 3/2 log 2; with 1/2 and 1/2 it is log 2.
    assert alpha_delta(1.5 * math.log(2), 3) == pytest.approx(0.5, abs=1e-12)
    # 3/4 and 1/4: 2 log 2 - 3/4 log 3.
    assert gamma_delta(2 * math.log(2) - 0.75 * math.log(3)) == pytest.approx(0.75, abs=1e-12)
    # With two classes both are the solution of the same equation.
    assert alpha_delta(0.4, 2) == pytest.approx(gamma_delta(0.4), abs=1e-12)
    assert compute_lower_bound(1.5 * math.log(2), 3) == pytest.approx(math.log(2))
    assert compute_upper_bound(math.log(2)) == pytest.approx(math.log(2))


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_theorem_1_holds_and_is_tight(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    for model in rng.dirichlet(np.full(n_classes, 0.7), size=300):
        entropy = float(stats.entropy(model))
        # Whichever class is right, -log of its probability is at least the bound.
        assert -math.log(model.max()) >= compute_lower_bound(entropy, n_classes) - 1e-9
    for delta in np.linspace(0.01, math.log(n_classes) - 0.01, 7):
        alpha = alpha_delta(delta, n_classes)
        reached = [alpha, *[(1 - alpha) / (n_classes - 1)] * (n_classes - 1)]
        assert stats.entropy(reached) == pytest.approx(delta, abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_gamma_is_the_least_that_the_likeliest_class_can_have(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    drawn = rng.dirichlet(np.full(n_classes, 0.15), size=3000)
    entropies = stats.entropy(drawn, axis=1)
    below = entropies <= math.log(2)
    assert below.sum() > 500
    for model, entropy in zip(drawn[below][:500], entropies[below][:500], strict=True):
        assert model.max() >= gamma_delta(entropy) - 1e-9


def test_theorem_2_holds_on_random_questions() -> None:
    """Models that are right as often as they say, and some that are not: the share is never below the bound."""
    rng, said_something = np.random.default_rng(5), 0
    for concentration in (0.02, 0.05, 0.2, 1.0):
        for wrong in (0.0, 0.05, 0.3):
            model = np.clip(rng.dirichlet(np.full(4, concentration), size=2000), 1e-12, None)
            model /= model.sum(axis=1, keepdims=True)
            right = (model.cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1).clip(max=3)
            right = np.where(rng.random(2000) < wrong, rng.integers(4, size=2000), right)
            loss = -np.log(model[np.arange(2000), right])
            entropy = stats.entropy(model, axis=1)
            for delta in (0.05, 0.3, math.log(2)):
                low = entropy <= delta
                if not low.any():
                    continue
                # At least this share of the items of low entropy is certain.
                bound = 1 - loss.mean() / (low.mean() * -math.log(1 - gamma_delta(delta)))
                share = (loss[low] <= compute_upper_bound(delta) + 1e-12).mean()
                assert share >= bound - 1e-12
                said_something += bound > 0
    assert said_something > 5


def test_what_is_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match=r"delta must be between 0 and log 3 = 1.0986, got 1.2"):
        alpha_delta(1.2, 3)
    with pytest.raises(ValueError, match=r"delta must be between 0 and log 2 = 0.6931, got -0.1"):
        gamma_delta(-0.1)
    with pytest.raises(ValueError, match="n_classes must be at least 2, got 1"):
        alpha_delta(0, 1)
