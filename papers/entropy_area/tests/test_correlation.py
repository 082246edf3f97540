"""Correlations by SciPy and by hand; intervals against the same bootstrap written as a loop."""

import numpy as np
import pytest
from papers.entropy_area.correlation import compute_correlation, explain_no_correlation
from scipy import stats


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_a_number_has_no_correlation(value: float) -> None:
    assert explain_no_correlation([1, 2, 3, 4], [1.0, value, 2.0, value], ("EAS", "entropy")) == (
        "entropy is not a finite number for 2 of 4 items"
    )
    with pytest.raises(ValueError, match="no correlation: x is not a finite number for 1 of 4 items"):
        compute_correlation([1.0, value, 3.0, 4.0], [1, 2, 3, 5], 10, 0)


def test_r_p_and_rho_are_those_of_scipy() -> None:
    random = np.random.default_rng(7)
    x = random.normal(size=60)
    y = 0.5 * x + random.normal(size=60)
    result = compute_correlation(x, y, 10, 0)
    # p by Student's t with 58 degrees of freedom.
    t = result.r * np.sqrt(58 / (1 - result.r**2))
    assert result.p == pytest.approx(2 * stats.t.sf(abs(t), 58), rel=1e-9)
    assert result.r == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-12)
    ranks = [stats.rankdata(values) for values in (x, y)]
    assert result.rho == pytest.approx(np.corrcoef(*ranks)[0, 1], abs=1e-12)
    assert 0 < result.rho_p < 0.05


@pytest.mark.parametrize(
    ("x", "y"), [([1.0, 2.0, 3.0, 4.0, 9.0], [2.0, 1.0, 4.0, 3.0, 5.0]), ([0.0, 0.0, 1.0, 0.0], [1.0, 2.0, 9.0, 3.0])]
)
def test_interval_is_over_bootstrap_samples_of_items(x: list[float], y: list[float]) -> None:
    """Of the second numbers a third of the samples are all 0, and have no r."""
    drawn, values = np.random.default_rng(3), []
    for one in drawn.integers(len(x), size=(200, len(x))):
        a, b = np.array(x)[one], np.array(y)[one]
        if len(set(a)) > 1 and len(set(b)) > 1:
            values.append(stats.pearsonr(a, b).statistic)
    result = compute_correlation(x, y, 200, 3)
    assert (result.lower, result.upper) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])), abs=1e-12)
    assert result.lower < result.r < result.upper


def test_what_has_no_correlation_is_reported() -> None:
    assert explain_no_correlation([1, 2], [1, 2]) == "2 items have both, 3 are needed"
    assert explain_no_correlation([1, 1, 1], [1, 2, 3], ("EAS", "answer entropy")) == "EAS is the same for all items"
    assert (
        explain_no_correlation([1, 2, 3], [0, 0, 0], ("EAS", "answer entropy"))
        == "answer entropy is the same for all items"
    )
    assert explain_no_correlation([1, 2, 3], [0, 0, 1]) is None
    with pytest.raises(ValueError, match="no correlation: y is the same"):
        compute_correlation([1, 2, 3], [0, 0, 0], 10, 0)
