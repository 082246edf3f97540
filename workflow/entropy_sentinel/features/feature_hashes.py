"""Recognise a response by its features: a 64-bit hash that is the same in a log and in a file of features."""

import numpy as np
import polars as pl

# Fixed, because files of estimators keep the hashes.
_HASHED = ("mean", "std", "max", "q10", "q50", "q90", "se_sum", "nll_avg", "nll_max", "nll_sum")


def hash_features(features: pl.DataFrame) -> np.ndarray:
    """A hash of the features of each response, (n_rows,). They reveal no text."""
    hashes = np.zeros(len(features), dtype=np.uint64)
    for name in _HASHED:
        hashes = mix_bits(hashes ^ round_to_bits(features[name]))
    return hashes


def round_to_bits(values: pl.Series) -> np.ndarray:
    """The bits of numbers as 32-bit floats, (n,); the size of a batch may change the last bit of 64."""
    # Adding 0 gives -0.0 and 0.0 the same bits.
    rounded = values.cast(pl.Float32).fill_null(float("nan")).to_numpy() + np.float32(0)
    return rounded.view(np.uint32)


def mix_bits(numbers: np.ndarray) -> np.ndarray:
    """Mix the bits of numbers, so that each depends on all (splitmix64); the arithmetic is modulo 2^64."""
    x = numbers + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
