"""A sample of which only a part has answers: the order of requests, and the weights of the part."""

import numpy as np
import polars as pl
import pytest

from entropy_sentinel.core.errors import BudgetSpentError
from entropy_sentinel.monitor.labelling.partial_sample import Answers, keep_answered, order_requests

# 60 responses of `a` in two strata, of which 20 and 10 were drawn; 12 of 30 of `b`; and two further ones.
ROUTES = ["a"] * 30 + ["b"] * 12 + ["a"] * 2
STRATA = [0] * 20 + [1] * 10 + [0] * 12 + [None] * 2
WEIGHTS = [1.5] * 20 + [3.0] * 10 + [2.5] * 12 + [None] * 2


def sample() -> pl.DataFrame:
    return pl.DataFrame(
        {"route": ROUTES, "item_id": [f"i{n}" for n in range(44)], "stratum": STRATA, "weight": WEIGHTS, "reason": None}
    ).cast({"reason": pl.String, "weight": pl.Float64})


def answers(rows: list[int], asked: list[int]) -> Answers[bool]:
    return Answers(asked, dict.fromkeys(rows, True), BudgetSpentError("of budget_usd 1, 1 are spent"))


def test_every_beginning_of_the_requests_represents_all_slices() -> None:
    order = order_requests(sample())
    assert sorted(order) == list(range(44))
    assert set(order[:2]) == {42, 43}
    for n in range(1, 43):
        first = order[2 : 2 + n]
        for cell in (range(20), range(20, 30), range(30, 42)):
            # Half a response more or less, and the rounding of a step of all three.
            assert abs(len(set(first) & set(cell)) - n * len(cell) / 42) < 1.5
    shuffled = sample().sample(fraction=1, shuffle=True, seed=1)
    assert [shuffled["item_id"][place] for place in order_requests(shuffled)] == [f"i{n}" for n in order]
    # Within a cell the order is random: that of the file would be 0, 1, 2 ...
    assert [place for place in order if place < 20] != list(range(20))


def test_the_weights_of_a_part_add_up_to_the_slices() -> None:
    """5 of 20 in the first stratum of `a` (30 responses) weigh 6 each, 2 of 10 in the second (30) weigh 15."""
    order = list(range(44))
    answered = [*range(5), *range(20, 22), *range(30, 34), 42]
    rows, interruption = keep_answered(sample(), answers(answered, order))
    expected = dict.fromkeys(range(5), 6.0) | dict.fromkeys((20, 21), 15.0) | dict.fromkeys(range(30, 34), 7.5)
    assert rows["weight"].to_list() == [expected.get(place) for place in range(44)]
    assert rows["reason"].to_list() == [None if place in answered else "budget" for place in range(44)]
    assert interruption is not None
    assert (interruption.n_missing, interruption.slices) == (44 - len(answered), ())
    # A stratum without any answer is represented by the others of its slice; a slice is named.
    rows, interruption = keep_answered(sample(), answers(list(range(5)), order))
    assert rows["weight"].to_list() == [12.0] * 5 + [None] * 39
    assert interruption is not None
    assert interruption.slices == ("b",)
    assert "except b, without any answer" in str(interruption)


def test_the_mean_of_a_part_is_right_on_average() -> None:
    """Values differ between strata and slices; ids of each draw are new, so that the order is."""
    values, means = np.array([0.1] * 20 + [0.9] * 10 + [0.5] * 12), []
    for draw in range(60):
        rows = sample()[:42].with_columns(item_id=pl.format("{}-{}", pl.lit(draw), "item_id"), value=pl.Series(values))
        order = order_requests(rows)
        kept, _ = keep_answered(rows, answers(order[:15], order))
        of_a = kept.filter(pl.col("route") == "a").drop_nulls("weight")
        means.append(float(of_a["weight"].to_numpy() @ of_a["value"].to_numpy() / of_a["weight"].sum()))
    assert np.mean(means) == pytest.approx(0.5)


def test_without_weights_there_is_nothing_to_raise() -> None:
    rows, interruption = keep_answered(sample().drop("weight"), answers([3], list(range(44))))
    assert rows["reason"].null_count() == 1
    assert "weights" not in str(interruption)
