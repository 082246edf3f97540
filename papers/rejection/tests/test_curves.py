"""Accuracy-rejection curves against hand-worked values, brute force over orders of ties, and LM-Polygraph's area."""

import json
from fractions import Fraction
from itertools import groupby, permutations, product
from pathlib import Path

import numpy as np
import pytest
from papers.rejection.rejection_curves import apply_threshold, compute_accuracy_curve, find_threshold, measure_curves

from entropy_sentinel.statistics.bootstrap import draw_resamples, percentile_interval

GOLDEN = json.loads((Path(__file__).parent / "golden" / "rejection.json").read_text())["cases"]
SCORES, CORRECT = [0.9, 0.8, 0.7, 0.6, 0.5], [True, True, False, True, False]
# Accuracies of the first 1 to 5: 1, 1, 2/3, 3/4, 3/5.
CURVE = [Fraction(1), Fraction(1), Fraction(2, 3), Fraction(3, 4), Fraction(3, 5)]


def auarc(scores, correct) -> float:
    return float(measure_curves(scores, correct).auarc[0])


def coverage_at(accuracy, scores, correct) -> float:
    return float(measure_curves(scores, correct, [accuracy]).coverage[0, 0])


def by_brute_force(scores, correct) -> list[Fraction]:
    """The mean curve over every order of the tied responses, in exact arithmetic."""
    rows = sorted(range(len(scores)), key=lambda row: -scores[row])
    blocks = [list(block) for _, block in groupby(rows, key=lambda row: scores[row])]
    curves = []
    for order in product(*(permutations(block) for block in blocks)):
        labels = [int(correct[row]) for block in order for row in block]
        curves.append([Fraction(sum(labels[:m]), m) for m in range(1, len(labels) + 1)])
    return [sum(column) / len(curves) for column in zip(*curves, strict=True)]


def largest_coverage(accuracies: list[Fraction], least: Fraction) -> float:
    return max([m for m, accuracy in enumerate(accuracies, 1) if accuracy >= least], default=0) / len(accuracies)


def tied_cases(n_cases: int, seed: int = 3) -> list[tuple[list[float], list[bool]]]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 8, size=n_cases)
    return [((rng.integers(4, size=n) / 8).tolist(), (rng.random(n) < 0.6).tolist()) for n in sizes]


def test_normalised_area_by_hand():
    # Perfect order of three correct of five: 1, 1, 1, 3/4, 3/5. Random order: 3/5 at every coverage.
    best, random = Fraction(87, 20) / 5, Fraction(3, 5)
    result = measure_curves(SCORES, CORRECT).prr[0]
    assert result == pytest.approx(float((sum(CURVE) / 5 - random) / (best - random)), abs=1e-12)
    assert measure_curves([3, 2, 1, 0], [True, True, False, False]).prr[0] == pytest.approx(1, abs=1e-12)
    assert measure_curves([0, 1, 2, 3], [True, True, False, False]).prr[0] < 0
    assert measure_curves([1, 1, 1, 1], [True, True, False, False]).prr[0] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"{len(case['scores'])} in {case['orders']} orders")
def test_area_is_lm_polygraphs_prediction_rejection_area(case):
    assert auarc(case["scores"], case["correct"]) == pytest.approx(case["area"], abs=1e-12)


@pytest.mark.parametrize(("scores", "correct"), tied_cases(40))
def test_ties_are_averaged_over_their_orders(scores, correct):
    expected = by_brute_force(scores, correct)
    assert compute_accuracy_curve(scores, correct) == pytest.approx([float(one) for one in expected], abs=1e-12)
    assert auarc(scores, correct) == pytest.approx(float(sum(expected) / len(expected)), abs=1e-12)
    for least in (Fraction(1, 2), Fraction(4, 5), Fraction(9, 10), Fraction(19, 20), Fraction(1)):
        assert coverage_at(float(least), scores, correct) == largest_coverage(expected, least)


def test_a_part_of_a_block_of_ties_can_be_kept():
    # Two correct ones, then four tied ones of which one is correct: 2, 2.25, 2.5, 2.75, 3 correct of 2, 3, 4, 5, 6.
    scores, correct = [2, 2, 1, 1, 1, 1], [True, True, True, False, False, False]
    assert coverage_at(0.75, scores, correct) == 3 / 6
    assert coverage_at(0.625, scores, correct) == 4 / 6


@pytest.mark.parametrize(("n_correct", "n"), [(19, 20), (9, 10), (4, 5), (57, 60)])
def test_an_accuracy_that_is_just_reached_counts(n_correct, n):
    correct = [True] * n_correct + [False] * (n - n_correct)
    assert coverage_at(n_correct / n, [0.3] * n, correct) == 1
    assert coverage_at(n_correct / n, list(range(n, 0, -1)), correct) == 1
    assert coverage_at(n_correct / n + 1e-6, [0.3] * n, correct) == 0


