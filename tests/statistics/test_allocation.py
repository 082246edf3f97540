"""Budgets are split so that the variance is least, against every other way to split them."""

from itertools import product

import numpy as np
import pytest

from entropy_sentinel.statistics.monitoring.allocation import apportion_labels


def test_no_other_split_has_less_variance() -> None:
    """The variance of a stratified total, sum of (N S)^2 / n, over all splits of 12 with at least 1 and at most 7."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        shares = rng.random(4) * [1, 2, 5, 10]
        result = apportion_labels(shares, [1] * 4, [7] * 4, 12)
        splits = [split for split in product(range(1, 8), repeat=4) if sum(split) == 12]
        best = min(sum(shares**2 / split) for split in splits)
        assert result.sum() == 12
        assert sum(shares**2 / result) == pytest.approx(best, rel=1e-12)


def test_limits_are_kept() -> None:
    assert apportion_labels([1, 1, 100], [2, 2, 0], [5, 5, 3], 9).tolist() == [3, 3, 3]
    assert apportion_labels([1, 1], [0, 0], [2, 3], 50).tolist() == [2, 3]
    assert apportion_labels([1, 5], [9, 9], [2, 3], 5).tolist() == [2, 3]  # no more than there are
    with pytest.raises(ValueError, match="at least 4"):
        apportion_labels([1, 1], [2, 2], [5, 5], 3)


def test_none_goes_where_nothing_is_unknown_and_ties_go_to_the_first() -> None:
    assert apportion_labels([0, 3], [0, 0], [9, 9], 1).tolist() == [0, 1]
    assert apportion_labels([1, 1, 1], [0, 0, 0], [9, 9, 9], 4).tolist() == [2, 1, 1]
