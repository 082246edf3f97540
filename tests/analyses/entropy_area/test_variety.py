"""Entropies of answers, worked out by hand and by SciPy."""

import numpy as np
import pytest
from scipy import stats

from entropy_sentinel.analyses.entropy_area.items import answer_entropy, correctness_entropy, entropy_bits


def test_entropy_of_counts_is_in_bits() -> None:
    assert entropy_bits([8]) == 0
    assert entropy_bits([1, 1]) == 1
    assert entropy_bits([2, 2, 2, 2, 0]) == 2
    # 3/4 log2(4/3) + 1/4 log2(4) = 2 - 3/4 log2(3)
    assert entropy_bits([3, 1]) == pytest.approx(2 - 0.75 * np.log2(3), abs=1e-15)
    assert entropy_bits([5, 7, 1, 51]) == pytest.approx(stats.entropy([5, 7, 1, 51], base=2), abs=1e-12)
    assert str(entropy_bits([8])) == "0.0"  # and not -0.0
    with pytest.raises(ValueError, match="counts must be of something"):
        entropy_bits([0, 0])


def test_samples_without_an_answer_are_one_class_or_left_out() -> None:
    answers = [4, 4, 7, None, None, None, None, 4]
    # 3, 1 and 4 of 8: 3/8 log2(8/3) + 1/8 * 3 + 1/2 = 2 - 3/8 log2(3)
    assert answer_entropy(answers) == pytest.approx(2 - 3 / 8 * np.log2(3), abs=1e-15)
    assert answer_entropy(answers, unreadable=False) == pytest.approx(2 - 0.75 * np.log2(3), abs=1e-15)
    assert answer_entropy([None, None]) == 0
    assert answer_entropy([None, None], unreadable=False) is None
    assert answer_entropy([0, 0, 0]) == 0  # class 0 is a class


def test_correctness_entropy_is_that_of_a_coin() -> None:
    assert [correctness_entropy(right, 64) for right in (0, 32, 64)] == [0, 1, 0]
    # p = 1/8: 3/8 + 7/8 log2(8/7)
    assert correctness_entropy(8, 64) == pytest.approx(3 / 8 + 7 / 8 * np.log2(8 / 7), abs=1e-15)
    # Four answers, one of them right as often as wrong: wrong ones that differ count for nothing here.
    assert correctness_entropy(2, 4) == 1 < answer_entropy(["a", "a", "b", "c"])
    with pytest.raises(ValueError, match="between 0 and n_samples 4, was 5"):
        correctness_entropy(5, 4)
