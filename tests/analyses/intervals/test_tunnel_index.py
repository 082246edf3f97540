"""The tunnel index by hand, and what Theorem 2 says of it, over all traces that there are."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import entropy

from entropy_sentinel.analyses.intervals.tunnel import point_masses, self_consistency_index


def test_indices_by_hand() -> None:
    traces = np.array([[1.0, 0.0], [0.5, 0.5]])
    # The mean of the traces is [3/4, 1/4].
    mean_entropy = 2 * np.log(2) - 0.75 * np.log(3)
    assert self_consistency_index([0.5, 0.5], traces) == pytest.approx(np.log(2) - mean_entropy)
    # Below 0 where thinking has made the model less sure.
    assert self_consistency_index([1.0, 0.0], traces) == pytest.approx(-mean_entropy)


@pytest.mark.parametrize("seed", range(5))
def test_self_consistency_reduces_the_index(seed: int) -> None:
    """The expectation over three equally likely traces, exactly: all 3^m ways to draw m of them."""
    random = np.random.default_rng(seed)
    traces, direct = random.dirichlet([0.5] * 4, size=3), random.dirichlet([1] * 4)
    expected = [
        np.mean([self_consistency_index(direct, traces[list(drawn)]) for drawn in product(range(3), repeat=m)])
        for m in range(1, 7)
    ]
    # Theorem 2's bound: the entropy of the mean of all traces.
    bound = entropy(direct) - entropy(traces.mean(axis=0))
    assert all(one >= bound - 1e-12 for one in expected)
    assert (np.diff(expected) < 0).all()
    assert expected[-1] - bound < 0.3 * (expected[0] - bound)
    many = traces[random.integers(3, size=200_000)]
    assert self_consistency_index(direct, many) == pytest.approx(bound, abs=0.01)


def test_samples_are_traces_whose_answer_alone_is_known() -> None:
    traces = point_masses([3, -1, 3, 3], [-1, 3, 7])
    assert traces.tolist() == [[0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]]
    direct = [0.5, 0.25, 0.25]
    # Self-consistency sees shares of 3/4 and 1/4.
    assert self_consistency_index(direct, traces) == pytest.approx(entropy(direct) - entropy([3, 1]))
    with pytest.raises(ValueError, match="4 in place 1 is none"):
        point_masses([3, 4], [3, 7])
