"""Adjusted intervals against MAPIE and crepes, by hand, and how often they hold over redraws."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from papers.intervals.coverage_adjustment import StatedIntervals, fit_adjustment
from papers.intervals.interval_exhibits import ADJUSTMENTS

from entropy_sentinel.statistics.conformal import contains_truth

GOLDEN = json.loads((Path(__file__).parent / "golden" / "adjustments.json").read_text())
FOUND = [
    pytest.param(case, name, one["level"], one[name], id=f"{name}-{case['n']}-{one['level']}")
    for case in GOLDEN["cases"]
    for one in case["found"]
    for name in ("conformal", "mondrian", "cqr")
    if name in one
]


def calibration_and_new(case: dict, upper: str = "upper") -> tuple[StatedIntervals, list, StatedIntervals]:
    n = case["n"]
    given = [np.array(case[name], dtype=float) for name in ("lower", upper, "covariate")]
    group = np.array(case["group"])
    halves = [
        StatedIntervals(*(one[which] for one in (*given[:2], given[2][:, None], group)))
        for which in (np.s_[:n], np.s_[n:])
    ]
    return halves[0], case["true"][:n], halves[1]


@pytest.mark.parametrize(("case", "name", "level", "expected"), FOUND)
def test_intervals_are_those_of_mapie_and_crepes(case: dict, name: str, level: float, expected: list) -> None:
    # crepes takes a single number for each question: the lower end here.
    calibration, true, new = calibration_and_new(case, "lower" if name == "mondrian" else "upper")
    lower, upper = fit_adjustment(name, calibration, true, 1 - level).apply(new)
    expected_lower, expected_upper = np.array(expected).T
    kept = expected_lower <= expected_upper  # theirs may end before they begin
    assert kept.sum() >= 8
    np.testing.assert_allclose(lower[kept], expected_lower[kept], rtol=0, atol=2e-8)
    np.testing.assert_allclose(upper[kept], expected_upper[kept], rtol=0, atol=2e-8)


def test_the_catalogue_names_what_can_be_fitted() -> None:
    stated = StatedIntervals([0, 0, 0], [1, 1, 1], group=["a", "a", "a"])
    for name in ADJUSTMENTS:
        lower, upper = fit_adjustment(name, stated, [0, 1, 2], 0.5).apply(stated)
        assert lower.shape == upper.shape == (3,)
    with pytest.raises(ValueError, match="there is no adjustment platt; choose from base, conformal"):
        fit_adjustment("platt", stated, [0, 1, 2], 0.5)


def test_margins_by_hand() -> None:
    """Scores of four questions: -1, 0, 2 and 5. At 60 % the rank is ceil(0.6 * 5) = 3, at 40 % it is 2, at 20 % 1."""
    stated = StatedIntervals([0, 0, 0, 0], [2, 2, 2, 4])
    true, new = [1, 2, -2, 9], StatedIntervals([10], [20])
    for alpha, expected in ((0.4, (8, 22)), (0.6, (10, 20)), (0.8, (11, 19)), (0.2, (5, 25))):
        lower, upper = fit_adjustment("conformal", stated, true, alpha).apply(new)
        assert (lower[0], upper[0]) == expected
    # Over the width + 1: -1/3, 0, 2/3 and 1. Eleven times 2/3 for the new one.
    lower, upper = fit_adjustment("normalised", stated, true, 0.4).apply(new)
    assert (lower[0], upper[0]) == pytest.approx((10 - 22 / 3, 20 + 22 / 3), abs=1e-9)
    lower, upper = fit_adjustment("base", stated, true, 0.4).apply(new)
    assert (lower[0], upper[0]) == (10, 20)


def test_a_level_that_calibration_does_not_reach_is_infinite() -> None:
    stated, new = StatedIntervals([0] * 9, [1] * 9, group=["a"] * 9), StatedIntervals([0], [1], group=["a"])
    for name in ("conformal", "normalised", "mondrian", "cqr"):
        lower, upper = fit_adjustment(name, stated, range(9), 0.05).apply(new)
        assert (lower[0], upper[0]) == (-math.inf, math.inf)
    lower, upper = fit_adjustment("conformal", stated, range(9), 0.1).apply(new)
    assert (lower[0], upper[0]) == (-7, 8)  # nine scores reach 90 %: the largest is 8 - 1
    # 99.8 % of 500 is the last of them, of 498 none.
    scores = StatedIntervals(np.zeros(500), np.zeros(500))
    assert fit_adjustment("conformal", scores, np.arange(500), 1 - 0.998).margin == 499
    assert fit_adjustment("conformal", scores.rows(np.s_[:498]), np.arange(498), 1 - 0.998).margin == math.inf


def test_an_interval_that_shrinks_to_nothing_is_its_middle() -> None:
    wide = StatedIntervals([0, 0, 0], [10, 10, 10])
    adjustment = fit_adjustment("conformal", wide, [5, 5, 5], 0.5)
    assert adjustment.margin == -5
    lower, upper = adjustment.apply(StatedIntervals([0, 2], [20, 5]))
    assert (lower.tolist(), upper.tolist()) == ([5, 3.5], [15, 3.5])


def test_a_truth_on_an_adjusted_end_is_inside() -> None:
    """49 * (1 / 49) and the like miss by the last bit: an interval that is scaled to hold a truth must hold it."""
    assert 49 * (1 / 49) < 1
    for width in range(10, 60):
        for outside in (1, 2, 3, 5, 7, 11):
            stated = StatedIntervals([0], [width])
            lower, upper = fit_adjustment("normalised", stated, [width + outside], 0.5).apply(stated)
            assert contains_truth(lower, upper, [width + outside]).all()
            assert contains_truth(lower, upper, [-outside]).all()


def test_small_groups_are_put_together_until_they_reach_the_level() -> None:
    """At 80 % a group needs 4: `a` has 8 and its own margin, `b` and `c` with 3 and 2 have one together."""
    group = ["a"] * 8 + ["b"] * 3 + ["c"] * 2
    true = [1, 1, 1, 1, 1, 1, 1, 2, 10, 20, 30, 40, 50]
    calibration = StatedIntervals([0] * 13, [0] * 13, group=group)
    result = fit_adjustment("mondrian", calibration, true, 0.2)
    # ceil(0.8 * 9) = 8 of 8; ceil(0.8 * 6) = 5 of 5; of all, ceil(0.8 * 14) = 12 of 13.
    assert result.margins == {"a": 2, "b": 50, "c": 50}
    lower, upper = result.apply(StatedIntervals([0, 0, 0], [0, 0, 0], group=["c", "new", "a"]))
    assert upper.tolist() == [50, 40, 2]
    # Two are too few: the next larger group joins them, though it would do by itself.
    result = fit_adjustment("mondrian", calibration.rows(np.array([*range(8), 11, 12])), [*true[:8], 40, 50], 0.2)
    assert result.margins == {"a": 40, "c": 40}  # ceil(0.8 * 11) = 9 of 10
    with pytest.raises(ValueError, match="mondrian needs the group"):
        fit_adjustment("mondrian", StatedIntervals([0], [1]), [0], 0.1)


@pytest.mark.parametrize("seed", range(20))
def test_whatever_the_questions_are(seed: int) -> None:
    """A shift of all shifts the intervals, order says nothing, a higher level holds a lower one's intervals."""
    random = np.random.default_rng(seed)
    n, shift = int(random.integers(5, 60)), float(random.integers(-20, 20))
    stated, true = drawn(random, n + 20, whole=seed % 2 == 0)
    known, new = stated.rows(np.s_[:n]), stated.rows(np.s_[n:])
    shuffled = random.permutation(n)
    for name in ("base", "conformal", "normalised", "mondrian"):
        lower, upper = fit_adjustment(name, known, true[:n], 0.3).apply(new)
        assert (lower <= upper).all()
        moved = [
            StatedIntervals(*(end + shift for end in one.bounds), one.covariates, one.group) for one in (known, new)
        ]
        for result, expected in zip(
            fit_adjustment(name, moved[0], true[:n] + shift, 0.3).apply(moved[1]), (lower, upper), strict=True
        ):
            np.testing.assert_allclose(result, expected + shift, atol=2e-9)
        for result, expected in zip(
            fit_adjustment(name, known.rows(shuffled), true[:n][shuffled], 0.3).apply(new), (lower, upper), strict=True
        ):
            np.testing.assert_array_equal(result, expected)
        if name != "mondrian":  # which groups are put together depends on the level
            wider_lower, wider_upper = fit_adjustment(name, known, true[:n], 0.1).apply(new)
            assert ((wider_lower <= lower) & (upper <= wider_upper)).all()


