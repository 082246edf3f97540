"""Draw the in-domain split: which items of a benchmark are used for training if it is in the training group."""

import math

import numpy as np
import polars as pl


def split_items(items: pl.DataFrame, test_share: float, seed: int) -> pl.DataFrame:
    """The columns item_id and split (`train` or `test`) for a frame of contract BENCHMARKS.

    The split is drawn from the ids sorted as text, so it is the same for every model, judge and group. Items with the
    same question are in the same part. The only item of a benchmark is in `train`. The draw equals that of
    scikit-learn's `train_test_split`, which takes a second to import.
    """
    drawn = sorted(items["duplicate_of"].unique())
    n_test = min(math.ceil(test_share * len(drawn)), len(drawn) - 1)
    test = [drawn[place] for place in np.random.RandomState(seed).permutation(len(drawn))[:n_test]]
    in_test = pl.col("duplicate_of").is_in(test)
    return items.select("item_id", split=pl.when(in_test).then(pl.lit("test")).otherwise(pl.lit("train")))
