"""Estimates are those of ppi-python; intervals cover whatever the predictions, no wider than those of labels alone."""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from labelled_slices import KINDS, labelled_slice
from scipy.stats import beta, binom, norm

from entropy_sentinel.statistics.binomial import binomial_interval
from entropy_sentinel.statistics.monitoring.prediction_powered import (
    effective_label_count,
    labelled_mean,
    prediction_powered_mean,
)

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "prediction_powered.json").read_text())
CASES = [pytest.param(case, id=f"{case['kind']}-{len(case['labels'])}") for case in GOLDEN["cases"]]
LEVEL = GOLDEN["level"]


@pytest.mark.parametrize("case", CASES)
def test_estimate_is_that_of_ppi_python(case: dict) -> None:
    """Theirs has predictions of the others in the place of those of all: the same with another power."""
    labels, predicted = np.array(case["labels"]), np.array(case["predicted"])
    others = 1 - len(labels) / len(predicted)
    given = labels, predicted[: len(labels)], predicted, LEVEL
    tuned, power = prediction_powered_mean(*given), case["power"] / others
    assert tuned.power == pytest.approx(min(max(power, 0), 1), abs=1e-12)
    if power <= 1:
        assert tuned.estimate == pytest.approx(case["tuned"], abs=1e-12)
    assert prediction_powered_mean(*given, power=0.5 / others).estimate == pytest.approx(case["half"], abs=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_weighted_estimate_is_that_of_ppi_python(case: dict) -> None:
    """Theirs has half the mean prediction of the others, ours of all."""
    labels, predicted, weights = (np.array(case[name]) for name in ("labels", "predicted", "weights"))
    n = len(labels)
    result = prediction_powered_mean(labels, predicted[:n], predicted, LEVEL, weights, power=0.5)
    shift = 0.5 * (predicted.mean() - predicted[n:].mean())
    assert result.estimate - shift == pytest.approx(case["half_weighted"], abs=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_interval_of_many_labels_is_that_of_ppi_python(case: dict) -> None:
    """Both are normal then; with few labels theirs is too narrow near 0 and 1, and ours is another."""
    labels, predicted = np.array(case["labels"]), np.array(case["predicted"])
    n = len(labels)
    power = np.clip(case["power"], 0, 1) / (1 - n / len(predicted))
    result = prediction_powered_mean(labels, predicted[:n], predicted, LEVEL, power=power)
    alone = labelled_mean(labels, LEVEL)
    for ours, theirs in ((result, case["interval"]), (alone, case["interval_alone"])):
        wider = (ours.upper - ours.lower) / (theirs[1] - theirs[0])
        assert 0.97 < wider < {30: 1.12, 200: 1.04, 2000: 1.02}[n]
        assert abs(ours.lower - theirs[0]) < {30: 0.04, 200: 0.01, 2000: 0.001}[n]


@pytest.mark.parametrize(("right", "n"), [(0, 30), (1, 30), (15, 30), (29, 30), (30, 30), (97, 100)])
def test_interval_lies_between_those_of_mid_p_and_clopper_pearson(right: int, n: int) -> None:
    lower, upper = binomial_interval(right / n, n, 0.9)
    theirs = (
        beta.ppf(0.05, right, n - right + 1) if right else 0,
        beta.ppf(0.95, right + 1, n - right) if right < n else 1,
    )
    assert theirs[0] <= lower <= right / n <= upper <= theirs[1]
    # By the definition: as much or more is seen with a probability of 5 %, where three quarters of as much count.
    if right:
        assert binom.sf(right, n, lower) + 0.75 * binom.pmf(right, n, lower) == pytest.approx(0.05, abs=1e-9)
    if right < n:
        assert binom.cdf(right - 1, n, upper) + 0.75 * binom.pmf(right, n, upper) == pytest.approx(0.05, abs=1e-9)


@pytest.mark.parametrize("n", [30, 60, 100, 400])
def test_coverage_of_labels_without_predictions_at_any_accuracy(n: int) -> None:
    """Summed over all counts that can be seen: short of the level by 2 points at most, by 3 at 80 %."""
    seen, accuracies = np.arange(n + 1), np.linspace(0.002, 0.5, 250)
    for level, short in ((0.8, 0.03), (0.9, 0.0215), (0.95, 0.02)):
        lower, upper = np.array([binomial_interval(one / n, n, level) for one in seen]).T
        covered = [
            binom.pmf(seen, n, accuracy)[(lower <= accuracy) & (accuracy <= upper)].sum() for accuracy in accuracies
        ]
        assert min(covered) >= level - short
        assert np.mean(covered) < level + (0.09 if n < 100 else 0.06)


def test_all_correct_is_not_proof() -> None:
    """30 of 30: the normal interval is [1, 1]; by the definition the limit is where 0.75 p^30 is 5 %."""
    result = prediction_powered_mean([True] * 30, [0.9] * 30, [0.9] * 300, 0.9)
    assert result[:3] == pytest.approx((1.0, (0.05 / 0.75) ** (1 / 30), 1.0))
    assert (result.power, result.n_effective) == (0.0, pytest.approx(30))


def test_perfect_predictions_leave_the_chance_of_the_responses() -> None:
    """Whoever knows each answer has 600 labels, nearly: what is left is that errors may be too rare to be seen."""
    rng = np.random.default_rng(0)
    correct = rng.random(600) < 0.7
    result = prediction_powered_mean(correct[:30], correct[:30], correct, 0.9)
    assert result.power == pytest.approx(1, abs=0.15)
    assert result.estimate == pytest.approx(correct.mean(), abs=0.03)
    assert 150 < result.n_effective < 600
    # With all labelled nothing is left to predict.
    everything = prediction_powered_mean(correct, correct, correct, 0.9)
    assert everything[:3] == pytest.approx(labelled_mean(correct, 0.9)[:3])


def test_labels_that_predictions_are_worth_by_hand() -> None:
    """Two numbers are fitted to the six residuals, a mean and a power; one number to the labels alone.

    Squares of the labels' deviations add up to 12/9, those of what half the predictions leave to 271/300.
    """
    labels, predicted = [1, 1, 0, 1, 0, 1], [0.9, 0.7, 0.3, 0.8, 0.4, 0.5]
    result = prediction_powered_mean(labels, predicted, [0.6] * 24, 0.9, power=0.5)
    left, alone, unseen = 271 / 300 * 6 / 4, 12 / 9 * 6 / 5, norm.ppf(0.95) ** 2 / 4
    assert result.estimate == pytest.approx(2 / 3)
    assert result.n_effective == pytest.approx(6 * (alone + unseen) / (0.75 * left + 0.25 * alone + unseen))


def test_equal_weights_are_not_weights() -> None:
    rng = np.random.default_rng(1)
    correct, predicted = labelled_slice("calibrated", 0.8, 300, rng)
    given = correct[:40], predicted[:40], predicted, 0.9
    assert prediction_powered_mean(*given, weights=[7.5] * 40) == pytest.approx(prediction_powered_mean(*given))


def test_what_predictions_leave_is_weighted() -> None:
    """By the sums of squares over four labels of which two count three times, for half the predictions."""
    labels, predicted, u = np.array([1, 0, 1, 0]), np.array([0.9, 0.1, 0.4, 0.8]), np.array([0.5, 0.5, 1.5, 1.5])
    result = prediction_powered_mean(labels, predicted, np.full(20, 0.6), 0.9, [1, 1, 3, 3], power=0.5)
    y, p = labels - u @ labels / 4, predicted - u @ predicted / 4
    sums = (np.sum((u * y) ** 2) * 4 / 3, np.sum((u * (y - 0.5 * p)) ** 2) * 4 / 2)
    binomial = 4 * result.estimate * (1 - result.estimate) * 4 / 3
    assert result.n_effective == pytest.approx(effective_label_count(4, 20, binomial, *sums, float(u @ u**2) / 4, 0.9))


def test_unequal_weights_are_worth_fewer_labels() -> None:
    """Kish (1965): (sum w)^2 / sum w^2 of them, where the weight says nothing of the label."""
    rng = np.random.default_rng(2)
    weights = np.repeat([1.0, 3.0], 1000)
    result = labelled_mean(rng.random(2000) < 0.6, 0.9, weights)
    assert result.n_effective == pytest.approx(4000**2 / (1000 * 10), rel=0.03)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [], [0.5], 0.9), "got 0, 0"),
        (([1], [0.5, 0.5], [0.5, 0.5], 0.9), "got 1, 2"),
        (([1, 0], [0.5, 0.5], [0.5], 0.9), "got 2, 2, 2 and 1"),
        (([1], [np.nan], [0.5], 0.9), "finite"),
        (([1], [0.5], [0.5], 1.0), "level must be"),
        (([1], [0.5], [0.5], 0.9, [0.0]), "above 0"),
    ],
)
def test_invalid_samples_are_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        prediction_powered_mean(*arguments)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", [0.9, pytest.param(0.95, marks=pytest.mark.nightly)])
def test_coverage_and_width_over_1000_draws(kind: str, level: float) -> None:
    """30 and 100 labels of 600 responses: never 2 points short of the level, and no wider than without predictions."""
    for accuracy, n in product((0.03, 0.5, 0.9, 0.97), (30, 100)):
        rng = np.random.default_rng([n, round(100 * accuracy)])
        widths, inside = np.zeros(2), 0
        alone = [labelled_mean(np.arange(n) < right, level) for right in range(n + 1)]
        widths_alone = [one.upper - one.lower for one in alone]
        for _ in range(1000):
            correct, predicted = labelled_slice(kind, accuracy, 600, rng)
            result = prediction_powered_mean(correct[:n], predicted[:n], predicted, level)
            widths += result.upper - result.lower, widths_alone[int(correct[:n].sum())]
            inside += result.lower <= accuracy <= result.upper
        assert inside / 1000 >= level - 0.02, (accuracy, n)
        assert widths[0] / widths[1] <= 1.02, (accuracy, n)
        if kind == "sharp":
            assert widths[0] / widths[1] < 0.8, (accuracy, n)


def test_a_share_that_is_rounded_next_to_1_or_0_is_that() -> None:
    """A weighted mean of 15 labels that are all true came as this, and ended the monitor with an error of SciPy."""
    for share, size in ((0.9999999999999999, 15.000000000000043), (1e-16, 15.0)):
        result, exact = binomial_interval(share, size, 0.9), binomial_interval(round(share), 15, 0.9)
        assert result == pytest.approx(exact, abs=1e-9)