@pytest.mark.parametrize(
    ("true", "alpha", "message"),
    [([1, 2], 0.0, "alpha is 1 - level"), ([1, 2], 90, "got 90"), ([1], 0.1, "there are 2 and 1")],
)
def test_what_cannot_be_fitted_is_refused(true: list, alpha: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit_adjustment("conformal", StatedIntervals([0, 0], [1, 1]), true, alpha)
    with pytest.raises(ValueError, match=message):
        fit_adjustment("base", StatedIntervals([0, 0], [1, 1]), true, alpha)


def drawn(rng: np.random.Generator, size: int, whole: bool) -> tuple[StatedIntervals, np.ndarray]:
    """Intervals that are too narrow, the more so for group b; `whole` numbers, or any."""
    group = np.where(rng.random(size) < 0.5, "a", "b")
    middle, width = rng.normal(0, 5, size), rng.uniform(0, 4, size)
    true = middle + rng.standard_t(3, size) * np.where(group == "a", 1, 3) * (1 + width) / 2
    ends = [middle - width / 2, middle + width / 2, true]
    lower, upper, true = (np.round(end) for end in ends) if whole else ends
    return StatedIntervals(lower, upper, rng.normal(size=(size, 1)), group), true


def coverages(
    name: str, n: int, levels: Sequence[float], whole: bool = False, redraws: int = 1000, group: str | None = None
) -> np.ndarray:
    """The share of 100 new questions that is covered at each level, mean over redraws of these and of n others."""
    shares = np.zeros((redraws, len(levels)))
    for seed in range(redraws):
        stated, true = drawn(np.random.default_rng([seed, n]), n + 100, whole)
        new = stated.rows(np.s_[n:])
        for place, level in enumerate(levels):
            inside = contains_truth(
                *fit_adjustment(name, stated.rows(np.s_[:n]), true[:n], 1 - level).apply(new), true[n:]
            )
            shares[seed, place] = (inside if group is None else inside[new.group == group]).mean()
    return shares.mean(axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 200, 500])
