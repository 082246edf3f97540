"""The in-domain split: which items of a benchmark are for training if it is in the training group."""

import math

import numpy as np
import polars as pl


def train_or_test(items: pl.DataFrame, test_share: float, seed: int) -> pl.DataFrame:
    """Columns item_id and split (`train`, `test`) for a frame of contract BENCHMARKS.

    The test part is drawn on the ids sorted as text, so that it is the same for every model, judge and group. Items
    with the same question go to the same side: the draw is among the first of each, and the rest follow. A benchmark
    of one item trains with it. It draws as scikit-learn's `train_test_split`, which takes a second to import.
    """
    drawn = sorted(items["duplicate_of"].unique())
    n_test = min(math.ceil(test_share * len(drawn)), len(drawn) - 1)
    test = [drawn[place] for place in np.random.RandomState(seed).permutation(len(drawn))[:n_test]]
    in_test = pl.col("duplicate_of").is_in(test)
    return items.select("item_id", split=pl.when(in_test).then(pl.lit("test")).otherwise(pl.lit("train")))