@pytest.mark.parametrize("constant", [True, False])
def test_responses_of_one_class(constant):
    result = measure_curves([0.1, 0.5, 0.5], [constant] * 3, [0.8])
    assert result.auarc[0] == pytest.approx(float(constant), abs=1e-12)
    assert result.coverage[0, 0] == float(constant)
    assert np.isnan(result.prr[0])


@pytest.mark.parametrize(("scores", "correct"), [([], []), ([0.5, float("nan")], [True, False])])
def test_what_cannot_be_ordered_is_refused(scores, correct):
    with pytest.raises(ValueError, match="at least one number and no NaN"):
        auarc(scores, correct)


def test_measures_of_samples_are_those_of_the_responses_written_out():
    rng = np.random.default_rng(0)
    scores, correct = rng.integers(12, size=40) / 16, rng.random(40) < 0.6
    counts = np.concatenate([np.eye(40, dtype=int)[:2], *draw_resamples(np.arange(40) // 2, 20, seed=1)])
    result = measure_curves(scores, correct, [0.6, 0.8], counts)
    for sample, drawn in enumerate(counts):
        written = np.repeat(np.arange(40), drawn)
        alone = measure_curves(scores[written], correct[written], [0.6, 0.8])
        assert result.auarc[sample] == pytest.approx(alone.auarc[0], abs=1e-12)
        assert result.prr[sample] == pytest.approx(alone.prr[0], abs=1e-9, nan_ok=True)
        assert result.coverage[sample].tolist() == alone.coverage[0].tolist()


def test_items_are_drawn_with_all_their_responses():
    items = ["a", "b", "a", "c", "c", "c"]
    counts = np.concatenate(list(draw_resamples(items, 500, seed=5)))
    assert (counts[:, 0] == counts[:, 2]).all()
    assert (counts[:, 3] == counts[:, 4]).all()
    assert (counts[:, [0, 1, 3]].sum(axis=1) == 3).all()  # as many items as there are
    assert counts[:, [0, 1, 3]].mean(axis=0) == pytest.approx([1, 1, 1], abs=0.12)  # standard error 0.036


def test_resamples_are_the_same_for_the_same_seed_and_come_in_parts(monkeypatch):
    items = [f"{number}" for number in range(10)]
    whole = np.concatenate(list(draw_resamples(items, 25, seed=5)))
    assert (np.concatenate(list(draw_resamples(items, 25, seed=5))) == whole).all()
    assert (np.concatenate(list(draw_resamples(items, 25, seed=6))) != whole).any()
    monkeypatch.setattr("entropy_sentinel.statistics.bootstrap.MAX_CELLS", 40)
    parts = list(draw_resamples(items, 25, seed=5))
    assert [len(part) for part in parts] == [4] * 6 + [1]
    assert (np.concatenate(parts) == whole).all()


def test_interval_leaves_out_samples_without_a_value():
    assert percentile_interval(np.array([np.nan, 1.0, np.nan])) == (1, 1)
    assert percentile_interval(np.array([np.nan])) == (None, None)


@pytest.mark.parametrize(
    ("accuracy", "expected"),
    # From .9 on 1 of 1, from .8 on 2 of 3, from .6 on 3 of 4, from .5 on 3 of 5 are correct.
    [(1.0, 0.9), (0.8, 0.9), (0.75, 0.6), (0.7, 0.6), (0.6, 0.5), (0.1, 0.5)],
)
def test_a_threshold_is_the_lowest_score_from_which_on_enough_are_correct(accuracy, expected):
    scores, correct = [0.5, 0.8, 0.6, 0.9, 0.8], [False, True, True, True, False]
    assert find_threshold(accuracy, scores, correct) == expected


def test_no_threshold_where_none_is_accurate_enough():
    # From .9 on none of 1, from .5 on 1 of 2; a tie of a right and a wrong one is kept as a whole.
    assert find_threshold(0.6, [0.9, 0.5], [False, True]) is None
    assert find_threshold(0.6, [0.9, 0.9, 0.5], [True, False, True]) == 0.5
    assert find_threshold(0.7, [0.9, 0.9, 0.5], [True, False, True]) is None
    assert find_threshold(0.1, [], []) is None


def test_what_a_threshold_keeps_of_samples():
    counts = np.array([[1, 1, 1], [2, 1, 0], [0, 0, 3]])
    share, accuracy = apply_threshold(0.6, [0.7, 0.6, 0.2], [True, False, True], counts)
    assert share.tolist() == pytest.approx([2 / 3, 1, 0])
    assert accuracy.tolist() == pytest.approx([1 / 2, 2 / 3, np.nan], nan_ok=True)
    assert [one.tolist() for one in apply_threshold(0.2, [0.7, 0.2], [True, False])] == [[1], [0.5]]
