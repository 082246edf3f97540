"""True accuracies from labels and witnesses: by hand, by least squares on the same arrays, and in drawn worlds."""

import numpy as np
import pytest

from entropy_sentinel.statistics.witness_powers import fit_witness_powers
from entropy_sentinel.statistics.witnessed_accuracies import WitnessedDomain, estimate_accuracies, response_influences


def domain(
    y: np.ndarray, x: np.ndarray, everywhere: np.ndarray, u: np.ndarray, **weights: np.ndarray
) -> WitnessedDomain:
    return WitnessedDomain(y, x, everywhere, u, len(y), len(everywhere), **weights)


def drawn(k: int, n: int, m: int, rng: np.random.Generator, low: float = 0.2, high: float = 0.8) -> tuple:
    """Domains with P(correct), a judge of .9 and .85 and another model's agreement; and their mean P(correct)."""
    domains, true, estimates = [], [], []
    for accuracy in rng.uniform(low, high, k):
        p = rng.beta(7 * accuracy, 7 * (1 - accuracy), m)
        right = rng.random(m) < p
        z = rng.random(m) < np.where(right, 0.9, 0.15)
        agrees = rng.random(m) < np.where(right, 0.7, 0.3)
        x = np.column_stack([p, z, agrees]).astype(float)
        domains.append(domain(right[:n].astype(float), x[:n], x, p))
        true.append(accuracy)
        estimates.append(p.mean())
    return domains, np.array(true), np.array(estimates)


def test_one_domain_by_hand() -> None:
    """Ten labels, five right; the judge calls four of these and one of the others correct, and 60 of 100 in all.

    Deviations: zz = yy = 2.5, zy = 4 - 10 / 4 = 1.5, and 1 and .5 of pseudo-labels: the power is 2 / 3.5 = 4 / 7.
    Without a label that the judge recognises, zz falls by .25 * 10 / 9 and so does zy: 1.7222 / 3.2222 = 31 / 58.
    Without one that it does not, zy rises: 2.2778 / 3.2222 = 41 / 58. All corrections are that times .6 - z:
    right and recognised 4 * -.4 * 31 / 58 = -.85517; right and not .6 * 41 / 58 = .42414; wrong and recognised
    4 * .6 * 31 / 58 = 1.28276; wrong and not -.4 * 41 / 58 = -.28276. Their sum is .56897, so t = .5 + .056897.
    """
    y = np.array([1.0] * 5 + [0.0] * 5)
    z = np.array([1.0] * 4 + [0.0] * 5 + [1.0])
    everywhere = np.array([1.0] * 60 + [0.0] * 40)[:, None]
    found = estimate_accuracies([domain(y, z[:, None], everywhere, np.zeros(100))], [True])
    assert found is not None
    assert found.powers == pytest.approx([4 / 7])
    assert found.accuracies == pytest.approx([0.5 + 0.056897], abs=1e-5)
    # y - 4 z / 7 has the values 3 / 7, 1, 0 and -4 / 7, four, one, four and one times, and the mean 3 / 14.
    left = (8 * (3 / 14) ** 2 + 2 * (11 / 14) ** 2) / (10 - 1 - 1)
    of_verdicts = (4 / 7) ** 2 * 0.24 * 100 / 99
    assert found.variances == pytest.approx([left / 10 + of_verdicts / 100])
    assert found.worth == pytest.approx(2.5 / 9 / 10 / found.variances[0])


@pytest.mark.parametrize("clusters", [None, np.random.default_rng(5).integers(0, 20, 48)])
def test_powers_are_least_squares_without_the_label(clusters: np.ndarray | None) -> None:
    """Three witnesses; each label's powers by NumPy's least squares on the other labels, domains as dummies.

    Clusters of dependent labels reach over domains; a label gets the powers that the other clusters tell.
    """
    rng = np.random.default_rng(0)
    domains, *_ = drawn(4, 12, 50, rng)
    y, x = np.concatenate([each.labels for each in domains]), np.concatenate([each.witnesses for each in domains])
    place = np.repeat(range(4), 12)
    powers = fit_witness_powers(y, x, place, [False, True, True], clusters)
    assert powers is not None
    dummies = np.eye(4)[place]
    # Eight responses in a domain of their own, each with half a label's weight: both verdicts recognise three of four.
    says = np.array([1, 1, 1, 0, 0, 0, 0, 1])
    pseudo = np.column_stack([np.zeros(8), says, says, np.zeros((8, 4)), np.ones(8)])
    for label in (0, 17, 40):
        others = np.arange(len(y)) != label
        if clusters is not None:
            others = clusters != clusters[label]
        rows = np.vstack([np.column_stack([x, dummies, np.zeros(48)])[others], pseudo * 0.5**0.5])
        right = np.append(y[others], np.repeat([1, 0], 4) * 0.5**0.5)
        slopes = np.linalg.lstsq(rows, right, rcond=None)[0][:3]
        assert powers.by_label[label] == pytest.approx(np.clip(slopes, 0, 1), abs=1e-9)


