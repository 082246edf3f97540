"""AUC_c against lifelines, a slow form over all pairs, and derivatives by weights; the AUROC at a threshold."""

import json
import math
import time
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from papers.ambiguity.concordance import measure_concordance, measure_separation
from scipy import stats
from sklearn.metrics import roc_auc_score

GOLDEN = json.loads((Path(__file__).parents[3] / "tests" / "golden" / "semantics.json").read_text())


def slow(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """Every pair by itself; a pair weighs the product of its questions' weights."""
    in_order = pairs = 0.0
    for i, j in combinations(range(len(x)), 2):
        if x[i] != x[j]:
            weight = weights[i] * weights[j]
            pairs += weight
            in_order += weight * (0.5 if y[i] == y[j] else (x[i] > x[j]) == (y[i] > y[j]))
    return in_order / pairs


@pytest.mark.parametrize("case", GOLDEN["concordance"], ids=lambda case: str(len(case["estimator"])))
def test_it_is_that_of_lifelines(case: dict) -> None:
    result = measure_concordance(case["estimator"], case["epistemic"])
    assert result.auc_c == pytest.approx(case["index"], abs=1e-12)


@pytest.mark.parametrize(("n", "n_values"), [(2, 50), (3, 2), (40, 3), (41, 8), (64, 1000), (65, 1)])
def test_it_is_the_slow_form(n: int, n_values: int) -> None:
    rng = np.random.default_rng(n)
    x, y = rng.integers(n_values, size=n) / 7, rng.integers(5, size=n) / 3
    x[:2] = [0.1, 0.2]
    assert measure_concordance(x, y).auc_c == pytest.approx(slow(x, y, np.ones(n)), abs=1e-12)


def test_ties_by_hand() -> None:
    """Estimators 0, 0, 1, 2: of six pairs the first is out. In order: (0,2) and (1,3); half: (1,2); not: the rest."""
    result = measure_concordance([0, 0, 1, 2], [0.1, 0.5, 0.5, 0.4])
    # (0,2) 0.1<0.5 yes, (0,3) 0.1<0.4 yes, (1,2) equal, (1,3) 0.5>0.4 no, (2,3) 0.5>0.4 no
    assert result.auc_c == pytest.approx(2.5 / 5)
    assert (result.tied, result.alike) == (pytest.approx(1 / 6), pytest.approx(1 / 5))


def test_the_interval_is_from_derivatives_by_weights() -> None:
    rng = np.random.default_rng(4)
    x = rng.integers(6, size=30).astype(float)
    y = x + rng.normal(size=30).round(1) * 3
    ones, step = np.ones(30), 1e-5
    derivatives = [(slow(x, y, ones + step * one) - slow(x, y, ones - step * one)) / (2 * step) for one in np.eye(30)]
    half = stats.norm.ppf(0.975) * math.sqrt(np.square(derivatives).sum())
    result = measure_concordance(x, y)
    assert result.auc_c is not None
    assert (result.lower, result.upper) == pytest.approx((result.auc_c - half, result.auc_c + half), abs=1e-8)


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    """Two normal variables with correlation r: the probability of a pair in order is 1/2 + asin(r) / pi."""
    rng, r = np.random.default_rng(8), 0.3
    truth, inside = 0.5 + math.asin(r) / math.pi, 0
    for _ in range(500):
        x = rng.normal(size=80)
        result = measure_concordance(x, r * x + math.sqrt(1 - r * r) * rng.normal(size=80))
        inside += result.lower <= truth <= result.upper
    assert inside / 500 == pytest.approx(0.95, abs=0.03)


def test_what_has_no_concordance_says_why() -> None:
    assert measure_concordance([1], [2]) == (None, None, None, None, None, "1 items, 2 are needed")
    result = measure_concordance([0, 0, 0], [1, 2, 3])
    assert (result.auc_c, result.tied, result.reason) == (None, 1, "the estimator is the same for all items")
    # All in order: nothing varies.
    assert measure_concordance([1, 2, 3], [1, 2, 3])[:3] == (1, None, None)
    assert measure_concordance([3, 2, 1], [1, 2, 3])[:3] == (0, None, None)


@pytest.mark.long
def test_many_items_take_no_time_for_each_pair() -> None:
    """200,000 questions have 2e10 pairs: Kendall's tau-b without ties is 2 AUC_c - 1."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=200_000)
    y = x + 2 * rng.normal(size=200_000)
    start = time.process_time()
    result = measure_concordance(x, y)
    # 6 to 13 seconds by machine and load; all pairs would take minutes.
    assert time.process_time() - start < 40
    assert result.auc_c is not None
    assert 2 * result.auc_c - 1 == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)


def test_the_auroc_at_a_threshold() -> None:
    rng = np.random.default_rng(6)
    epistemic = rng.exponential(size=60)
    estimator = epistemic + rng.normal(size=60)
    for threshold in (math.log(1.5), math.log(2), math.log(3)):
        result = measure_separation(estimator, epistemic, threshold)
        assert result.auroc == pytest.approx(roc_auc_score(epistemic >= threshold, estimator), abs=1e-12)
        assert result.lower < result.auroc < result.upper
    # A question at the threshold is on its upper side.
    assert measure_separation([1, 2], [0.5, 1.0], 1.0).auroc == 1


def test_an_auroc_needs_both_sides() -> None:
    assert measure_separation([1, 2], [0.1, 0.2], 1.0) == (None, None, None, "no item is at or above it")
    assert measure_separation([1, 2], [1.1, 1.2], 1.0) == (None, None, None, "no item is below it")
    assert measure_separation([], [], 1.0) == (None, None, None, "no items")
