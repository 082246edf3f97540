"""Quantiles of samples against NumPy's, and the temperature search of Appendix F by hand."""

import numpy as np
import pytest

from entropy_sentinel.analyses.intervals.tunnel import (
    Searched,
    empirical_interval,
    empirical_quantile,
    temperature_search,
)


def test_quantiles_are_the_inverse_of_the_empirical_distribution() -> None:
    rng = np.random.default_rng(5)
    for m in (1, 2, 7, 20, 100):
        samples = rng.integers(-9, 9, size=(30, m))
        for share in (0.001, 0.025, 0.3, 0.5, 0.95, 0.999):
            expected = np.quantile(samples, share, axis=1, method="inverted_cdf")
            assert empirical_quantile(samples, share).tolist() == expected.tolist()


def test_quantiles_by_hand() -> None:
    samples = np.arange(1, 101)
    # The 7th of 100 has a share of 0.07 at or below it, though 0.07 * 100 is more than 7 in binary.
    assert empirical_quantile(samples, 0.07) == 7
    assert empirical_quantile(samples, 0.071) == 8
    assert empirical_quantile(samples, 0.0) == 1
    # Samples without a readable answer are no samples; a question of such alone has none.
    several = np.array([[5, np.nan, 1, 3], [np.nan] * 4, [2, 2, 2, 2]])
    lower, upper = empirical_interval(several, 0.5)  # of three, ranks ceil(0.75) and ceil(2.25)
    np.testing.assert_array_equal(lower, [1, np.nan, 2])
    np.testing.assert_array_equal(upper, [5, np.nan, 2])


def test_the_search_by_hand() -> None:
    """Two samples at 80 %: the interval is from the smaller to the larger. The truths are 0 and 3."""
    cold, warm = np.array([[0, 0], [2, 2]]), np.array([[-2, 0], [1, 4]])
    found = temperature_search({0.2: cold, 1.0: warm}, [0, 3], alpha=0.2, penalty=0)
    # Cold: 0, and 10 for a distance of 1. Warm: widths of 2 and 3.
    assert found == [Searched(1.0, 2.5, 1.0, 2.5), Searched(0.2, 5.0, 0.5, 5.0)]
    # At 50 %, distance costs 4 and the interval is the same: cold is better but for its coverage of 0.5 being enough.
    assert [one.temperature for one in temperature_search({0.2: cold, 1.0: warm}, [0, 3], 0.5, 1000)] == [0.2, 1.0]
    # At 60 %, 5 for the distance: 2.5 each; the coverage is 0.1 short, which costs 7 * 0.01.
    found = temperature_search({0.2: cold, 1.0: warm}, [0, 3], alpha=0.4, penalty=7)
    assert [one.temperature for one in found] == [1.0, 0.2]
    assert [one.objective for one in found] == pytest.approx([2.5, 2.57])


def test_questions_without_an_answer_at_a_temperature_count_for_none() -> None:
    nan = np.nan
    cold, warm = np.array([[0, 0], [nan, nan], [2, 2]]), np.array([[nan, 0], [90, 90], [1, 4]])
    found = temperature_search({0.2: cold, 1.0: warm}, [0, 50, 3], alpha=0.2, penalty=0)
    assert [(one.temperature, one.score) for one in found] == [(1.0, 1.5), (0.2, 5.0)]
    with pytest.raises(ValueError, match="no question has a readable answer"):
        temperature_search({0.2: cold[1:2], 1.0: warm[1:2]}, [50], alpha=0.2, penalty=0)


def test_the_temperature_that_is_right_is_found() -> None:
    """Answers scatter around a centre by the temperature; so do the truths, by 1."""
    rng = np.random.default_rng(6)
    centre = rng.normal(0, 5, (300, 1))
    samples = {t: centre + rng.normal(0, t, (300, 100)) for t in (0.2, 0.5, 1.0, 2.0, 4.0)}
    found = temperature_search(samples, (centre + rng.normal(0, 1, (300, 1)))[:, 0], alpha=0.1, penalty=10)
    assert found[0].temperature == 1.0
    assert found[0].coverage == pytest.approx(0.9, abs=0.05)
