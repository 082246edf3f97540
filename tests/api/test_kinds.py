"""Domains by default: the files of a log, unless they are its days or parts."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from production import traffic
from rows import rows

import entropy_sentinel as es
from entropy_sentinel.api.domains import are_parts_of_one_log, find_domain_columns
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.monitor.batch import BY_DEFAULT, estimate_slices, options_of


def captured(days: int = 4) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Features of a log with a file a day and three topics, and labels."""
    names = [f"2026-11-{1 + n % days:02}" for n in range(240)]
    topics = np.random.default_rng(5).permutation(["sums", "trivia", "code"] * 80)
    features = traffic(240).drop("route", "user")
    features = features.with_columns(
        pl.Series("benchmark", names), pl.Series("metadata.topic", topics), item_id=pl.format("i{}", pl.int_range(240))
    )
    return features, features.select("item_id", label=pl.Series(rows(240, 0)[1]))


@pytest.mark.parametrize(
    "names",
    [
        ["2026-11-24", "2026-11-25"],
        ["2026-11-24", "2026-11-24-2"],  # two processes
        ["app-20261124", "app-20261125", "web-20261124"],
        ["2026-11", "2026-12"],
        ["2026-W47", "2026-W48"],
        ["2026-11-24T10", "2026-11-24T11"],
        ["part-00000", "part-00001"],
        ["data-00000-of-00002", "data-00001-of-00002"],
        ["app.log", "app.log.1"],
        ["3f1c9a0b7d2e4c55", "9b1deb4d3b7d4bad"],
    ],
)
def test_days_and_parts(names: list[str]) -> None:
    assert are_parts_of_one_log(names)


@pytest.mark.parametrize(
    "names",
    [
        ["gsm8k", "math", "svamp"],
        ["math", "math500"],
        ["aime24", "aime25"],
        ["arc-easy", "arc-challenge"],
        ["topic 1", "topic 2"],
        ["billing-2026-11-24", "code-2026-11-24"],
        ["2026-11-24"],
        [],
    ],
)
def test_kinds(names: list[str]) -> None:
    assert not are_parts_of_one_log(names)


def test_a_domain_may_have_a_plus_in_its_name(tmp_path: Path) -> None:
    """The names of the domains are joined with `+` to that of the group, which cannot be divided again."""
    features, labels = captured()
    topics = pl.col("metadata.topic").replace({"code": "c++", "sums": "a+b"})
    fitted = es.fit(features.with_columns(topics), labels, "atc-max", domain="metadata.topic")
    es.save(fitted, tmp_path / "plus.estimator")
    metadata = es.load(tmp_path / "plus.estimator").metadata
    assert fitted.metadata.domains == metadata.domains == ["a+b", "c++", "trivia"]
    assert "3 domains: a+b, c++, trivia" in str(es.load(tmp_path / "plus.estimator"))
    plain = es.fit(features, labels, "atc-max", domain="metadata.topic").metadata
    assert (plain.domains, "domains" in plain.to_dict()) == (["code", "sums", "trivia"], False)


def test_a_fit_on_the_days_of_a_log_asks_for_the_column_of_the_domains() -> None:
    features, labels = captured()
    message = (
        r"domain: .* days or parts \(2026-11-01, 2026-11-02, 2026-11-03, \.\.\.\).* metadata\.topic \(3\).*domain="
    )
    with pytest.raises(InputError, match=message):
        es.fit(features, labels, "atc-max")
    assert es.fit(features, labels, "atc-max", domain="metadata.topic").metadata.group == "code+sums+trivia"
    # Whoever names the column means it.
    assert es.fit(features, labels, "atc-max", domain="benchmark").metadata.group.startswith("2026-11-01+")
    numbered = features.with_columns(benchmark=pl.col("benchmark").str.slice(8))
    with pytest.raises(InputError, match=r"metadata\.topic \(3\)"):
        es.fit(numbered, labels, "atc-max")


def test_estimates_by_the_days_of_a_log_name_the_other_columns() -> None:
    features, labels = captured()
    estimator = es.fit(features, labels, "atc-max", domain="metadata.topic")
    [line] = estimate_slices(estimator, features, options_of({"by": BY_DEFAULT})).problems.lines()
    assert line.startswith("4 slices that are files of one log, such as its days, rather than kinds of questions")
    assert "metadata.topic" in line
    assert not estimate_slices(estimator, features, options_of({"by": ["metadata.topic"]})).problems.lines()


def test_a_first_sample_does_not_offer_days() -> None:
    features, _ = captured(days=3)
    note = es.sample(None, features, (), budget=60).notes[-1]
    assert "columns that give more: metadata.topic (3)" in note
    assert "benchmark" not in note
    assert find_domain_columns(features, ["benchmark"], 3) == {}


def test_every_verb_reads_a_log_in_memory(tmp_path: Path) -> None:
    """A frame of pandas with a reply per row, as `read_logs` takes it."""
    import pandas as pd

    def step(logprob: float) -> dict:
        return {"token": "4", "logprob": logprob, "top_logprobs": [{"token": "4", "logprob": logprob}]}

    replies = []
    for number in range(80):
        content = [step(-0.05 - 0.01 * (number % 17))] * (3 + number % 3)
        choice = {"message": {"content": "4"}, "finish_reason": "stop", "logprobs": {"content": content}}
        replies.append({"id": f"r{number}", "model": "m", "choices": [choice], "topic": "ab"[number % 2]})
    log = pd.DataFrame(replies)
    labels = pl.DataFrame({"item_id": [f"r{n}" for n in range(80)], "label": [n % 17 < 9 for n in range(80)]})
    estimator = es.fit(log, labels, "log-3d", domain="topic")
    by_features = es.fit(es.read_features(log, further=["topic"]), labels, "log-3d", domain="topic")
    assert estimator.metadata.to_dict() == by_features.metadata.to_dict()
    assert es.estimate(estimator, log, ["topic"])["n_estimated"].to_list() == [40, 40]
    assert es.monitor(estimator, log, by=["topic"]).slices["n_estimated"].to_list() == [40, 40]
    assert es.score(estimator, log)["p_correct"].null_count() == 0
    assert es.sample(estimator, log, ["topic"], budget=10).slices["n_to_label"].sum() == 10
    es.read_logs(log, columns=["topic"]).write_parquet(tmp_path / "log.parquet")
    assert es.fit(str(tmp_path / "log.parquet"), labels, "log-3d", domain="topic").metadata.group == "a+b"
