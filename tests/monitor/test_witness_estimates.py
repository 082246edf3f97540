"""Slices unlike all labelled domains get an estimate from another model's answers, or from a calibrated judge."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from production import traffic
from rows import rows

import entropy_sentinel as es
from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.monitor.alert_codes import Flag
from entropy_sentinel.monitor.monitor_result import Monitored, make_table
from entropy_sentinel.monitor.showing.monitor_page import render_page
from entropy_sentinel.monitor.showing.monitor_terminal import make_parts
from entropy_sentinel.monitor.showing.slices_to_ask import list_slices_to_ask, write_slices_to_ask
from entropy_sentinel.statistics.monitoring.requested_slices import (
    WitnessedSlice,
    estimate_from_witness,
    measure_witness_errors,
)

ROUTES = ("shop", "school", "trivia", "stories", "law", "songs")
ACCURACIES = (0.9, 0.8, 0.6, 0.3, 0.5, 0.2)
N = 240


def words(n: int, first: int, seed: int) -> pl.Series:
    rng = np.random.default_rng(seed)
    vocabulary = np.arange(first, first + 40)
    chosen = [sorted(rng.choice(vocabulary, 12, replace=False).tolist()) for _ in range(n)]
    return pl.Series(chosen, dtype=pl.List(pl.UInt8))


@pytest.fixture(scope="module")
def estimator() -> FittedEstimator:
    features = traffic(400).with_columns(buckets=words(400, 0, 1), buckets_of=pl.lit("tokens"))
    return es.fit(features, features.select("item_id", label=pl.Series(rows(400, 0)[1])), "log-3d")


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    """Forty responses of each route; those of `shop` have the words of the labelled domains."""
    log = traffic(N, seed=3).with_columns(pl.Series("route", [*ROUTES] * (N // 6)), buckets_of=pl.lit("tokens"))
    is_familiar = pl.col("route") == "shop"
    return log.with_columns(buckets=pl.when(is_familiar).then(words(N, 0, 2)).otherwise(words(N, 100, 3)))


@pytest.fixture(scope="module")
def truth(log: pl.DataFrame) -> pl.DataFrame:
    """What is right, with whom the other model agrees, and what a judge says, who is wrong in a tenth of cases."""
    rng = np.random.default_rng(5)
    accuracy = np.tile(ACCURACIES, N // 6)
    right = rng.random(N) < accuracy
    agrees = np.where(right, rng.random(N) < 0.97, rng.random(N) < 0.05)
    judge = right ^ (rng.random(N) < 0.1)
    return log.select("item_id", "route", right=pl.Series(right), agrees=pl.Series(agrees), judge=pl.Series(judge))


def opinion(truth: pl.DataFrame, column: str = "agrees", **more: pl.Expr) -> pl.DataFrame:
    """Return second opinions on thirty responses of each route, of answers that can be compared but for `stories`."""
    rows = truth.group_by("route", maintain_order=True).head(30)
    is_comparable = pl.col("route") != "stories"
    columns = {"judge": pl.lit("big"), "witness": pl.lit("second-opinion"), "weight": pl.lit(40 / 30)}
    return rows.select("item_id", label=column, comparable=is_comparable, **(columns | more))


def verdicts(truth: pl.DataFrame) -> pl.DataFrame:
    rows = truth.group_by("route", maintain_order=True).head(30)
    return rows.select("item_id", label="judge", judge=pl.lit("strict"), weight=pl.lit(40 / 30))


def people(
    truth: pl.DataFrame, n: int = 20, routes: tuple[str, ...] = ("shop", "school", "trivia", "law")
) -> pl.DataFrame:
    labelled = truth.filter(pl.col("route").is_in(routes)).group_by("route", maintain_order=True).head(n)
    return labelled.select("item_id", label="right", weight=pl.lit(40 / n))


def row_of(result: Monitored, route: str) -> dict:
    return result.slices.row(by_predicate=pl.col("route") == route, named=True)


def test_without_labels_the_agreement_is_the_estimate(estimator, log, truth) -> None:
    result = es.monitor(estimator, log, by=["route"], judged=opinion(truth))
    for route in ("school", "trivia", "law", "songs"):
        row, agrees = row_of(result, route), truth.filter(pl.col("route") == route)["agrees"][:30]
        assert (row["rests_on"], row["witness"], row["n_asked"]) == ("opinion", "second opinion of big", 30)
        assert row["use_accuracy"] == pytest.approx(agrees.mean())
        alone = WitnessedSlice(agrees.cast(pl.Float64), np.full(30, np.nan), 40)
        expected = estimate_from_witness(alone, measure_witness_errors([]), 0.9)
        assert (row["use_lower"], row["use_upper"]) == pytest.approx((expected.lower, expected.upper))
        assert row["note"].startswith("partner not checked; no slice has labels")
        assert Flag.UNFAMILIAR in row["flag_codes"]
    # Answers that cannot be compared have no estimate but the estimator's, in brackets.
    assert (row_of(result, "stories")["rests_on"], row_of(result, "stories")["witness"]) == ("estimate", None)
    # The verdict on the estimator is not usable, but it may be good, so it has half of the weight where it applies.
    shop = row_of(result, "shop")
    agreement = truth.filter(pl.col("route") == "shop")["agrees"][:30].mean()
    assert shop["rests_on"] == "mean"
    assert shop["use_accuracy"] == pytest.approx((agreement + shop["estimated_accuracy"]) / 2)
    text = "\n".join(map(str, make_parts(result)))
    assert "second opinion of big: partner not checked" in text
    assert "It can be an estimate of 5 of 6 slices" in text
    headings, lines = make_table(result, result.slices, 6)
    [trivia] = [line for line in lines if line[0] == "trivia"]
    assert trivia[1 + headings.index("rests on")] == "second opinion of big (30)"
    assert not trivia[1 + headings.index("use")].startswith("(")
    assert "labels say (n)" not in headings
    assert "second opinion of big (30)" in render_page(result)


def test_labels_check_the_partner_and_measure_its_errors(estimator, log, truth) -> None:
    result = es.monitor(estimator, log, by=["route"], judged=opinion(truth), labels=people(truth))
    [about] = result.provenance["witness_estimates"]
    both = truth.filter(pl.col("route").is_in(["shop", "school", "trivia", "law"])).group_by("route").head(20)
    right = both.filter("right")
    partner = about["partner"]
    assert (partner["verdict"], partner["n"]) == ("strong", 80)
    assert partner["accuracy"] == pytest.approx(both["right"].mean())
    assert partner["sensitivity"] == pytest.approx(right["agrees"].mean())
    by_route = both.group_by("route").agg(pl.col("agrees", "right").mean())
    assert about["n_slices"] == 4
    assert about["error"] == pytest.approx((by_route["agrees"] - by_route["right"]).abs().mean())
    others = (by_route["right"].sum() - by_route["right"]) / 3
    assert about["mean_error"] == pytest.approx((others - by_route["right"]).abs().mean())
    # Labelled slices rest on labels. The interval of the others is narrower than without labels, and has no note.
    assert {row_of(result, route)["rests_on"] for route in ("shop", "school", "trivia", "law")} == {"labels"}
    songs, before = (
        row_of(result, "songs"),
        row_of(es.monitor(estimator, log, by=["route"], judged=opinion(truth)), "songs"),
    )
    assert (songs["rests_on"], songs["note"]) == ("opinion", None)
    assert songs["use_upper"] - songs["use_lower"] < before["use_upper"] - before["use_lower"]
    assert "strong enough: on 80 labelled answers" in "\n".join(map(str, make_parts(result)))


def test_a_reference_tells_without_labels(estimator, log, truth, tmp_path: Path) -> None:
    """The reference is 7; the logged answer is 7 or 8, and the other model's 7 more seldom."""
    texts = truth.with_row_index().select(
        "item_id",
        response=pl.when("right").then(pl.lit("It is 7.")).otherwise(pl.lit("8")),
        answer=pl.when(pl.col("index") % 5 == 0).then(pl.lit("7")).otherwise(pl.lit("9")),
        target=pl.lit("7"),
    )
    file = tmp_path / "opinions.csv"
    opinion(truth).join(texts, on="item_id").write_csv(file)
    result = es.monitor(estimator, log, by=["route"], judged=str(file))
    partner = result.provenance["witness_estimates"][0]["partner"]
    asked = opinion(truth).join(texts, on="item_id").filter("comparable")
    assert (partner["verdict"], partner["has_reference"], partner["n"]) == ("weak", True, 150)
    assert partner["at_least"] == pytest.approx((asked["answer"] == "7").mean())
    assert partner["accuracy"] == pytest.approx((asked["response"] != "8").mean())
    assert set(result.slices["rests_on"]) == {"estimate"}


