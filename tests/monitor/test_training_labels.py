"""The same labels fit an estimator and correct it: its predictions of these responses must not have seen them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from production import fitted, traffic, written

import entropy_sentinel as es
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.monitor.monitor_result import Monitored

FOREST = "forest-3d-unbalanced-uncalibrated"


@pytest.fixture(scope="module")
def answers() -> pl.DataFrame:
    """Real answers to real questions."""
    return es.features(es.read_logs(es.example().traces))


@pytest.fixture(scope="module")
def coins(answers: pl.DataFrame) -> pl.DataFrame:
    """Labels of half of them that log-probabilities cannot foresee."""
    some = answers.filter(pl.int_range(pl.len()) % 2 == 0, pl.col("reason").is_null())
    return some.select("item_id", label=pl.Series(np.random.default_rng(5).random(len(some)) < 0.5))


@pytest.fixture(scope="module")
def forest(answers: pl.DataFrame, coins: pl.DataFrame) -> FittedEstimator:
    """A forest that knows its training labels by heart."""
    return es.fit(answers, coins, FOREST, {"trees": 30, "max_depth": [10], "min_samples_split": [2]})


def watched(estimator: FittedEstimator | Path, answers, labels: pl.DataFrame) -> Monitored:
    return es.monitor(estimator, answers, by=["benchmark"], labels=labels, labels_at_random=True)


def test_a_forest_is_no_witness_of_the_labels_that_it_knows(answers, coins, forest) -> None:
    """What cannot be foreseen must not count as foreseen: 15 labels are worth about 15, not half as many again."""
    slices = watched(forest, answers, coins).slices
    assert slices["n_labelled"].to_list() == [15] * 5
    assert slices["labels_worth"].mean() == pytest.approx(15, rel=0.15)
    before = watched(replace(forest, training=None), answers, coins)
    assert before.slices["labels_worth"].mean() > 20
    # Estimates without labels stay as they are.
    columns = ["benchmark", "estimated_accuracy", "lower", "upper", "flags"]
    assert slices.select(columns).equals(before.slices.select(columns))


def test_labels_of_other_responses_keep_the_predictions(answers, coins, forest) -> None:
    rest = answers.filter(pl.int_range(pl.len()) % 2 == 1, pl.col("reason").is_null())
    labels = rest.select("item_id", label=pl.int_range(pl.len()) % 3 == 0)
    rest_only = watched(forest, rest, labels).slices.drop("reasons")
    assert rest_only.equals(watched(replace(forest, training=None), rest, labels).slices.drop("reasons"))


def test_a_log_and_its_features_are_the_same_responses(answers, coins, forest, tmp_path: Path) -> None:
    es.save(forest, tmp_path / "mine.estimator")
    written(answers, tmp_path / "features.parquet")
    coins.write_csv(tmp_path / "labels.csv")
    columns = ["benchmark", "improved_accuracy", "labels_worth"]
    wanted = watched(forest, answers, coins).slices.select(columns).sort("benchmark")
    for logs, options in (
        (str(es.example().traces), {}),
        (str(tmp_path / "features.parquet"), {"state": tmp_path / "state"}),
        (str(tmp_path / "features.parquet"), {"state": tmp_path / "state"}),
    ):
        found = es.monitor(
            tmp_path / "mine.estimator",
            logs,
            by=["benchmark"],
            labels=tmp_path / "labels.csv",
            labels_at_random=True,
            **options,
        )
        rows = found.slices.select(columns).sort("benchmark").rows()
        assert [row[0] for row in rows] == wanted["benchmark"].to_list()
        assert np.array([row[1:] for row in rows]) == pytest.approx(wanted.drop("benchmark").to_numpy(), abs=1e-6)


def test_a_file_without_a_record_is_named_once(coins, answers, forest) -> None:
    notes = watched(replace(forest, training=None), answers, coins).problems.notes
    assert notes["training-unknown"] == len(coins)
    assert "training-unknown" not in watched(forest, answers, coins).problems.notes


def test_where_labels_are_too_few_to_leave_some_out_only_labels_count(answers) -> None:
    """Calibration needs five right answers; fewer are left without any fold."""
    some = answers.filter(pl.int_range(pl.len()) % 2 == 0, pl.col("reason").is_null())
    labels = some.select("item_id", label=pl.int_range(pl.len()) % 15 == 0)
    assert labels["label"].sum() == 5
    found = watched(es.fit(answers, labels, "logistic-1d-unbalanced-isotonic"), answers, labels)
    assert found.slices["improved_accuracy"].to_list() == pytest.approx([1 / 15] * 5)
    assert any("only the labels" in line for line in found.problems.lines())


def test_labels_without_a_response_are_no_training_labels() -> None:
    estimator = replace(fitted("atc-max"), training=None)
    labels = pl.DataFrame({"item_id": ["nowhere"], "label": [True]})
    assert "training-unknown" not in es.monitor(estimator, traffic(50), labels=labels).problems.notes
