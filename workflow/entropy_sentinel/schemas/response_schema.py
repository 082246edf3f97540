"""The columns that identify a response, in all stages."""

import numpy as np
import polars as pl

from entropy_sentinel.schemas.contract import Column

# A response within a benchmark: the answer number `sample` to an item.
SAMPLE = ("item_id", "sample")
# A response among all.
RESPONSE = ("model", "benchmark", *SAMPLE)
# The columns of both in frames with several models.
MODEL_COLUMN = Column("model", pl.String, "language model")
BENCHMARK_COLUMN = Column("benchmark", pl.String, "domain")
ITEM_COLUMN = Column("item_id", pl.String, "item of the benchmark")
SAMPLE_COLUMN = Column("sample", pl.UInt16, "number of the response among those to the same item")
RESPONSE_COLUMNS = (MODEL_COLUMN, BENCHMARK_COLUMN, ITEM_COLUMN, SAMPLE_COLUMN)
# A question. Splits, folds, resamples and counts use it, because answers to one question are correlated.
ITEM = ("benchmark", "item_id")


def align_rows(traces: pl.LazyFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """The row in `rows` of each response in `traces`, in their order; null if none has its key, RESPONSE."""
    return traces.select(RESPONSE).collect().join(rows, on=RESPONSE, how="left", maintain_order="left", validate="1:1")


def item_numbers(responses: pl.DataFrame) -> np.ndarray:
    """A number for the item of each response, (n_responses,), equal for the same benchmark and item id.

    Items without a name, as in some logs, are all different.
    """
    number = pl.struct(ITEM).rank("dense").cast(pl.Int64)
    unique_numbers = -1 - pl.int_range(pl.len(), dtype=pl.Int64)
    return (
        responses.select(pl.when(pl.col("item_id").is_null()).then(unique_numbers).otherwise(number))
        .to_series()
        .to_numpy()
    )
