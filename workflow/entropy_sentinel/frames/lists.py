"""List columns from arrays, without a Python object per value."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl


def list_column(arrays: Sequence[np.ndarray | None], dtype: Any) -> pl.Series:
    """One list per array, null for None; `dtype` is that of the values, an Array for arrays of two axes."""
    given = [array for array in arrays if array is not None]
    if not given:
        return pl.Series([None] * len(arrays), dtype=pl.List(dtype))
    lengths = [None if array is None else len(array) for array in arrays]
    return split(pl.Series(np.concatenate(given), dtype=dtype), lengths)


def split(values: pl.Series, lengths: Sequence[int | None] | np.ndarray) -> pl.Series:
    """A flat series as one list per length, in order; null for None. The lengths add up to that of the series."""
    import pyarrow as pa

    nulls = None
    if not isinstance(lengths, np.ndarray):
        nulls = pa.array([length is None for length in lengths], pa.bool_())
        lengths = np.array([length or 0 for length in lengths], dtype=np.int64)
    ends = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=ends[1:])
    lists = pa.LargeListArray.from_arrays(pa.array(ends), values.to_arrow(), mask=nulls)
    return pl.Series("value", lists, dtype=pl.List(values.dtype))


def flat(lists: pl.Series) -> pl.Series:
    """The values of a list column one after the other; a null and an empty list have none."""
    return lists.explode(empty_as_null=False, keep_nulls=False)
