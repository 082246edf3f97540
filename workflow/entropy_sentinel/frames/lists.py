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


def split(values: pl.Series, lengths: Sequence[int | None]) -> pl.Series:
    """A flat series as one list per length, in order; null for None. The lengths add up to that of the series."""
    rows = [row for row, length in enumerate(lengths) if length is not None]
    number = np.repeat(np.array(rows, dtype=np.int64), [lengths[row] for row in rows])
    filled = pl.DataFrame({"row": number, "value": values}).group_by("row", maintain_order=True).agg("value")
    empty = pl.DataFrame({"row": [row for row in rows if not lengths[row]]}, schema={"row": pl.Int64})
    empty = empty.with_columns(value=pl.lit([], dtype=pl.List(values.dtype)))
    every = pl.DataFrame({"row": np.arange(len(lengths))})
    return every.join(pl.concat([filled, empty]), on="row", how="left", maintain_order="left")["value"]
