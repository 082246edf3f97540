"""Smallest sets of answers with a share of a model's own probability, and the temperature that calibrates them.

Source: Epstein et al., FermiEval (2025), section "Direct model elicitation via Log Probabilities".
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from entropy_sentinel.statistics.array_types import Numbers
from papers.intervals.interval_score import compute_winkler_scores

# Sums of shares have rounding errors in their last bits: 0.6 + 0.3 must not exceed 0.9.
_TOLERANCE = 1e-9


class Distribution(NamedTuple):
    """A model's distribution for one question: distinct `values` and `probabilities` that sum to 1, (k,) each."""

    values: np.ndarray
    probabilities: np.ndarray

    def scale(self, temperature: float) -> "Distribution":
        """P^(1 / temperature), normalised: flatter above 1. Raises ValueError unless it is above 0."""
        if not temperature > 0:
            raise ValueError(f"temperature must be above 0, got {temperature}")
        powers = (self.probabilities / self.probabilities.max()) ** (1 / temperature)
        return Distribution(self.values, powers / powers.sum())


def find_smallest_set(values: Numbers, probabilities: Numbers, coverage: float) -> np.ndarray:
    """The smallest sorted set of values with a total probability above `coverage`, from distinct values, (k,).

    The likeliest are added first, of ties the smaller value. Returns all values if their sum does not exceed
    `coverage`.
    """
    values, probabilities = np.asarray(values, dtype=float), np.asarray(probabilities, dtype=float)
    order = np.lexsort((values, -probabilities))
    is_enough = np.cumsum(probabilities[order]) > coverage + _TOLERANCE
    size = int(is_enough.argmax()) + 1 if is_enough.any() else len(values)
    return np.sort(values[order[:size]])


def compute_hulls(distributions: Sequence[Distribution], coverage: float) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the smallest interval around each question's smallest set: lower and upper, (n,) each."""
    sets = [find_smallest_set(*distribution, coverage) for distribution in distributions]
    lower, upper = [values[0] for values in sets], [values[-1] for values in sets]
    return np.array(lower, dtype=float), np.array(upper, dtype=float)


def find_best_temperature(
    distributions: Sequence[Distribution], true: Numbers, alphas: Sequence[float], grid: Sequence[float]
) -> float:
    """The temperature of the grid whose intervals have the smallest mean interval score over questions and levels.

    An interval is around the smallest set of a question's scaled distribution. `distributions` and `true` are those of
    the n calibration questions, `alphas` is 1 - level for each level. Of equals, the first.
    """

    def score(temperature: float) -> float:
        """The mean score at this temperature."""
        scaled = [distribution.scale(temperature) for distribution in distributions]
        scores = []
        for alpha in alphas:
            lower, upper = compute_hulls(scaled, 1 - alpha)
            scores.append(compute_winkler_scores(lower, upper, true, alpha))
        return float(np.mean(scores))

    return min(grid, key=score)
