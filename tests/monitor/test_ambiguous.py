"""Slices of whose questions many get several answers again and again, by a log's column `stable_classes`."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from production import fitted, line, log_file, traffic
from prometheus_client.parser import text_string_to_metric_families
from scipy.stats import binomtest

import entropy_sentinel as es
from entropy_sentinel.monitor.alert_codes import AlertKind, Flag
from entropy_sentinel.monitor.monitor_result import Monitored
from entropy_sentinel.monitor.showing.monitor_page import render_page
from entropy_sentinel.monitor.showing.result_files import format_metrics
from entropy_sentinel.statistics.ambiguity import AmbiguousShare

SAMPLES = 3
# Of each route how many questions look ambiguous, and how many could.
ROUTES = {"shop": (12, 30), "school": (3, 30), "support": (19, 19)}
FACT = "40% of the 30 questions"


def questions(column: str = "stable_classes") -> pl.DataFrame:
    """Features of the responses to the questions of ROUTES, SAMPLES to each, and of 30 of which nothing is known."""
    known = []
    for route, (ambiguous, n) in ROUTES.items():
        known += [(route, 2)] * ambiguous * SAMPLES + [(route, 1)] * (n - ambiguous) * SAMPLES
    whose = known + [("shop", None)] * 30
    place = pl.int_range(len(whose))
    return traffic(len(whose)).with_columns(
        pl.Series("route", [route for route, _ in whose]),
        pl.Series(column, [stable for _, stable in whose], dtype=pl.Float64),
        item_id=pl.format("q{}", pl.when(place < len(known)).then(place // SAMPLES).otherwise(place)),
        sample=pl.when(place < len(known)).then(place % SAMPLES).otherwise(0).cast(pl.UInt16),
    )


@pytest.fixture(scope="module")
def found() -> Monitored:
    return es.monitor(fitted("atc-se_sum"), questions(), by=["route"], alert_on=["ambiguous"], min_responses=1)


def test_the_share_of_questions_and_its_interval(found: Monitored) -> None:
    rows = {row["route"]: row for row in found.slices.iter_rows(named=True)}
    assert {route: row["n_questions"] for route, row in rows.items()} == {"shop": 30, "school": 30, "support": 19}
    for route, counts in ROUTES.items():
        interval = binomtest(*counts).proportion_ci(0.95, "wilson")
        row = rows[route]
        assert row["ambiguous_share"] == pytest.approx(counts[0] / counts[1])
        assert (row["ambiguous_lower"], row["ambiguous_upper"]) == pytest.approx(tuple(interval))


def test_one_slice_is_flagged_and_an_alert(found: Monitored) -> None:
    """School has 3 of 30, whose lower limit is 0.035; support has too few questions."""
    rows = {row["route"]: dict(zip(row["flag_codes"], row["reasons"], strict=True)) for row in found.slices.to_dicts()}
    assert [route for route, codes in rows.items() if Flag.AMBIGUOUS in codes] == ["shop"]
    (alert,) = found.alerts
    assert (alert.kind, alert["slice"]) == (AlertKind.AMBIGUOUS, {"route": "shop"})
    assert alert["message"] == rows["shop"][Flag.AMBIGUOUS]
    assert alert["message"].startswith(FACT)


def test_the_page_and_the_metrics_have_it(found: Monitored) -> None:
    assert f"<dt>ambiguous</dt><dd>shop: {FACT}" in render_page(found)
    read = {one.name: one.samples for one in text_string_to_metric_families(format_metrics(found))}
    shares = {one.labels["route"]: one.value for one in read["entropy_sentinel_ambiguous_share"]}
    assert shares == pytest.approx({route: ambiguous / n for route, (ambiguous, n) in ROUTES.items()})
    flags = {(one.labels["route"], one.labels["flag_code"]) for one in read["entropy_sentinel_flag"]}
    assert [route for route, code in flags if code == Flag.AMBIGUOUS] == ["shop"]


def test_without_the_column_nothing_is_reported() -> None:
    slices = es.monitor(fitted("atc-se_sum"), questions().drop("stable_classes"), by=["route"]).slices
    assert slices["n_questions"].to_list() == [0, 0, 0]
    assert slices.select("ambiguous_share", "ambiguous_lower", "ambiguous_upper").null_count().row(0) == (3, 3, 3)
    assert not slices["flag_codes"].list.contains(Flag.AMBIGUOUS).any()


def record(question: int, sample: int, stable: Any) -> dict[str, Any]:
    return line(question * SAMPLES + sample, id=f"q{question}", sample=sample, stable_classes=stable)


def test_files_add_up_where_the_samples_of_a_question_are_apart(tmp_path: Path) -> None:
    records = [record(number, sample, 1 + number % 2) for number in range(24) for sample in range(SAMPLES)]
    # No number: nothing is known of the question.
    records += [record(24, sample, "n/a") for sample in range(SAMPLES)]
    whole = log_file(tmp_path / "whole.jsonl", records)
    parts = [log_file(tmp_path / f"{sample}.jsonl", records[sample::SAMPLES]) for sample in range(SAMPLES)]
    estimator = fitted("atc-se_sum")
    one, several = (es.monitor(estimator, logs).slices for logs in (whole, parts))
    names = ("n_responses", "n_questions", "ambiguous_share", "ambiguous_lower")
    assert several.select(names).equals(one.select(names))
    assert one.select(names[:3]).row(0) == (75, 24, 0.5)
    assert Flag.AMBIGUOUS in one["flag_codes"][0]


def test_an_estimator_of_the_same_column_has_its_numbers() -> None:
    features = questions().with_columns(pl.col("stable_classes").fill_null(1))
    labels = features.select("item_id", "sample", label=pl.col("stable_classes") == 1)
    estimator = es.fit(features, labels, "atc-stable_classes")
    (row,) = es.monitor(estimator, features).slices.to_dicts()
    # 30 more than ROUTES, with one response each; of the 34 of 109 with two classes all responses are wrong.
    assert (row["n_questions"], row["ambiguous_share"]) == (109, pytest.approx(34 / 109))
    assert row["estimated_accuracy"] == pytest.approx(1 - 34 * SAMPLES / len(features))


def test_an_estimator_says_of_its_training_domains_how_many_questions_look_ambiguous(tmp_path: Path) -> None:
    features = questions()
    labels = features.select("item_id", "sample", label=pl.col("max") < pl.col("max").median())
    shares = {route: AmbiguousShare(pytest.approx(ambiguous / n), n) for route, (ambiguous, n) in ROUTES.items()}
    estimator = es.fit(features, labels, "atc-max", domain="route")
    assert estimator.metadata.ambiguous == shares
    es.save(estimator, tmp_path / "a.estimator")
    loaded = es.load(tmp_path / "a.estimator")
    assert loaded.metadata.ambiguous == shares
    assert "shop 40% of 30, school 10% of 30, support 100% of 19" in repr(loaded)
    unknown = es.fit(features.drop("stable_classes"), labels, "atc-max", domain="route")
    assert unknown.metadata.ambiguous is None
    assert "several answers" not in repr(unknown)
