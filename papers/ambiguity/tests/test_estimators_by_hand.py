"""SAR and the mutual information of iterative prompting: by hand and against LM-Polygraph."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from papers.ambiguity.signal_families.iterative_prompting.iterative_prompting_family import mutual_information
from papers.ambiguity.signal_families.sar.relevance import compute_sar
from scipy import stats

GOLDEN = json.loads((Path(__file__).parents[3] / "tests" / "golden" / "semantics.json").read_text())


@pytest.mark.parametrize("case", GOLDEN["sar"], ids=lambda case: str(len(case["token_logprobs"])))
def test_sar_is_that_of_lm_polygraph(case: dict) -> None:
    relevance = [1 - np.array(one) for one in case["token_similarity"]]
    result = compute_sar(case["token_logprobs"], relevance, np.array(case["similarity"]))
    assert result == pytest.approx(case["sar"], abs=1e-10)


def test_sar_by_hand() -> None:
    # Weights 3/4 and 1/4: probability exp(-(3/4 * 1 + 1/4 * 5)) = exp(-2). Alone, that is all.
    assert compute_sar([[-1, -5]], [[0.3, 0.1]], np.ones((1, 1))) == pytest.approx(2)
    # Where no token matters, all matter alike.
    assert compute_sar([[-1, -5]], [[0, 0]], np.ones((1, 1))) == pytest.approx(3)
    # Two answers of probability 1/2 and 1/4, half alike, temperature 1: 1/2 + 1/8 and 1/4 + 1/4.
    result = compute_sar([[math.log(1 / 2)], [math.log(1 / 4)]], [[1], [1]], np.full((2, 2), 0.5), temperature=1)
    assert result == pytest.approx(-(math.log(5 / 8) + math.log(1 / 2)) / 2)
    # Nothing alike: as likely as itself.
    assert compute_sar([[-900.0], [-1100.0]], [[1], [1]], np.zeros((2, 2))) == pytest.approx(1000)


def test_mutual_information_by_hand() -> None:
    """Whatever is in the prompt is said again: the information is the entropy. Where nothing changes, it is 0."""
    marginal = [0.5, 0.25, 0.25]
    assert mutual_information(marginal, np.eye(3)) == pytest.approx(1.5 * math.log(2), abs=1e-7)
    assert mutual_information(marginal, np.tile([0.2, 0.3, 0.5], (3, 1))) == pytest.approx(0, abs=1e-7)
    assert mutual_information([0.3], np.array([[0.2]])) == 0
    # Half of the time what is in the prompt: pairs 3/8, 1/8, 1/8 and 3/8 of margins 1/2.
    result = mutual_information([1, 1], np.array([[3, 1], [1, 3]]), 0, 0)
    assert result == pytest.approx(0.75 * math.log(1.5) + 0.25 * math.log(0.5), abs=1e-12)
    # Known up to a factor by row alone.
    assert mutual_information([2, 2], np.array([[30, 10], [1, 3]]), 0, 0) == pytest.approx(result, abs=1e-12)


def test_mutual_information_is_that_of_the_pairs() -> None:
    """I = H(first) + H(second) - H(both), by SciPy's entropies."""
    rng = np.random.default_rng(9)
    for n in (2, 4, 10):
        marginal, conditional = rng.random(n), rng.random((n, n))
        pairs = marginal[:, None] / marginal.sum() * conditional / conditional.sum(axis=1, keepdims=True)
        information = stats.entropy(pairs.sum(1)) + stats.entropy(pairs.sum(0)) - stats.entropy(pairs.ravel())
        assert mutual_information(marginal, conditional) == pytest.approx(information, abs=1e-6)
        damped = mutual_information(marginal, conditional, gamma_2=0.1)
        assert damped < information


@pytest.mark.parametrize(
    ("function", "given", "message"),
    [
        (compute_sar, ([[-1], [-2]], [[1], [1]], np.ones((1, 2))), r"similarity must be \(2, 2\)"),
        (compute_sar, ([[]], [[]], np.ones((1, 1))), "an answer needs tokens"),
        (mutual_information, ([1, 1], np.ones((2, 3))), r"must be \(2, 2\) for 2 answers, got \(2, 3\)"),
        (mutual_information, ([1, 1], np.array([[0, 0], [1, 1]])), "one is all 0"),
    ],
)
def test_what_does_not_fit_is_refused(function: Callable[..., float], given: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        function(*given)
