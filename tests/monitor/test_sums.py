"""Sums of slices: they add up in any order, and give back means and covariances."""

from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest
from production import fitted, traffic

import entropy_sentinel as es
from entropy_sentinel.estimators.estimator_base import Estimator
from entropy_sentinel.estimators.training_predictions import predict_responses
from entropy_sentinel.monitor.column_declaration import Statistic
from entropy_sentinel.monitor.slice_columns import STATISTICS
from entropy_sentinel.monitor.summing import slice_sums as module
from entropy_sentinel.monitor.summing.slice_sums import (
    MOST_HELD_ROWS,
    KeyedSums,
    SliceSums,
    SumsAccumulator,
    compute_covariance,
    find_places,
    list_pairs,
    number_rows,
)


def partial(slices: list[str | None], values: np.ndarray) -> KeyedSums:
    """One row per response."""
    n, k = values.shape
    products = np.column_stack([values[:, i] * values[:, j] for i, j in list_pairs(k)])
    sums = SliceSums(
        statistics=np.ones((n, len(STATISTICS))),
        values=values,
        products=products,
        histogram=np.eye(n, 4, dtype=np.uint32),
        words=np.eye(n, 3, dtype=np.uint32),
        numbers=np.eye(n, 2, dtype=np.uint32),
    )
    return KeyedSums(
        pl.DataFrame({"by.route": slices, "grain": [None] * n}, schema_overrides={"by.route": pl.String}), sums
    )


def test_like_slices_are_added_up_and_a_null_is_a_slice() -> None:
    values = np.arange(8.0).reshape(4, 2)
    result = KeyedSums.add_up([partial(["a", None], values[:2]), partial([None, "a"], values[2:])])
    assert result.keys["by.route"].to_list() == ["a", None]
    assert result.sums.statistics.tolist() == [[2] * len(STATISTICS)] * 2
    assert result.sums.values.tolist() == [[6, 8], [6, 8]]
    # a: 0 0 + 6 6, 0 1 + 6 7, 1 1 + 7 7
    assert result.sums.products[0].tolist() == [36, 42, 50]
    assert result.sums.histogram.tolist() == [[1, 1, 0, 0], [1, 1, 0, 0]]
    assert result.sums.words.tolist() == [[1, 1, 0], [1, 1, 0]]
    assert result.sums.numbers.tolist() == [[1, 1], [1, 1]]


def test_means_and_covariances_are_those_of_the_values() -> None:
    values = np.random.default_rng(1).random((50, 3))
    result = KeyedSums.add_up([partial(["a"] * 20, values[:20]), partial(["a"] * 30, values[20:])]).sums
    assert np.allclose(result.mean()[0], values.mean(axis=0), atol=1e-15)
    assert np.allclose(compute_covariance(result.values[0], result.products[0], 50), np.cov(values.T), atol=1e-14)


def test_rows_without_a_group_go_nowhere() -> None:
    sums = partial(["a", "b", "c"], np.ones((3, 1))).sums
    assert sums.group(np.array([1, -1, 1]), 3).values.tolist() == [[0], [2], [0]]
    total = SliceSums.zeros(2, sums)
    total.add(np.array([-1, 1, 1]), sums)
    total.add(np.array([-1, -1, -1]), sums)
    assert total.values.tolist() == [[0], [2]]


def test_only_counts_are_whole_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PLACES", {"seconds": 0, "n_long": 0})
    columns = [
        SliceSums(np.array([[85.236], [np.nan]]), *[np.empty((2, 0))] * 5).compute_column(
            Statistic(name, "", "", each=pl.col("seconds"))
        )
        for name in ("seconds", "n_long")
    ]
    assert [column.to_list() for column in columns] == [[85.236, None], [85, None]]


@dataclass(frozen=True)
class SquareOfTheMean(Estimator):
    """Twice `x` is the value, and the square of half the mean is the accuracy; there is no P(correct)."""

    def values(self, features: pl.DataFrame) -> np.ndarray:
        return features.select(2 * pl.col("x"), other=5.0).to_numpy()

    def accuracies_of(self, means: np.ndarray) -> np.ndarray:
        return (means[:, 0] / 2) ** 2


def test_without_p_correct_the_prediction_is_the_estimate_of_the_response_alone() -> None:
    assert predict_responses(SquareOfTheMean("square"), pl.DataFrame({"x": [0.5, 0.2]})).tolist() == pytest.approx(
        [0.25, 0.04]
    )


def test_there_and_back_as_a_table() -> None:
    whole = partial(["a", "b"], np.ones((2, 3)))
    again = KeyedSums.from_frame(whole.to_frame())
    assert again.keys.equals(whole.keys)
    assert all(np.array_equal(one, other) for one, other in zip(again.sums, whole.sums, strict=True))


def test_rows_are_found_among_unique_ones() -> None:
    keys = pl.DataFrame({"a": ["x", None, "x", "y"], "b": [1, 1, 1, None]})
    numbers, unique = number_rows(keys)
    assert numbers.tolist() == [0, 1, 0, 2]
    assert find_places(pl.DataFrame({"a": ["y", "z"], "b": [None, 1]}, schema=keys.schema), unique).tolist() == [2, -1]


def test_what_is_held_while_a_file_is_read_is_bounded_and_nothing_is_lost() -> None:
    sums, full = SumsAccumulator(), []
    step = MOST_HELD_ROWS // 4
    for start in range(0, 11 * step, step):
        part = partial([f"user-{number}" for number in range(start, start + step)], np.ones((step, 1)))
        full += [one for one in [sums.add_frame(part)] if one]
        assert sums._rows <= MOST_HELD_ROWS
    parts = [*full, sums.rest()]
    assert len(full) == 2
    assert sum(part.sums.n_responses.sum() for part in parts) == 11 * step


def test_more_slices_than_are_held_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices, windows and responses without a value are then counted in several steps."""
    expected = es.monitor(fitted(), traffic(200), by=["user", "route"], window="hour")
    monkeypatch.setattr("entropy_sentinel.monitor.summing.sum_merging.MOST_HELD_ROWS", 5)
    monkeypatch.setattr(module, "MOST_HELD_ROWS", 5)
    monkeypatch.setattr("entropy_sentinel.api.feature_frames.FEATURES_AT_A_TIME", 10)
    found = es.monitor(fitted(), traffic(200), by=["user", "route"], window="hour")
    assert found.slices["n_responses"].to_list() == expected.slices["n_responses"].to_list()
