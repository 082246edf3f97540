"""The entries of steps, the most likely tokens, as a matrix of one width: sorted, cut and padded with nulls."""

import numpy as np
import polars as pl

from entropy_sentinel.sources.logs.reply import most_common
from entropy_sentinel.sources.logs.responses import Responses


def widths(responses: Responses, lengths: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """(n,) the k of each response."""
    if len(counts) and (counts == counts[0]).all():
        return np.where(responses.k >= 0, responses.k, np.where(lengths > 0, counts[0], 0))
    ends = lengths.cumsum()
    common = [most_common(counts[end - n : end]) for n, end in zip(lengths, ends, strict=True)]
    return np.where(responses.k >= 0, responses.k, np.array(common, dtype=np.int64))


def matrix(counts: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """(n_steps, most entries) the entries, -inf after the last, and which are entries; None where all are."""
    width = max(int(counts.max(initial=0)), 1)
    if len(values) == len(counts) * width:  # as it is, without a copy of indices
        return values.reshape(-1, width), None
    there = np.arange(width) < counts[:, None]
    matrix = np.full(there.shape, -np.inf, dtype=np.float32)
    matrix[there] = values
    return matrix, there


def displaced(matrix: np.ndarray, counts: np.ndarray, sampled: np.ndarray) -> np.ndarray:
    """(n_steps,) whether the sampled token stands first and is the least likely of several."""
    first = matrix[:, 0]
    least = np.where(np.arange(matrix.shape[1]) < counts[:, None], matrix, np.inf).min(axis=1)
    found: np.ndarray = (first == sampled) & (first == least) & (first < matrix.max(axis=1))
    return found


def in_order(matrix: np.ndarray) -> tuple[np.ndarray, int]:
    """The steps with their entries largest first, and how many were out of order. One with a NaN stays as it is."""
    rising = matrix[:, 1:] > matrix[:, :-1]
    if not rising.any():
        return matrix, 0
    wrong = rising.any(axis=1) & ~np.isnan(matrix).any(axis=1)
    matrix = matrix.copy()
    matrix[wrong] = -np.sort(-matrix[wrong], axis=1)
    return matrix, int(wrong.sum())


def array(matrix: np.ndarray, there: np.ndarray | None, width: int) -> pl.Series:
    """(n_steps,) Array(width) with nulls for what is not there."""
    flat = pl.Series(np.ascontiguousarray(matrix).ravel(), dtype=pl.Float32)
    if there is not None and not there.all():
        flat = pl.select(pl.when(pl.Series(there.ravel())).then(flat)).to_series()
    return flat.reshape((-1, width)) if len(flat) else array_of_none(width)


def array_of_none(width: int) -> pl.Series:
    return pl.Series([], dtype=pl.Array(pl.Float32, width))
