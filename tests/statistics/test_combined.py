"""An estimate and a few labels together, compared with other ways to compute the same distribution."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta, binom, norm

from entropy_sentinel.statistics.monitoring.label_combination import UNLIKE, combine_labels
from entropy_sentinel.statistics.predictive_posterior import _SPREADS, Spread
from entropy_sentinel.statistics.slice_intervals import Residuals, sampling_variance


def spread_of(size: float) -> Spread:
    """The posterior of a spread that is known."""
    weights = np.zeros(len(_SPREADS))
    weights[np.abs(_SPREADS - size).argmin()] = 1
    return Spread(weights)


def test_it_is_the_posterior_of_the_accuracy() -> None:
    spread, variance = spread_of(0.06), 0.002
    known = _SPREADS[spread.weights.argmax()]
    found = combine_labels(spread, 0.7, variance, 0.5, 10, 0.9)

    def density(accuracy: float) -> float:
        deviation = np.sqrt(known**2 + variance)
        inside = norm.cdf(1, 0.7, deviation) - norm.cdf(0, 0.7, deviation)
        prior = (1 - UNLIKE) * norm.pdf(accuracy, 0.7, deviation) / inside + UNLIKE
        return prior * accuracy**5 * (1 - accuracy) ** 5

    whole, _ = quad(density, 0, 1)
    within, _ = quad(density, found.lower, found.upper)
    assert within / whole == pytest.approx(0.9, abs=0.005)
    # The ends of the shortest interval are equally probable.
    assert density(found.lower) == pytest.approx(density(found.upper), rel=0.03)
    accuracies = np.linspace(0, 1, 100_001)
    assert found.estimate == pytest.approx(
        accuracies[np.argmax([density(one) for one in accuracies[::10]]) * 10], abs=0.001
    )


@pytest.mark.parametrize(
    ("size", "estimate", "share", "n"), [(0.06, 0.6, 0.0, 1), (0.02, 0.8, 0.25, 4), (0.15, 0.3, 0.9, 10)]
)
def test_the_interval_is_the_shortest_where_labels_and_estimate_disagree(
    size: float, estimate: float, share: float, n: int
) -> None:
    """Compared with all intervals between 2,001 accuracies; the hull of the densest accuracies is up to .2 wider."""
    spread, variance = spread_of(size), 0.0005
    deviation = np.sqrt(_SPREADS[spread.weights.argmax()] ** 2 + variance)
    ends = np.linspace(0, 1, 2001)
    middles = (ends[1:] + ends[:-1]) / 2
    near = norm.pdf(middles, estimate, deviation)
    weights = ((1 - UNLIKE) * near / near.mean() + UNLIKE) * middles ** (share * n) * (1 - middles) ** ((1 - share) * n)
    below = np.concatenate([[0.0], np.cumsum(weights / weights.sum())])
    holds = below[None, :] - below[:, None] >= 0.9
    mode = middles[weights.argmax()]
    holds &= (ends[:, None] <= mode) & (mode <= ends[None, :])
    widths = np.where(holds, ends[None, :] - ends[:, None], np.inf)
    found = combine_labels(spread, estimate, variance, share, n, 0.9)
    assert found.upper - found.lower == pytest.approx(widths.min(), abs=0.002)
    assert found.lower <= found.estimate <= found.upper


def test_a_narrow_peak_of_little_weight_stays_inside() -> None:
    """Ten wrong labels of ten: nearly all weight is near 0, and the peak at the estimate is still the highest."""
    found = combine_labels(spread_of(0.003), 0.6, 0.0, 0.2, 10, 0.9)
    assert found.lower <= found.estimate <= found.upper


def test_with_many_labels_they_alone_decide() -> None:
    found = combine_labels(spread_of(0.06), 0.5, 0.001, 0.62, 5000, 0.9)
    expected = beta(0.62 * 5000 + 1, 0.38 * 5000 + 1)
    assert (found.lower, found.upper) == pytest.approx(expected.interval(0.9), abs=0.004)


def test_without_labels_it_is_the_estimate() -> None:
    spread = spread_of(0.06)
    found = combine_labels(spread, 0.5, 0.0, 0.0, 0.0, 0.5)
    assert found.estimate == pytest.approx(0.5, abs=0.001)
    # Half of the whole is .625 of the four fifths that resemble the labelled domains, less what is uniform.
    half = norm.ppf((1 + 0.6) / 2) * 0.06
    assert (found.upper - found.lower) / 2 == pytest.approx(half, rel=0.05)


@pytest.mark.parametrize(("correct", "n"), [(0, 5), (2, 6), (9, 10), (10, 10)])
def test_the_surprise_is_the_probability_of_such_labels_before_they_are_seen(correct: int, n: int) -> None:
    spread = spread_of(0.05)
    deviation = _SPREADS[spread.weights.argmax()]
    counts = np.arange(n + 1)

    def chance(count: int) -> float:
        return quad(lambda a: binom.pmf(count, n, a) * norm.pdf(a, 0.6, deviation), 0, 1, points=[0.6])[0]

    chances = np.array([chance(count) for count in counts])
    above = chances[counts > correct].sum() + chances[correct] / 2
    found = combine_labels(spread, 0.6, 0.0, correct / n, n, 0.9)
    assert found.p_value == pytest.approx(2 * min(above, 1 - above), abs=1e-3)


def test_labels_that_contradict_do_and_others_do_not() -> None:
    spread = spread_of(0.05)
    assert combine_labels(spread, 0.8, 0.0, 0.1, 10, 0.9).contradicts
    assert not combine_labels(spread, 0.8, 0.0, 0.6, 10, 0.9).contradicts


def test_an_accuracy_of_0_is_within_the_interval() -> None:
    found = combine_labels(spread_of(0.06), 0.03, 0.0005, 0.0, 8, 0.9)
    assert found.lower == 0


@pytest.mark.parametrize("n", [4, 16])
def test_intervals_hold_for_slices_like_the_validated_ones(n: int) -> None:
    """Errors of .06 on 16 labelled domains and on the new slice."""
    rng = np.random.default_rng(n)
    inside, errors, of_labels = [], [], []
    for _ in range(300):
        true = rng.uniform(0.1, 0.9, 16)
        estimated = true + 0.06 * rng.standard_normal(16)
        residuals = Residuals(estimated, rng.binomial(40, true) / 40, [40] * 16, 16)
        accuracy = rng.uniform(0.1, 0.9)
        estimate = accuracy + 0.06 * rng.standard_normal()
        [variance] = sampling_variance([estimate], [300])
        share = rng.binomial(n, accuracy) / n
        found = combine_labels(residuals.spread, estimate, variance, share, n, 0.9)
        inside.append(found.lower <= accuracy <= found.upper)
        errors.append(abs(found.estimate - accuracy))
        of_labels.append(abs(share - accuracy))
    assert np.mean(inside) >= 0.9
    assert np.mean(errors) < 0.65 * np.mean(of_labels)
