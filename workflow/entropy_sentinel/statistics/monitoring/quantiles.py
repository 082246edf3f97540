"""Quantiles of a positive number, such as a latency, from counts in fixed bins, which add up over files and windows.

The limits of the bins are powers of GROWTH, so a quantile is off by at most 2.5 % of its value (the sketch of Masson,
Rim and Lee 2019, "DDSketch", with fixed limits). The first bin has 0, negative and very small numbers, and counts as 0;
the last bin has numbers that are too large.
"""

import math

import numpy as np

GROWTH = 1.05
# From a ten-thousandth to a billion.
SMALLEST, LARGEST = 1e-4, 1e9
N_BINS = math.ceil(math.log(LARGEST / SMALLEST) / math.log(GROWTH)) + 2


def assign_bins(numbers: np.ndarray) -> np.ndarray:
    """The bin of each number, (n,); -1 for NaN."""
    with np.errstate(divide="ignore", invalid="ignore"):
        places = np.ceil(np.log(numbers / SMALLEST) / math.log(GROWTH))
    places = np.where(numbers <= SMALLEST, 0, np.clip(places, 1, N_BINS - 1))
    bins: np.ndarray = np.where(np.isnan(numbers), -1, places).astype(np.int64)
    return bins


def histogram_quantiles(counts: np.ndarray, share: float) -> np.ndarray:
    """A quantile of each row of counts, (n, N_BINS): the number that `share` of the numbers do not exceed.

    It is NaN for a row without counts.
    """
    cumulative = np.cumsum(counts, axis=1)
    total = cumulative[:, -1:]
    # The first bin up to which so many numbers are counted.
    place = (cumulative >= np.maximum(np.ceil(share * total), 1)).argmax(axis=1)
    # The middle of a bin, relative to its limits.
    values = SMALLEST * GROWTH**place * 2 / (1 + GROWTH)
    quantiles: np.ndarray = np.where(total[:, 0] > 0, np.where(place == 0, 0.0, values), np.nan)
    return quantiles
