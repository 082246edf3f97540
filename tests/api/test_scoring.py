"""P(correct) per response: the verb and the command."""

import csv
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from calling import run
from production import LOGPROBS, fitted, traffic, written
from tiny import TINY

import entropy_sentinel as es
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.monitor.response_scores import score


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


def test_another_model_and_log_probabilities_are_null_and_the_command_refuses_them(tmp_path: Path, capsys) -> None:
    estimator, rows = fitted("log-3d"), traffic(10)
    other = score(estimator, rows.with_columns(model=pl.lit("other")))
    assert other["p_correct"].null_count() == 10
    assert other.select("reason", "reason_code").unique().rows() == [("of model 'other'", "other-model")]
    fewer = score(estimator, rows.with_columns(top_k_returned=LOGPROBS["top_k_returned"] - 1))
    assert set(fewer["reason_code"]) == {"other-logprobs"}
    es.save(estimator, tmp_path / "mine.estimator")
    written(rows.with_columns(model=pl.lit("other")), tmp_path / "log.parquet")
    call = ["score", tmp_path / "mine.estimator", tmp_path / "log.parquet", "-o", tmp_path / "scores.csv"]
    assert run(capsys, *call)[0] == 1
    assert "--any-model" in run(capsys, *call)[2]
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
    assert (status, [line.split(":")[0] for line in errors.splitlines()]) == (0, ["not judged", "do not use"])
    assert message == f"{target}: 160 responses, 0 of them without P(correct); mean P(correct) {mean:.3f}\n"
    rows = list(csv.DictReader(target.read_text().splitlines()))
    assert [row["item_id"] for row in rows] == expected["item_id"].to_list()
    assert [float(row["p_correct"]) for row in rows] == pytest.approx(expected["p_correct"].to_list())
    status, _, errors = run(capsys, "score", tmp_path / "mine.estimator", TINY.traces, "-o", tmp_path / "a.xlsx")
    assert (status, "--output: must end with .csv" in errors) == (1, True)


def reply(k: int = 20, **changes: Any) -> dict[str, Any]:
    """A chat completion of three tokens with `k` equally spaced alternatives."""
    values = [-0.3 - 0.5 * place for place in range(k)]
    values = [value - math.log(sum(map(math.exp, values))) for value in values]
    top = [{"token": f"t{place}", "logprob": value} for place, value in enumerate(values)]
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": "t0t0t0"},
        "finish_reason": "stop",
        "logprobs": {"content": [{"token": "t0", "logprob": values[0], "top_logprobs": top}] * 3},
    }
    return {
        "id": "a",
        "object": "chat.completion",
        "model": "m",
        "choices": [choice | changes.pop("choice", {})],
    } | changes


class Unreadable:
    """An object of a client that fails when it is read."""

    def model_dump(self) -> dict[str, Any]:
        raise RuntimeError("the connection is closed")


# Replies without P(correct), with the code of the reason.
OTHERS: list[tuple[Any, str]] = [
    (reply(model="another"), "other-model"),
    (reply(k=5), "other-logprobs"),
    (reply(choice={"logprobs": None}), "no-logprobs"),
    (reply(choice={"logprobs": {"content": []}, "message": {"content": ""}}), "empty"),
    (reply(choice={"logprobs": {"content": [{"token": "a", "logprob": -1.0, "top_logprobs": []}]}}), "no-alternatives"),
    (reply(choice={"logprobs": {"content": [{"token": "a", "logprob": "no"}]}}), "unreadable"),
    (reply(choice={"logprobs": {"content": [{}]}}), "unreadable"),
    (reply(choice={"message": 5}), "unreadable"),
    (reply(choices=None), "unreadable"),
    (reply(choices=[]), "unreadable"),
    ({"error": {"message": "of model x: too busy"}}, "refused"),
    ({"object": "list", "data": []}, "unreadable"),
    ({}, "unreadable"),
    ({"choices": {"a": {"b": float("nan")}}}, "unreadable"),
    (None, "unreadable"),
    (7, "unreadable"),
    (b"{}", "unreadable"),
    (Unreadable(), "unreadable"),
]


@pytest.fixture(scope="module")
def scorer() -> FittedEstimator:
    return fitted("log-3d")


@pytest.mark.parametrize(("other", "code"), OTHERS)
def test_no_reply_raises_an_error(other: Any, code: str, scorer: FittedEstimator) -> None:
    row = score(scorer, other).row(0, named=True)
    assert (row["p_correct"], row["verdict"], row["reason_code"]) == (None, None, code)
    assert row["reason"]


def test_a_list_of_replies_has_a_row_for_each_in_order(scorer: FittedEstimator) -> None:
    good = [reply(id=f"good-{number}") for number in range(2)]
    scores = score(scorer, [good[0], *(other for other, _ in OTHERS), good[1]])
    assert scores["reason_code"].to_list() == [None, *(code for _, code in OTHERS), None]
    assert scores["item_id"].to_list()[:: len(scores) - 1] == ["good-0", "good-1"]
    assert scores["p_correct"].to_list()[:: len(scores) - 1] == [score(scorer, reply())["p_correct"][0]] * 2
    assert score(scorer, []).is_empty()


def test_a_wrong_estimator_raises_an_error_before_any_reply_is_scored(features: pl.DataFrame, labels) -> None:
    threshold = es.fit(features, labels, "atc-max")
    for given in (reply(model="another"), [], {}):
        with pytest.raises(InputError, match=r"P\(correct\)"):
            score(threshold, given)