@pytest.mark.parametrize("name", ["conformal", "normalised"])
def test_coverage_over_1000_redraws_is_nominal(name: str, n: int) -> None:
    """Exactly rank / (n + 1) in expectation, where scores are continuous.

    The share in one redraw has a variance of p (1 - p) (1 / 100 + 1 / (n + 2)) or so: 0.052^2 at most, 0.0017^2 for the
    mean. At 99 % of 50 there is no such rank: all is covered.
    """
    levels = np.array([0.9, 0.95, 0.99])
    result, ranks = coverages(name, n, levels), np.ceil(levels * (n + 1) - 1e-9)
    np.testing.assert_allclose(result, np.minimum(ranks / (n + 1), 1), rtol=0, atol=4 * 0.0017)
    assert (np.abs(result - levels) < 0.02).all()


@pytest.mark.slow
def test_only_mondrian_covers_each_group() -> None:
    plain = {one: coverages("conformal", 200, [0.9], redraws=500, group=one)[0] for one in "ab"}
    own = {one: coverages("mondrian", 200, [0.9], redraws=500, group=one)[0] for one in "ab"}
    assert plain["a"] > 0.94 > 0.86 > plain["b"]
    # In a group of about 100, rank / (n + 1) is between 0.9 and 0.91.
    assert all(0.89 < share < 0.92 for share in own.values())


@pytest.mark.slow
def test_coverage_of_quantile_regression_is_nominal() -> None:
    """100 questions calibrate, so 91 of 101 in expectation; a redraw's share varies by 0.042, the mean by 0.003."""
    assert coverages("cqr", 200, [0.9], redraws=200) == pytest.approx(91 / 101, abs=0.012)


def test_an_end_that_is_far_beyond_all_answers_does_not_spoil_the_regression() -> None:
    """Of two hundred questions one is stated to reach 10^18; the others are as without it."""
    random = np.random.default_rng(3)
    true = random.integers(-5, 40, 200).astype(float)
    guess = true + random.normal(0, 2, 200).round()
    upper = guess + 1
    upper[4] = 1e18
    fitted = fit_adjustment("cqr", StatedIntervals(guess - 1, upper), true, 0.1)
    low, high = fitted.apply(StatedIntervals(guess[5:] - 1, upper[5:]))
    assert np.mean((low <= true[5:]) & (true[5:] <= high)) > 0.85
    assert np.mean(high - low) < 15
