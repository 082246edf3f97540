"""Use of Arrow: list columns without a Python object per value, and Parquet files in bounded memory."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.schemas.contract import check_readable, read_provenance
from entropy_sentinel.schemas.generation_schema import GENERATIONS, scan_traces


def list_column(arrays: Sequence[np.ndarray | None], dtype: Any) -> pl.Series:
    """One list per array, null for None; `dtype` is that of the values, an Array for arrays of two axes."""
    present = [array for array in arrays if array is not None]
    if not present:
        return pl.Series([None] * len(arrays), dtype=pl.List(dtype))
    lengths = [None if array is None else len(array) for array in arrays]
    return split_lists(pl.Series(np.concatenate(present), dtype=dtype), lengths)


def split_lists(values: pl.Series, lengths: Sequence[int | None] | np.ndarray) -> pl.Series:
    """Split a flat series into lists of these lengths, in order; null for None. The lengths add up to its length."""
    import pyarrow as pa

    # Through Polars, because PyArrow imports pandas for a list or a NumPy array.
    nulls = None
    if not isinstance(lengths, np.ndarray):
        nulls = pl.Series([length is None for length in lengths], dtype=pl.Boolean).to_arrow()
        lengths = np.array([length or 0 for length in lengths], dtype=np.int64)
    ends = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=ends[1:])
    lists = pa.LargeListArray.from_arrays(pl.Series(ends).to_arrow(), values.to_arrow(), mask=nulls)
    return pl.Series("value", lists, dtype=pl.List(values.dtype))


def flatten_lists(lists: pl.Series) -> pl.Series:
    """The values of a list column concatenated; null and empty lists add none."""
    return lists.explode(empty_as_null=False, keep_nulls=False)


# The limits of a batch, whichever is reached first: about 200,000 tokens with 20 alternatives.
ROWS_AT_A_TIME, BYTES_AT_A_TIME = 1000, 16 << 20


def read_batches(
    path: str | Path, columns: Sequence[str] | None = None, rows: int = ROWS_AT_A_TIME
) -> Iterator[pl.DataFrame]:
    """Yield the rows of a Parquet file in order, all columns or some, at most `rows` at a time.

    Pages are read on demand: Polars reads at least a row group, and a file is often a single one. Raises OSError for a
    damaged file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # Buffers one page at a time; memory-mapped pages would count as the process's memory.
        with pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
            for batch in file.iter_batches(_batch_rows(file.metadata, rows), columns=columns, use_threads=False):
                yield pl.DataFrame(pl.from_arrow(batch))
    except pa.ArrowException as error:
        raise OSError(str(error)) from None


def read_traces(path: str | Path, columns: Sequence[str] = tuple(GENERATIONS.schema)) -> Iterator[pl.DataFrame]:
    """Yield batches of the responses in a file GENERATIONS: these columns, model and benchmark; absent ones are null.

    Raises ContractError for another file, and DamagedFileError, at the latest when the damaged rows are read.
    """
    scan_traces(path)  # only for its checks
    origin, schema = read_provenance(path), pl.read_parquet_schema(path)
    constants = {"model": pl.lit(origin["model"]), "benchmark": pl.lit(origin["benchmark"])}
    in_file = []
    for name in columns:
        if name in schema:
            in_file.append(name)
        else:
            constants[name] = pl.lit(None, GENERATIONS.schema[name])
    with check_readable(path, GENERATIONS.stage):
        for batch in read_batches(path, in_file):
            yield batch.with_columns(**constants).select(*columns, "model", "benchmark")


def _batch_rows(metadata: Any, most: int) -> int:
    """The number of rows of a batch, from the mean uncompressed size of a row in the file's metadata."""
    size: int = sum(metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
    rows: int = metadata.num_rows
    return max(1, min(most, BYTES_AT_A_TIME * rows // max(size, 1)))
