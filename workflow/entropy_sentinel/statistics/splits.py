"""The in-domain split: which items of a benchmark train where the benchmark is in the training group."""

import polars as pl
from sklearn.model_selection import train_test_split


def train_or_test(items: pl.DataFrame, test_share: float, seed: int) -> pl.DataFrame:
    """Columns item_id and split (`train`, `test`) for a frame of contract BENCHMARKS.

    The test part is drawn on the ids sorted as text, so that it is the same for every model, judge and group. Items
    with the same question go to the same side: the draw is among the first of each, and the rest follow. A benchmark
    of one item trains with it.
    """
    drawn = sorted(items["duplicate_of"].unique())
    test = train_test_split(drawn, test_size=test_share, random_state=seed)[1] if len(drawn) > 1 else []
    in_test = pl.col("duplicate_of").is_in(test)
    return items.select("item_id", split=pl.when(in_test).then(pl.lit("test")).otherwise(pl.lit("train")))
