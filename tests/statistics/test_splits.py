"""The in-domain split."""

import polars as pl
from sklearn.model_selection import train_test_split

from entropy_sentinel.statistics.splits import split_items


def items(n: int) -> pl.DataFrame:
    ids = [f"a-{number:05d}" for number in range(n)]
    return pl.DataFrame({"item_id": ids, "duplicate_of": ids})


def test_a_fifth_is_drawn_on_sorted_ids_whatever_the_order() -> None:
    frame = items(50)
    split = split_items(frame, 0.2, 42)
    test = set(split.filter(pl.col("split") == "test")["item_id"])
    assert test == set(train_test_split(sorted(frame["item_id"]), test_size=0.2, random_state=42)[1])
    assert len(test) == 10
    shuffled = split_items(frame.sample(fraction=1, shuffle=True, seed=1), 0.2, 42)
    assert shuffled.sort("item_id").equals(split)


def test_duplicates_stay_on_one_side() -> None:
    frame = items(40).with_columns(duplicate_of=pl.col("item_id").str.replace(r"[13579]$", "0"))
    split = split_items(frame, 0.2, 42).join(frame, on="item_id")
    assert split.group_by("duplicate_of").agg(pl.col("split").n_unique())["split"].max() == 1
    firsts = [f"a-{number:05d}" for number in range(0, 40, 2)]
    drawn = train_test_split(firsts, test_size=0.2, random_state=42)[1]
    assert set(split.filter(split="test")["duplicate_of"]) == set(drawn)


def test_a_single_item_trains() -> None:
    assert split_items(items(1), 0.2, 42)["split"].to_list() == ["train"]
