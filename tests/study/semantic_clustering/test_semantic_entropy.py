"""Semantic entropy: by hand and against LM-Polygraph."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from entropy_sentinel.study.semantic_clustering.semantic_entropy import (
    class_masses,
    class_probabilities,
    semantic_entropy,
)

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "semantics.json").read_text())


def test_class_probabilities_by_hand() -> None:
    """Samples of probability 1/2, 1/8, 1/8 and 1/4; the second and third are one text, which counts twice."""
    logprobs = np.log([1 / 2, 1 / 8, 1 / 8, 1 / 4])
    np.testing.assert_allclose(class_probabilities([0, 1, 1, 0], logprobs), [3 / 4, 1 / 4], atol=1e-15)
    np.testing.assert_allclose(class_probabilities([0, 1, 1, 0]), [1 / 2, 1 / 2], atol=1e-15)
    np.testing.assert_allclose(class_masses([0, 1, 1, 0], logprobs), np.log([3 / 4, 1 / 4]), atol=1e-15)
    # Answers of hundreds of tokens, whose probabilities are 0 in floating point.
    np.testing.assert_allclose(class_probabilities([0, 1], [-2000, -2000 - math.log(3)]), [3 / 4, 1 / 4], atol=1e-12)


@pytest.mark.parametrize("case", GOLDEN["entropy"], ids=lambda case: str(len(case["classes"])))
def test_entropies_are_those_of_lm_polygraph(case: dict) -> None:
    """Its frequency form is ours without log-probabilities; its usual one is the mean over samples of minus the mass.

    Ours with them is Farquhar's Rao form, for which the masses are normalised first.
    """
    classes, logprobs = np.array(case["classes"]), np.array(case["logprobs"])
    assert semantic_entropy(class_probabilities(classes)) == pytest.approx(case["frequency"], abs=1e-12)
    masses = class_masses(classes, logprobs)
    assert -masses[classes].mean() == pytest.approx(case["sum"], abs=1e-12)
    likely = np.array([np.exp(logprobs[classes == index]).sum() for index in range(classes.max() + 1)])
    result = semantic_entropy(class_probabilities(classes, logprobs))
    assert result == pytest.approx(stats.entropy(likely / likely.sum()), abs=1e-12)


def test_semantic_entropy_by_hand() -> None:
    assert semantic_entropy([1.0]) == semantic_entropy([1.0, 0.0]) == 0
    assert semantic_entropy([0.5, 0.25, 0.25]) == pytest.approx(1.5 * math.log(2))
