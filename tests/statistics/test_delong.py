"""DeLong's interval against a hand-worked value, the definition and a bootstrap."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from entropy_sentinel.statistics.auroc import estimate_auc, measure_auroc_interval

VALUES, CORRECT = [1.0, 2.0, 2.0, 3.0, 0.5], [True, True, False, False, True]


def test_variance_worked_by_hand():
    # Shares of the correct below each incorrect value: 5/6, 1; of the incorrect above each correct one: 1, 3/4, 1.
    # Their variances, (1/12)^2 * 2 = 1/72 and (1 + 4 + 1)/144 / 2 = 1/48, over 2 and 3: 1/144 + 1/144.
    area, variance = estimate_auc(np.array([2.0, 3.0]), np.array([1.0, 2.0, 0.5]))
    assert area == pytest.approx(11 / 12, abs=1e-15)
    assert variance == pytest.approx(1 / 72, abs=1e-15)
    result = measure_auroc_interval(VALUES, CORRECT, larger_is_confident=False)
    assert result.lower == pytest.approx(11 / 12 - 1.959963984540054 * (1 / 72) ** 0.5, abs=1e-12)
    assert result.upper == 1


def test_the_interval_of_a_confidence_is_turned_round():
    result = measure_auroc_interval(VALUES, CORRECT, larger_is_confident=False)
    turned = measure_auroc_interval(VALUES, CORRECT, larger_is_confident=True)
    assert turned.auroc == pytest.approx(1 - result.auroc)
    assert (turned.lower, turned.upper) == (0, pytest.approx(1 - result.lower))


def test_it_agrees_with_the_definition_and_a_bootstrap():
    random = np.random.default_rng(3)
    # Rounded, so that there are ties within and between the classes.
    wrong, right = random.normal(0.8, 1, 150).round(1), random.normal(0, 1, 250).round(1)
    pairs = (wrong[:, None] > right) + 0.5 * (wrong[:, None] == right)  # (150, 250)
    variance = pairs.mean(1).var(ddof=1) / 150 + pairs.mean(0).var(ddof=1) / 250
    assert estimate_auc(wrong, right) == (pytest.approx(pairs.mean(), abs=1e-12), pytest.approx(variance, abs=1e-12))
    labels = [False] * 150 + [True] * 250
    result = measure_auroc_interval([*wrong, *right], labels, larger_is_confident=False)
    drawn = [
        pairs[np.ix_(random.integers(0, 150, 150), random.integers(0, 250, 250))].mean() for _ in range(2000)
    ]  # resampling within the classes
    assert (result.lower, result.upper) == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.008)
    assert result.auroc == pytest.approx(roc_auc_score(~np.array(labels), [*wrong, *right]), abs=1e-12)


def test_classes_of_one_response_or_without_overlap_have_no_interval():
    for values, correct in (([1.0, 2, 3], [True, True, False]), ([1.0, 2, 3, 4], [True, True, False, False])):
        assert measure_auroc_interval(values, correct, larger_is_confident=False) == (1, None, None, None)
    assert measure_auroc_interval([0.1], [True], larger_is_confident=False) == (
        None,
        None,
        None,
        "no incorrect response",
    )


def test_answers_to_one_question_are_clusters():
    # The values above, worked by hand. Shares less the area 11/12: incorrect -1/12, 1/12; correct 1/12, -1/6, 1/12.
    # Items: the first correct and the first incorrect answer are to one question, all others to one each: 4 items, 2
    # with an incorrect answer, 3 with a correct one. Obuchowski's terms: (1 + 1)/144 * 2/1 / 4 = 1/144,
    # (1 + 4 + 1)/144 * 3/2 / 9 = 1/144, and 2 * (-1/12)(1/12) * 4/3 / 6 = -4/1296.
    wrong, right = np.array([2.0, 3.0]), np.array([1.0, 2.0, 0.5])
    _, variance = estimate_auc(wrong, right, np.array([0, 1]), np.array([0, 2, 3]))
    assert variance == pytest.approx(2 / 144 - 4 / 1296, abs=1e-15)
    # Two correct answers to one question: their sums are 1/12 - 1/6 = -1/12 and 1/12; 2 items: (1 + 1)/144 * 2/1 / 9.
    _, variance = estimate_auc(wrong, right, np.array([0, 1]), np.array([2, 2, 3]))
    assert variance == pytest.approx(1 / 144 + 2 / 144 * 2 / 9, abs=1e-15)


def test_copies_of_every_answer_leave_the_interval_unchanged():
    random = np.random.default_rng(4)
    values, correct, items = random.normal(size=60), random.random(60) < 0.5, np.arange(60)
    once = measure_auroc_interval(values, correct, larger_is_confident=True)
    copied = measure_auroc_interval(
        np.tile(values, 3), np.tile(correct, 3), larger_is_confident=True, items=np.tile(items, 3)
    )
    assert copied[:3] == pytest.approx(once[:3], abs=1e-12)
    assert measure_auroc_interval(np.tile(values, 3), np.tile(correct, 3), larger_is_confident=True).lower > once.lower
