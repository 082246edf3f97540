"""Winkler's score by hand, by the paper's own formula, and as a proper score; paired differences against SciPy."""

import numpy as np
import pytest
from papers.intervals.interval_score import Difference, compare_scores, compute_winkler_scores
from scipy import stats

from entropy_sentinel.statistics.conformal import contains_truth


def test_the_score_by_hand() -> None:
    # Inside: the width alone, at any alpha. Outside at 95 %: 2 / 0.05 = 40 for each power of ten.
    assert compute_winkler_scores([2, 2, 2, 2], [5, 5, 5, 5], [2, 5, 1, 7], 0.05).tolist() == [3, 3, 3 + 40, 3 + 80]
    # One number: 0 where it is right, 200 for each power of ten at 99 %.
    assert compute_winkler_scores([3, 3], [3, 3], [3, -1], 0.01).tolist() == [0, 800]
    assert compute_winkler_scores([-4], [-1], [0.5], 0.1).tolist() == [3 + 20 * 1.5]


@pytest.mark.parametrize("alpha", [0.2, 0.05])
def test_the_quantiles_have_the_best_expected_score(alpha: float) -> None:
    """Proposition 2, on the points of a normal distribution."""
    points = stats.norm.ppf((np.arange(4000) + 0.5) / 4000)
    best = stats.norm.ppf([alpha / 2, 1 - alpha / 2])
    scores = {
        (a, b): compute_winkler_scores([best[0] + a] * 4000, [best[1] + b] * 4000, points, alpha).mean()
        for a in (-0.3, -0.1, 0, 0.1, 0.3)
        for b in (-0.3, -0.1, 0, 0.1, 0.3)
    }
    assert min(scores, key=scores.__getitem__) == (0, 0)


def test_an_infinite_interval_covers_and_costs_without_end() -> None:
    assert contains_truth([-np.inf], [np.inf], [1e9]).all()
    assert compute_winkler_scores([-np.inf], [np.inf], [0], 0.01).tolist() == [np.inf]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 3], [1, 2], [0, 0], 0.1), "got 3.0 and 2.0 in place 1"),
        (([np.nan], [2], [0], 0.1), "in place 0"),
        (([0], [2], [0], 95), "alpha is 1 - level .* got 95"),
        (([0], [2], [0], 0.0), "got 0.0"),
    ],
)
def test_what_is_not_an_interval_is_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compute_winkler_scores(*arguments)


def test_the_difference_is_paired_and_its_interval_that_of_scipy() -> None:
    rng = np.random.default_rng(2)
    hard = rng.exponential(50, 300)  # what makes a question hard for both
    first, second = hard + rng.normal(3, 2, 300), hard
    result = compare_scores(first, second, n_resamples=4000, seed=0)
    theirs = stats.bootstrap((first - second,), np.mean, n_resamples=4000, method="percentile", rng=1)
    assert result.mean == pytest.approx(np.mean(first) - np.mean(second), abs=1e-12)
    # An end is known to about 0.01 from 4000 samples whose means have a standard deviation of 0.115.
    assert result[1:3] == pytest.approx(theirs.confidence_interval, abs=0.03)
    alone = stats.sem(first) * 1.96
    assert result.upper is not None
    assert result.upper - result.mean < alone / 10


def test_a_difference_that_is_none_says_why() -> None:
    assert compare_scores([1, np.inf], [1, 2], 10, 0) == Difference(None, None, None, "an interval is infinite")
    assert compare_scores([], [], 10, 0) == Difference(None, None, None, "no question")