def test_labels_of_a_part_of_a_slice_do_not_replace_opinions(estimator, log, truth) -> None:
    labels = people(truth).with_columns(weight=pl.lit(1.0))  # 20 of 40 responses
    result = es.monitor(estimator, log, by=["route"], judged=opinion(truth), labels=labels)
    assert row_of(result, "trivia")["n_labelled"] == 20
    assert row_of(result, "trivia")["rests_on"] == "opinion"


def test_few_or_partial_opinions_are_no_estimate(estimator, log, truth) -> None:
    few = opinion(truth.group_by("route", maintain_order=True).head(4))
    result = es.monitor(estimator, log, by=["route"], judged=few, labels_at_random=True)
    assert set(result.slices["rests_on"]) == {"estimate"}
    part = opinion(truth).with_columns(weight=pl.lit(0.7))  # they stand for 21 of 40 responses
    result = es.monitor(estimator, log, by=["route"], judged=part)
    assert set(result.slices["rests_on"]) == {"estimate"}
    assert "they do not count as an estimate" in "\n".join(map(str, make_parts(result)))
    other = opinion(truth).with_columns(item_id=pl.lit("other-") + pl.col("item_id"))
    text = "\n".join(map(str, make_parts(es.monitor(estimator, log, by=["route"], judged=other))))
    assert "second opinion of big: the logs have none of its 180 responses" in text
    text = "\n".join(
        map(str, make_parts(es.monitor(estimator, log, by=["route"], judged=opinion(truth).drop("comparable"))))
    )
    assert "no column 'comparable'" in text
    with pytest.raises(InputError, match="judged: second opinion of big: 180 of 180 have no 'weight'"):
        es.monitor(estimator, log, by=["route"], judged=opinion(truth).drop("weight"))
    with pytest.raises(ConfigError, match="judged: needs labels"):
        es.monitor(estimator, log, by=["route"], judged=verdicts(truth))


