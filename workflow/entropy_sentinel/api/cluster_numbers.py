"""Number the clusters of dependent responses in a table: a column's values, or else requests and items."""

import numpy as np
import polars as pl

from entropy_sentinel.logs.reader_base import QUESTION, REQUEST
from entropy_sentinel.logs.response_selection import coalesce_columns, to_text
from entropy_sentinel.schemas.response_schema import item_numbers


def number_clusters(rows: pl.DataFrame, column: str | None) -> np.ndarray:
    """The number of the cluster of each response, (n_rows,).

    Without a `column`, responses to the same request are a cluster, or without a request, those to the same item. A
    response without a value of the column is its own cluster.
    """
    names = [column] if column is not None else [REQUEST, QUESTION]
    texts = to_text(coalesce_columns(rows, names))
    single_numbers = -1 - np.arange(len(rows))  # negative, unlike those of items and of values
    default_numbers = single_numbers if column is not None else item_numbers(rows)
    if texts.null_count() == len(texts):
        return default_numbers
    # From len(rows) on, because items have the numbers below.
    numbers = len(rows) + texts.rank("dense").fill_null(0).to_numpy().astype(np.int64)
    clusters: np.ndarray = np.where(texts.is_null().to_numpy(), default_numbers, numbers)
    return clusters
