"""Slices unlike all labelled domains: flagged, in brackets, with an interval from the prior, and labelled first."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from production import traffic
from rows import rows

import entropy_sentinel as es
from entropy_sentinel.estimators.familiarity import PRIOR
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.monitor.alert_codes import Flag
from entropy_sentinel.monitor.batch import estimate_slices
from entropy_sentinel.monitor.monitor_options import EstimateOptions
from entropy_sentinel.monitor.monitor_result import make_table
from entropy_sentinel.monitor.showing.monitor_page import write_page
from entropy_sentinel.monitor.showing.monitor_terminal import make_parts
from entropy_sentinel.statistics.slice_intervals import Residuals

OF_MATHS, OF_TRIVIA = list(range(40)), list(range(100, 140))


def words(n: int, vocabulary: list[int], seed: int) -> pl.Series:
    rng = np.random.default_rng(seed)
    return pl.Series(
        [sorted(rng.choice(vocabulary, 12, replace=False).tolist()) for _ in range(n)], dtype=pl.List(pl.UInt8)
    )


@pytest.fixture(scope="module")
def estimator() -> FittedEstimator:
    features = traffic(400).with_columns(buckets=words(400, OF_MATHS, 1), buckets_of=pl.lit("tokens"))
    return es.fit(features, features.select("item_id", label=pl.Series(rows(400, 0)[1])), "log-3d")


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    """Routes shop and school of the labelled kind, and trivia of another."""
    log = traffic(300, seed=3).with_columns(
        pl.Series("route", ["shop", "school", "trivia"] * 100),
        buckets=words(300, OF_MATHS, 2),
        buckets_of=pl.lit("tokens"),
    )
    other = pl.col("route") == "trivia"
    return log.with_columns(buckets=pl.when(other).then(words(300, OF_TRIVIA, 3)).otherwise("buckets"))


def test_the_slice_of_another_kind_is_flagged_and_its_interval_is_the_priors(estimator, log) -> None:
    result = es.monitor(estimator, log, by=["route"], alert_on=["unfamiliar"])
    flags = {row["route"]: Flag.UNFAMILIAR in row["flag_codes"] for row in result.slices.iter_rows(named=True)}
    assert flags == {"shop": False, "school": False, "trivia": True}
    row = result.slices.row(by_predicate=pl.col("route") == "trivia", named=True)
    assert row["basis"] == "prior"
    prior = Residuals((), (), (), 4, PRIOR).intervals([row["estimated_accuracy"]], [row["n_estimated"]], 0.9)
    assert (row["lower"], row["upper"]) == (pytest.approx(prior.lower[0]), pytest.approx(prior.upper[0]))
    assert row["estimate_worth"] < 5
    [line] = [part for part in make_parts(result) if isinstance(part, str) and "assumes a typical error" in part]
    assert line.startswith("all slices: no held-out domain")
    [alert] = result.alerts
    assert (alert["kind"], alert["slice"]) == ("unfamiliar", {"route": "trivia"})
    assert "unlike anything labelled" in alert["message"]


def test_no_limit_is_passed_by_an_unfamiliar_slice(estimator, log) -> None:
    alerts = es.monitor(estimator, log, by=["route"], fail_below=0.001).alerts
    assert [(alert["kind"], alert["slice"]["route"]) for alert in alerts] == [("below", "trivia")]
    assert "unlike all labelled domains" in alerts[0]["message"]


def test_its_numbers_are_in_brackets_and_the_page_does_not_tell_them(estimator, log, tmp_path: Path) -> None:
    result = estimate_slices(estimator, log, EstimateOptions(by=("route",)))
    head, lines = make_table(result, result.slices, 10)
    column = head.index("estimated") + 1
    assert {line[0]: line[column].startswith("(") for line in lines} == {"shop": False, "school": False, "trivia": True}
    write_page(result, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "1 slice unlike all labelled domains, so the accuracy there is not known: trivia." in page
    estimate = result.slices.row(by_predicate=pl.col("route") == "trivia", named=True)["estimated_accuracy"]
    assert page.count(f"{estimate:.3f}") == page.count(f"({estimate:.3f})")


def test_an_estimator_without_words_says_that_it_cannot_tell(log) -> None:
    features = traffic(400)
    plain = es.fit(features, features.select("item_id", label=pl.Series(rows(400, 0)[1])), "log-3d")
    lines = [
        part
        for part in make_parts(estimate_slices(plain, log, EstimateOptions(by=("route",))))
        if isinstance(part, str)
    ]
    assert any(line.startswith("familiarity: unknown") for line in lines)
    assert not any(Flag.UNFAMILIAR in codes for codes in es.estimate(plain, log, ["route"])["flag_codes"].to_list())


def test_responses_of_another_kind_of_words_are_not_compared(estimator, log) -> None:
    from_texts = log.with_columns(buckets_of=pl.lit("words"))
    assert not any(
        Flag.UNFAMILIAR in codes for codes in es.estimate(estimator, from_texts, ["route"])["flag_codes"].to_list()
    )


def test_unfamiliar_slices_are_labelled_first_and_enough(estimator, log) -> None:
    chosen = es.sample(estimator, log, ["route"], budget=25)
    assert chosen.slices.select("route", "unfamiliar").row(0) == ("trivia", True)
    assert chosen.slices.row(0, named=True)["n_to_label"] >= 10
    assert chosen.responses["route"].to_list()[:10] == ["trivia"] * 10