def test_slices_to_ask_are_listed_until_enough_was_asked_and_sampled(estimator, log, truth, tmp_path: Path) -> None:
    texts = log.with_columns(question=pl.lit("?"), response=pl.lit("!"))
    file = tmp_path / "ask.csv"
    write_slices_to_ask(es.monitor(estimator, texts, by=["route"]), file)
    listed = pl.read_csv(file)
    assert set(listed.rows()) == {(route, "unfamiliar") for route in ROUTES[1:]}
    chosen = es.sample(estimator, texts, ["route"], 40, per_slice=8, slices=file)
    assert dict(chosen.responses["route"].value_counts().iter_rows()) == dict.fromkeys(ROUTES[1:], 8)
    first = es.sample(None, texts, ["route"], 50, per_slice=10, slices=file)
    assert set(first.responses["route"]) == set(ROUTES[1:])
    # Labelled by people, or asked about often enough.
    few = opinion(truth.filter(pl.col("route") != "songs"))
    labels = people(truth, 20, ("trivia",))
    result = es.monitor(estimator, texts, by=["route"], judged=few, labels=labels)
    assert list_slices_to_ask(result).rows() == [("songs", "unfamiliar")]
    file.write_text("metadata.route\nsongs\n")
    with pytest.raises(InputError, match="ask.csv: no column 'route'"):
        es.sample(estimator, texts, ["route"], 10, slices=file)
    file.write_text("route\npoems\n")
    with pytest.raises(InputError, match="no response of the 1 slices in"):
        es.sample(estimator, texts, ["route"], 10, slices=file)


def test_a_slice_of_the_last_windows_is_new(estimator, log) -> None:
    days = [f"2026-11-{1 + k * 12 // N:02}T10:00:00" for k in range(N)]
    times = log.with_columns(time=pl.Series(days), route=pl.when(pl.Series(days) > "2026-11-10").then("route"))
    familiar = times.with_columns(buckets=words(N, 0, 2))
    result = es.monitor(estimator, familiar, by=["route"], window="day")
    assert set(list_slices_to_ask(result).rows()) == {(route, "new") for route in ROUTES}
    assert es.monitor(estimator, familiar, by=["route"]).slices.height == 7


def test_windows_have_the_opinions_of_their_time(estimator, log, truth) -> None:
    times = log.with_columns(time=pl.Series([f"2026-11-0{2 + k // 120}T10:00:00" for k in range(N)]))
    result = es.monitor(estimator, times, by=["route"], judged=opinion(truth), window="day")
    assert result.windows is not None
    found = dict(result.windows.filter(pl.col("route") == "songs").select("n_asked", "use_accuracy").rows())
    agrees = truth.filter(pl.col("route") == "songs")["agrees"]
    assert found == {20: pytest.approx(agrees[:20].mean()), 10: pytest.approx(agrees[20:30].mean())}


def test_a_partner_that_is_not_stronger_is_refused_and_the_judge_estimates(estimator, log, truth) -> None:
    rng = np.random.default_rng(6)
    some = truth.with_columns(weak=pl.col("right") & pl.Series(rng.random(N) < 0.4))
    labels = people(truth, 30)
    weak = opinion(some, "weak")
    result = es.monitor(estimator, log, by=["route"], judged=[weak, verdicts(truth)], labels=labels)
    assert result.provenance["witness_estimates"][0]["partner"]["verdict"] == "weak"
    songs = row_of(result, "songs")
    assert (songs["rests_on"], songs["witness"]) == ("judge", "judge strict, calibrated")
    # Two shares: how many of those that the judge calls correct are correct, and how many of the others.
    labelled = truth.join(labels, on="item_id")
    shares = {}
    for says in (True, False):
        right = labelled.filter(pl.col("judge") == says)["right"]
        shares[says] = (right.sum() + 0.5) / (len(right) + 1)
    said = truth.filter(pl.col("route") == "songs")["judge"][:30]
    assert songs["use_accuracy"] == pytest.approx(np.mean([shares[one] for one in said]), abs=1e-3)
    text = "\n".join(map(str, make_parts(result)))
    assert "second opinion of big: no estimate, because it seems weaker than the watched model" in text
    assert "judge strict: calibrated by the labels of other slices." in text
    # A strong partner is preferred, but where answers cannot be compared the judge estimates.
    result = es.monitor(estimator, log, by=["route"], judged=[verdicts(truth), opinion(truth)], labels=labels)
    assert (row_of(result, "songs")["rests_on"], row_of(result, "stories")["rests_on"]) == ("opinion", "judge")
