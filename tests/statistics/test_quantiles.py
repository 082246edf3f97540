"""Quantiles from fixed bins, beside those of the numbers themselves."""

import numpy as np
import pytest

from entropy_sentinel.statistics.monitoring.quantiles import (
    GROWTH,
    LARGEST,
    N_BINS,
    SMALLEST,
    assign_bins,
    histogram_quantiles,
)


def counts(numbers: np.ndarray) -> np.ndarray:
    bins = assign_bins(numbers)
    return np.bincount(bins[bins >= 0], minlength=N_BINS)[None]


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95, 0.99, 1.0])
@pytest.mark.parametrize("scale", [0.01, 1.0, 250.0, 1e6])
def test_a_quantile_is_within_its_bin(share: float, scale: float) -> None:
    numbers = scale * np.random.default_rng(7).lognormal(0, 1, 999)
    exact = np.quantile(numbers, share, method="inverted_cdf")
    assert histogram_quantiles(counts(numbers), share)[0] == pytest.approx(
        exact, rel=GROWTH - 1 - (GROWTH - 1) / (GROWTH + 1)
    )
    assert histogram_quantiles(counts(numbers), share)[0] == pytest.approx(exact, rel=0.0251)


def test_the_ends() -> None:
    numbers = np.array([0.0, -5.0, SMALLEST / 2, np.nan, LARGEST * 1e6, np.inf])
    assert assign_bins(numbers).tolist() == [0, 0, 0, -1, N_BINS - 1, N_BINS - 1]
    assert histogram_quantiles(counts(np.array([0.0, 0.0, 5.0])), 0.5).tolist() == [0.0]
    assert np.isnan(histogram_quantiles(np.zeros((1, N_BINS)), 0.5)).tolist() == [True]
    assert histogram_quantiles(counts(np.array([7.0])), 0.5)[0] == pytest.approx(7, rel=0.025)