def test_too_few_labels_tell_no_powers_and_a_constant_witness_has_none() -> None:
    y, x = np.array([1.0, 0.0] * 6), np.ones((12, 2))
    assert fit_witness_powers(y[:10], x[:10], [0, 1, 2] * 3 + [0], [False, True]) is None
    powers = fit_witness_powers(y, np.column_stack([np.ones(12), y]), np.repeat([0, 1], 6), [False, True])
    assert powers is not None
    assert powers.pooled == pytest.approx([0, (3 + 0.5) / (3 + 1)])


def test_weights_count_a_response_as_often_as_it_represents_others() -> None:
    """A response with the weight 3 is three responses; their effective number falls (Kish 1965)."""
    rng = np.random.default_rng(1)
    [whole], _, _ = drawn(1, 20, 60, rng)
    w, all_w = np.repeat([1.0, 3.0], 10), np.repeat([1.0, 3.0], 30)
    found = estimate_accuracies([whole._replace(weights=w, all_weights=all_w)], [False, True, True])
    even = estimate_accuracies([whole], [False, True, True])
    assert found is not None
    assert even is not None
    each = fit_witness_powers(whole.labels, whole.witnesses, np.zeros(20), [False, True, True])
    assert each is not None
    mean = np.average(whole.all_witnesses, axis=0, weights=all_w)
    corrected = whole.labels + ((mean - whole.witnesses) * each.by_label).sum(axis=1)
    assert found.accuracies == pytest.approx([np.average(corrected, weights=w)])
    # 1600 / (10 + 90) of 20 labels are 16 in effect.
    assert found.variances[0] > even.variances[0] * 1.1


def test_influences_of_a_mean_and_of_a_function_of_means() -> None:
    values = np.array([0.2, 0.4, 0.9])
    column = values[:, None]
    assert response_influences(column, lambda means: means[:, 0]) == pytest.approx(values - values.mean())
    two = np.column_stack([values, values**2])
    assert response_influences(two, lambda means: means[:, 0] / 2 + means[:, 1]) == pytest.approx(
        values / 2 + values**2 - (values / 2 + values**2).mean()
    )


@pytest.mark.parametrize(
    ("n", "low", "high", "has_own_samples"),
    [(5, 0.2, 0.8, False), (10, 0.2, 0.8, False), (5, 0.01, 0.99, False), (10, 0.1, 0.9, True)],
)
def test_accuracies_are_right_on_average_and_their_noise_is_known(
    n: int, low: float, high: float, has_own_samples: bool
) -> None:
    """60 worlds of 20 domains: the standard error of the share is 1 point, of the standard deviation 2 %.

    With samples of their own, the judge has seen 50 responses, and the other model these and 40 others, but not the
    first label; in every fourth domain it has seen nothing.
    """
    rng = np.random.default_rng(n)
    off, variances = [], []
    for _ in range(60):
        domains, _, estimates = drawn(20, n, 100, rng, low, high)
        for number, each in enumerate(domains if has_own_samples else ()):
            everywhere = each.all_witnesses
            everywhere[50:, 1] = np.nan
            everywhere[90:, 2] = everywhere[0, 2] = np.nan
            if number % 4 == 0:
                everywhere[:, 2] = np.nan
            columns = (1,) if number % 4 == 0 else (1, 2)
            domains[number] = each._replace(witnesses=everywhere[:n], columns=columns)
        found = estimate_accuracies(domains, [False, True, True])
        assert found is not None
        off.append(estimates - found.accuracies)
        variances.append(found.variances)
    noise, stated = np.concatenate(off), np.concatenate(variances)
    assert noise.mean() == pytest.approx(0, abs=0.012)
    assert noise.std() == pytest.approx(np.sqrt(stated.mean()), rel=0.08)
    assert 0.87 < np.mean(np.abs(noise) < 1.645 * np.sqrt(stated)) < 0.95
