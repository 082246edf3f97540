"""Agreement of judges: against scikit-learn, SciPy, statsmodels' published figures, and by simulation."""

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import cohen_kappa_score

from entropy_sentinel.statistics.judge_agreement import (
    Interval,
    clustered_sample_size,
    cohen_kappa,
    corrected_share,
    weighted_sample_size,
    wilson_interval,
)


@pytest.mark.parametrize(("successes", "n"), [(0, 10), (10, 10), (3, 10), (291, 300), (1, 1)])
def test_wilson_is_scipys(successes: int, n: int) -> None:
    expected = binomtest(successes, n).proportion_ci(0.95, method="wilson")
    assert wilson_interval(successes, n)[:3] == pytest.approx((successes / n, expected.low, expected.high), abs=1e-12)
    at_90 = binomtest(successes, n).proportion_ci(0.9, method="wilson")
    assert wilson_interval(successes, n, 0.9)[1:3] == pytest.approx((at_90.low, at_90.high), abs=1e-12)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        # By statsmodels 0.14's cohens_kappa (Fleiss, Cohen and Everitt's standard error).
        ([[20, 5], [10, 15]], (0.4, 0.15109229, 0.64890771)),
        ([[88, 3], [2, 7]], (0.70930233, 0.46843985, 0.95016480)),
        ([[53, 5, 2], [11, 14, 5], [1, 6, 3]], (0.42857143, 0.27969485, 0.57744800)),
        ([[88, 10, 2], [14, 40, 6], [18, 10, 12]], (0.49152542, 0.39156370, 0.59148715)),
    ],
)
def test_kappa_is_that_of_scikit_learn_and_statsmodels(counts: list[list[int]], expected: tuple[float, ...]) -> None:
    result = cohen_kappa(counts)
    assert result[:3] == pytest.approx(expected, abs=1e-7)
    places = [(i, j) for i, row in enumerate(counts) for j, count in enumerate(row) for _ in range(count)]
    assert result.estimate == pytest.approx(cohen_kappa_score(*zip(*places, strict=True)), abs=1e-12)
    assert all(type(value) is float for value in result[:3])


def test_kappa_at_its_ends() -> None:
    assert cohen_kappa([[0, 0], [0, 0]]) == Interval(None, None, None, "no pair")
    one_verdict = cohen_kappa([[12, 0], [0, 0]])
    assert one_verdict == (None, None, None, "both judges always give the same verdict")
    one_sided = cohen_kappa([[12, 8], [0, 0]])
    assert one_sided == (0.0, None, None, "one of the judges always gives the same verdict: kappa is 0 by definition")
    # Each gives one verdict, and never the same.
    assert cohen_kappa([[0, 7], [0, 0]]).estimate == 0
    # 100 of 100 pairs, half of them of each verdict: (0.963005 - 0.5) / 0.5, Wilson's limit by SciPy.
    lowest = binomtest(100, 100).proportion_ci(method="wilson").low
    assert cohen_kappa([[50, 0], [0, 50]])[:3] == pytest.approx((1, 2 * lowest - 1, 1))


def test_limits_stay_in_range() -> None:
    assert cohen_kappa([[3, 0], [1, 3]]).upper == 1
    assert cohen_kappa([[0, 3], [3, 1]]).lower == -1
    assert corrected_share(10, 10, (9, 10), (9, 10))[::2] == (1.0, 1.0)
    assert corrected_share(0, 10, (9, 10), (9, 10))[:2] == (0.0, 0.0)


def test_corrected_share_by_hand() -> None:
    """Rogan and Gladen: (0.2 + 0.9 - 1) / (0.8 + 0.9 - 1) = 1/7.

    The limits of Lang and Reiczigel, their equations written out again.
    """
    result = corrected_share(200, 1000, (80, 100), (90, 100))
    assert result.estimate == pytest.approx(1 / 7)
    z2 = 1.959963984540054**2
    ap, se, sp = (200 + z2 / 2) / (1000 + z2), 81 / 102, 91 / 102
    p = (ap + sp - 1) / (se + sp - 1)
    shift = 2 * z2 * (p * se * (1 - se) / 102 - (1 - p) * sp * (1 - sp) / 102)
    parts = (ap * (1 - ap) / (1000 + z2), p**2 * se * (1 - se) / 102, (1 - p) ** 2 * sp * (1 - sp) / 102)
    half = np.sqrt(z2 * sum(parts)) / (se + sp - 1)
    assert result[1:3] == pytest.approx((p + shift - half, p + shift + half))
    assert result[1:3] == pytest.approx((0.04598297, 0.21675931), abs=1e-8)


@pytest.mark.parametrize(("share", "se", "sp"), [(0.5, 0.95, 0.95), (0.1, 0.9, 0.97), (0.9, 0.97, 0.9)])
def test_intervals_of_corrected_shares_hold_the_truth(share: float, se: float, sp: float) -> None:
    """In 95 of 100 draws, up to the method's own slack (its paper: 94 to 98) and the chance of 2,000 draws."""
    random = np.random.default_rng(0)
    held = 0
    for _ in range(2000):
        positive = random.binomial(200, share * se + (1 - share) * (1 - sp))
        result = corrected_share(positive, 200, (random.binomial(60, se), 60), (random.binomial(60, sp), 60))
        held += result.lower <= share <= result.upper
    assert 0.94 <= held / 2000 <= 0.985


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((5, 10, (5, 10), (5, 10)), "sensitivity + specificity is not above 1"),
        ((5, 10, (2, 10), (5, 10)), "sensitivity + specificity is not above 1"),
        ((5, 10, (0, 0), (5, 10)), "no response of the sample is correct"),
        ((5, 10, (5, 10), (0, 0)), "no response of the sample is incorrect"),
        ((0, 0, (9, 10), (9, 10)), "no verdict"),
    ],
)
def test_where_no_correction_is_possible(arguments: tuple, reason: str) -> None:
    assert corrected_share(*arguments) == (None, None, None, reason)


def test_samples_of_next_to_nothing_exclude_nothing() -> None:
    """1 of 1 and 1 of 10 become 2 of 3 and 2 of 12, which add up to less than 1."""
    assert corrected_share(5, 10, (1, 1), (1, 10))[1:3] == (0, 1)


def test_equal_weights_are_worth_their_number() -> None:
    assert weighted_sample_size([2.5] * 8) == pytest.approx(8)
    # (3 + 1)^2 / (9 + 1)
    assert weighted_sample_size([3, 1]) == pytest.approx(1.6)
    assert weighted_sample_size([]) == 0


def test_copies_of_a_row_are_worth_one() -> None:
    assert clustered_sample_size([True, True, True, True, False, False], [0, 0, 1, 1, 2, 2]) == pytest.approx(3)
    # By hand: the items' sums about the share of 1/2 are 1, -1 and 0; 36 x 1/4 / (1 + 1).
    assert clustered_sample_size([True, True, False, False, True, False], [7, 7, 8, 8, 9, 9]) == pytest.approx(4.5)
    assert clustered_sample_size([True, False, True], [1, 2, 3]) == 3
    assert clustered_sample_size([True] * 6, [1, 1, 1, 2, 2, 2]) == 2
