"""P(correct) per response: the verb and the command."""

import csv
from pathlib import Path

import polars as pl
import pytest
from calling import run
from production import LOGPROBS, fitted, traffic
from tiny import TINY

import entropy_sentinel as es
from entropy_sentinel.frames.errors import InputError, ProvenanceError
from entropy_sentinel.monitor.once import score


@pytest.fixture(scope="module")
def features() -> pl.DataFrame:
    return es.read_features(TINY.traces)


@pytest.fixture(scope="module")
def labels() -> pl.DataFrame:
    return es.read_labels(TINY.labels)


def test_every_response_has_its_probability_in_order(features: pl.DataFrame, labels: pl.DataFrame) -> None:
    estimator = es.fit(features, labels, "baseline-max")
    result = score(estimator, features)
    assert result["item_id"].to_list() == features["item_id"].to_list()
    assert result["p_correct"].to_list() == estimator.estimator.p_correct(features).tolist()


def test_a_response_without_features_is_null_with_the_reason() -> None:
    rows = traffic(10).with_columns(
        reason=pl.when(pl.col("item_id") == "0-3").then(pl.lit("empty response")), max=pl.lit(0.5)
    )
    result = score(fitted("log-3d"), rows)
    assert result.filter(pl.col("p_correct").is_null()).select("item_id", "reason").rows() == [
        ("0-3", "empty response")
    ]
    assert result["p_correct"].drop_nulls().is_between(0, 1).all()
    none = score(fitted("log-3d"), rows.filter(item_id="0-3"))
    assert none["p_correct"].to_list() == [None]


def test_a_threshold_estimator_gives_no_probability(features: pl.DataFrame, labels: pl.DataFrame) -> None:
    for rows in (features, features.head(0)):
        with pytest.raises(InputError, match=r"'atc-max' .*P\(correct\)"):
            score(es.fit(features, labels, "atc-max"), rows)


def test_another_model_and_log_probabilities_are_refused() -> None:
    estimator, rows = fitted("log-3d"), traffic(10)
    with pytest.raises(ProvenanceError, match="--any-model"):
        score(estimator, rows.with_columns(model=pl.lit("other")))
    with pytest.raises(ProvenanceError, match="top_k_returned"):
        score(estimator, rows.with_columns(top_k_returned=LOGPROBS["top_k_returned"] - 1))
    result = score(estimator, rows.with_columns(model=pl.lit("other")), any_model=True)
    assert "10 of model 'other'" in result["overridden"][0]
    assert result["p_correct"].equals(score(estimator, rows)["p_correct"])


def test_the_command(features: pl.DataFrame, labels: pl.DataFrame, tmp_path: Path, capsys) -> None:
    estimator = es.fit(features, labels, "log-3d")
    es.save(estimator, tmp_path / "mine.estimator")
    expected = score(estimator, features)
    target = tmp_path / "scores.csv"
    status, message, errors = run(capsys, "score", tmp_path / "mine.estimator", TINY.traces, "-o", target)
    mean = expected["p_correct"].mean()
    assert (status, errors.split(":")[0]) == (0, "do not use")
    assert message == f"{target}: 160 responses, 0 of them without P(correct); mean P(correct) {mean:.3f}\n"
    rows = list(csv.DictReader(target.read_text().splitlines()))
    assert [row["item_id"] for row in rows] == expected["item_id"].to_list()
    assert [float(row["p_correct"]) for row in rows] == pytest.approx(expected["p_correct"].to_list())
    status, _, errors = run(capsys, "score", tmp_path / "mine.estimator", TINY.traces, "-o", tmp_path / "a.xlsx")
    assert (status, "--output: must end with .csv" in errors) == (1, True)
