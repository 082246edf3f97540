"""Split conformal prediction against crepes, and by hand."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from entropy_sentinel.statistics.conformal import (
    can_reach_level,
    conformal_quantile,
    highest_level,
    measure_coverage,
    nonconformity_scores,
    quantile_rank,
)

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "conformal.json").read_text())


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: f"{len(case['residuals'])}-{case['level']}")
def test_intervals_are_those_of_crepes(case: dict) -> None:
    scores = np.abs(case["residuals"]) / case["difficulties"]
    half = conformal_quantile(scores, case["level"]) * np.array(GOLDEN["difficulties"])
    result = np.column_stack([np.array(GOLDEN["estimates"]) - half, np.array(GOLDEN["estimates"]) + half])
    np.testing.assert_allclose(result, case["intervals"], rtol=0, atol=1e-12)


def test_the_rank_by_hand() -> None:
    scores = [0.4, 0.1, 0.3, 0.2]
    # Ranks ceil(level * 5): 3, 4, and a fifth score that there is not.
    assert [conformal_quantile(scores, level) for level in (0.5, 0.6, 0.61, 0.8)] == [0.3, 0.3, 0.4, 0.4]
    assert conformal_quantile(scores, 0.81) == math.inf
    assert conformal_quantile([], 0.5) == math.inf
    assert [quantile_rank(4, level) for level in (0.5, 0.6, 0.61, 0.8, 0.81)] == [3, 3, 4, 4, 5]
    # The last of 500 at 99.8 %, as alpha gives it: 1 - (1 - 0.998) is 0.998 but for the last bit.
    assert [quantile_rank(500, level) for level in (0.9, 0.95, 0.99, 1 - (1 - 0.998))] == [451, 476, 496, 500]


def test_nonconformity_by_hand() -> None:
    """Below, on an end, inside by the nearer end, above, and beside a single number."""
    result = nonconformity_scores([2, 2, 2, 2, 7], [6, 6, 6, 6, 7], [-1, 6, 3, 10, 8])
    assert result.tolist() == [3, 0, -1, 4, 1]


@pytest.mark.parametrize(("k", "level"), [(4, 0.8), (9, 0.9), (19, 0.95)])
def test_k_scores_reach_k_of_k_plus_1(k: int, level: float) -> None:
    assert highest_level(k) == pytest.approx(level)
    assert can_reach_level(k, level)
    assert not can_reach_level(k - 1, level)
    assert conformal_quantile(np.arange(k), level) == k - 1
    assert conformal_quantile(np.arange(k - 1), level) == math.inf


def test_the_new_score_is_covered_as_often_as_promised() -> None:
    """Any continuous distribution will do: 20,000 draws of nine scores and a tenth."""
    drawn = np.random.default_rng(3).lognormal(size=(20_000, 10))
    for level, exact in {0.5: 0.5, 0.75: 0.8, 0.9: 0.9}.items():
        covered = np.mean([row[-1] <= conformal_quantile(row[:-1], level) for row in drawn])
        assert covered == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 20_000))


def test_coverage_counts_the_ends() -> None:
    result = measure_coverage([0.0, 0.2, 0.4], [0.1, 0.3, 0.5], [0.1, 0.2, 0.6])
    assert result.estimate == pytest.approx(2 / 3)
    expected = binomtest(2, 3).proportion_ci(0.95, method="wilson")
    assert (result.lower, result.upper) == (pytest.approx(expected.low), pytest.approx(expected.high))
