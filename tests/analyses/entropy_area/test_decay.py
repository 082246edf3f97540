"""Decayed sums of probabilities: by the double sum of the definition, and at both ends of alpha."""

import numpy as np
import pytest

from entropy_sentinel.analyses.entropy_area.trajectories import decayed

P = np.array([[0.1, 0.4, 0.2, 0.9], [0.8, 0.1, 0.1, 0.05]])


def test_without_decay_it_is_the_plain_sum() -> None:
    assert decayed(P, 0) == pytest.approx(np.cumsum(P, axis=1), abs=1e-12)


def test_with_endless_decay_it_is_the_last_step() -> None:
    assert decayed(P, np.inf) == pytest.approx(P, abs=0)
    assert decayed(P, 200) == pytest.approx(P, abs=1e-12)


def test_a_half_by_the_definition() -> None:
    """Third step of the first option: 0.1 / sqrt(3) + 0.4 / sqrt(2) + 0.2; and all by the double sum."""
    found = decayed(P, 0.5)
    assert found[0, 2] == pytest.approx(0.1 / np.sqrt(3) + 0.4 / np.sqrt(2) + 0.2, abs=1e-12)
    for option, t in np.ndindex(P.shape):
        assert found[option, t] == pytest.approx(
            sum(P[option, k - 1] / (t + 1 - k + 1) ** 0.5 for k in range(1, t + 2)), abs=1e-12
        )
    # Sums of vocabulary probabilities, not renormalised: two options that add up to 0.9 stay at 0.9.
    assert found[:, 0].sum() == pytest.approx(0.9)


def test_no_option_and_no_step_are_no_error() -> None:
    assert decayed(np.empty((0, 4))).shape == (0, 4)
