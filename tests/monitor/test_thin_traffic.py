"""Slices of few responses a day: windows are pooled until something can be said, and silence is said too."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import polars as pl
import pytest
from production import BEGIN, fitted, traffic
from prometheus_client.parser import text_string_to_metric_families

import entropy_sentinel as es
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.monitor.alert_codes import Flag
from entropy_sentinel.monitor.monitor_result import Monitored
from entropy_sentinel.monitor.showing.monitor_page import render_page
from entropy_sentinel.monitor.showing.monitor_terminal import make_parts
from entropy_sentinel.monitor.showing.result_files import format_metrics as text_of

ATC = "atc-se_sum"
LAST_USABLE = "last_usable_window_start_seconds"


@pytest.fixture(scope="module")
def estimator() -> FittedEstimator:
    return fitted(ATC)


@pytest.fixture(scope="module")
def sides(estimator: FittedEstimator) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Responses that this estimator takes for correct, and others: a share of both is estimated as just that."""
    pool = traffic(3000, seed=3).with_columns(cut_off=pl.lit(False))
    above = pl.Series(estimator.estimator.values(pool.select(FEATURES))[:, 0] == 1)
    return pool.filter(above), pool.filter(~above)


class Log:
    """Responses of routes by day, of which a given share is estimated to be correct."""

    def __init__(self, sides: tuple[pl.DataFrame, pl.DataFrame]) -> None:
        self._sides = sides
        self.parts: list[pl.DataFrame] = []

    def add(self, day: float, route: str, n: int, share: float) -> "Log":
        right, wrong = round(n * share), n - round(n * share)
        rows = pl.concat([self._sides[0].head(right), self._sides[1].head(wrong)])
        ids = pl.format("{}-{}", pl.lit(len(self.parts)), pl.int_range(pl.len()))
        when = pl.lit(BEGIN + timedelta(days=day, hours=1))
        self.parts.append(rows.with_columns(route=pl.lit(route), time=when, item_id=ids))
        return self

    @property
    def rows(self) -> pl.DataFrame:
        return pl.concat(self.parts)


@pytest.fixture
def log(sides: tuple[pl.DataFrame, pl.DataFrame]) -> Log:
    return Log(sides)


def watched(estimator: FittedEstimator, log: Log, **options: object) -> Monitored:
    return es.monitor(estimator, log.rows, by=["route"], window="day", **options)


def metrics(results: Monitored) -> dict[str, list]:
    """The samples of each metric."""
    families = text_string_to_metric_families(text_of(results))
    return {family.name.removeprefix("entropy_sentinel_"): family.samples for family in families}


def by_route(results: Monitored, name: str) -> dict[str | None, float]:
    """The values of a metric by route."""
    return {sample.labels.get("route"): sample.value for sample in metrics(results)[name]}


def now(results: Monitored, route: str) -> dict[str, Any]:
    return results.now.row(by_predicate=pl.col("route") == route, named=True)


def test_a_slice_that_falls_on_a_few_responses_a_day(estimator: FittedEstimator, log: Log) -> None:
    """Sixty a day over eleven routes, one of them at 1.0, then at .25 for five days."""
    for day in range(3):
        for route in range(11):
            log.add(day, f"r{route}", 10, 1.0 if route == 0 else 0.8)
    options = {"reference": "2026-11-02..2026-11-04", "alert_on": ["drop"]}
    silent = []
    for day in range(3, 8):
        for route in range(11):
            log.add(day, f"r{route}", 8 if route == 0 else 5, 0.25 if route == 0 else 0.8)
        results = watched(estimator, log, **options)
        # Eight a day: on the fourth day there are 32, and never 30 of another route.
        alerts = [(alert["kind"], alert["slice"]["route"], alert["n_estimated"]) for alert in results.alerts]
        assert alerts == ([("drop", "r0", 32)] if day > 5 else [])
        silent.append(results.silent)
    assert silent == [True, True, True, False, False]
    (alert,) = results.alerts
    assert alert["change"] == pytest.approx(0.25 - 1)
    assert (alert["n_windows"], alert["window_from"][:10], alert["window"][:10]) == (4, "2026-11-06", "2026-11-09")
    assert alert["message"] == "estimated accuracy fell by 0.750 to 0.250"
    assert (alert["before"], alert["after"]) == pytest.approx((1.0, 0.25))
    assert (alert["since"][:10], alert["status"]) == ("2026-11-05", "new")
    row = now(results, "r0")
    assert row["estimated_accuracy"] == pytest.approx(0.25)
    # The test is of these 32 against the 30 of the reference, and of no other route.
    assert row["change_p"] == row["change_q"] < 1e-6
    assert by_route(results, "pooled_windows")["r0"] == 4
    assert by_route(results, "usable_slices") == {None: 1}


def test_pooled_windows_do_not_reach_into_the_reference(estimator: FittedEstimator, log: Log) -> None:
    for day in range(6):
        log.add(day, "a", 40 if day < 3 else 9, 1.0 if day < 3 else 0.0)
    results = watched(estimator, log, reference="2026-11-02..2026-11-04", alert_on=["drop"])
    assert results.now.select("n_estimated", "n_windows", "estimated_accuracy").rows() == [(27, 3, 0.0)]
    assert (results.alerts, results.silent) == ([], True)
    assert all(fact in make_parts(results)[-1] for fact in ("30", "last 14 days", "after the reference"))
    # The last day that could be used is one of the reference.
    assert by_route(results, LAST_USABLE) == {"a": (BEGIN + timedelta(days=2)).timestamp()}


def test_a_change_without_a_test_is_not_silence(estimator: FittedEstimator, log: Log) -> None:
    """Twelve responses in the reference are too few for a q, and so for an alert: it is said of which slice."""
    log.add(0, "a", 12, 1.0).add(1, "a", 60, 0.25)
    log.add(0, "b", 40, 1.0).add(1, "b", 40, 1.0)
    results = watched(estimator, log, reference="..2026-11-02", alert_on=["drop"])
    row = now(results, "a")
    assert (row["change"], row["change_q"], results.alerts) == (-0.75, None, [])
    (untested,) = [part for part in make_parts(results) if "not tested" in str(part)]
    assert ("fewer than 30" in untested, untested.endswith(": a"), untested in render_page(results)) == (
        True,
        True,
        True,
    )


@pytest.mark.parametrize(("day", "stale"), [(13, False), (14, True)])
def test_a_slice_that_had_enough_and_has_too_few_is_stale(
    estimator: FittedEstimator, log: Log, day: int, stale: bool
) -> None:
    """Fourteen days are pooled: those of the 2nd to the 15th of November, and then no more."""
    log.add(0, "a", 45, 1.0).add(day, "a", 20, 0.3).add(day, "b", 60, 0.7)
    results = watched(estimator, log, alert_on=["stale"])
    assert [(alert["kind"], alert["slice"]) for alert in results.alerts] == [("stale", {"route": "a"})] * stale
    assert [Flag.STALE in codes for codes in results.slices.sort("route")["flag_codes"]] == [stale, False]
    row = now(results, "a")
    assert (row["n_estimated"], row["n_windows"]) == ((20, 1) if stale else (65, 14))
    newest = (BEGIN + timedelta(days=day)).timestamp()
    assert by_route(results, LAST_USABLE) == {"a": BEGIN.timestamp() if stale else newest, "b": newest}
    flags = [sample.labels for sample in metrics(results).get("flag", [])]
    assert [one["route"] for one in flags if one["flag_code"] == Flag.STALE] == ["a"] * stale
    if stale:
        assert results.alerts[0]["message"].startswith("fewer than 30 responses since the window of 2026-11-02 00:00")
    # A slice of which there is nothing at all any more.
    gone = watched(estimator, Log(log._sides).add(0, "a", 45, 1.0).add(20, "b", 60, 0.7), alert_on=["stale"])
    assert [alert["slice"] for alert in gone.alerts] == [{"route": "a"}]
    assert gone.now["route"].to_list() == ["b"]


def test_the_window_before_the_newest_is_watched_by_itself_where_the_newest_is_enough(estimator, log: Log) -> None:
    log.add(0, "a", 40, 0.2).add(1, "a", 40, 0.9)
    log.add(0, "b", 40, 0.2).add(1, "b", 10, 0.9)
    results = watched(estimator, log, fail_below=0.5)
    rows = [(alert["slice"]["route"], alert["window"][:10], alert["n_windows"]) for alert in results.alerts]
    assert rows == [("a", "2026-11-02", 1), ("b", "2026-11-03", 2)]
    # What held yesterday only has begun and is over since the run before.
    assert [(alert["status"], alert["until"] is None) for alert in results.alerts] == [("new", False), ("new", True)]


# Days after 2 November 2026, one in each of four windows that follow each other; months are of 30, 31 and 31 days.
@pytest.mark.parametrize(
    ("window", "days"), [("hour", (0, 1 / 24, 2 / 24, 3 / 24)), ("week", (0, 7, 14, 21)), ("month", (0, 57, 88, 92))]
)
def test_windows_other_than_days_are_pooled_too(
    estimator: FittedEstimator, log: Log, window: str, days: Sequence[float]
) -> None:
    for day in days:
        log.add(day, "a", 10, 0.5)
    results = es.monitor(estimator, log.rows, by=["route"], window=window)
    assert results.now.select("n_estimated", "n_windows").rows() == [(30, 3)]


def test_days_without_a_response_are_named(estimator: FittedEstimator) -> None:
    """From the 2nd to the 9th of November, without the 4th, the 6th and the 7th; a clock far ahead does not count."""
    times = [BEGIN + timedelta(days=day) for day in (0, 1, 3, 6, 7) for _ in range(40)]
    rows = traffic(200).with_columns(time=pl.Series([*times[:-1], BEGIN + timedelta(days=900)]))
    expected = [
        part for part in make_parts(es.monitor(estimator, rows, window="day")) if "without responses" in str(part)
    ]
    assert expected == ["3 days without responses (UTC): 2026-11-04, 2026-11-06, 2026-11-07"]


def test_a_log_whose_times_cannot_be_read_has_no_newest_window(estimator: FittedEstimator, log: Log) -> None:
    rows = log.add(0, "a", 40, 0.2).rows.with_columns(time=pl.lit("yesterday"))
    results = es.monitor(estimator, rows, by=["route"], window="day", fail_below=0.5, alert_on=["stale"])
    assert (results.newest, results.alerts, results.silent) == ([], [], True)
    assert "estimated_accuracy" not in metrics(results)


def test_q_of_a_closed_window_does_not_change_when_slices_move_on(log: Log, estimator: FittedEstimator) -> None:
    """Ten slices are tested on the fourth day, of which one falls; in the next night nine have pooled newer windows."""
    routes = [f"r{number}" for number in range(10)]
    for day in range(3):
        for route in routes:
            log.add(day, route, 60, 0.7)
    log.add(3, "r0", 60, 0.5)
    for route in routes[1:]:
        log.add(3, route, 60, 0.69)
    options: dict[str, Any] = {"by": ["route"], "window": "day", "reference": "2026-11-01..2026-11-02"}
    options |= {"min_responses": 30, "alert_on": ["drop"]}

    def q_of_r0() -> float:
        rows = es.monitor(estimator, log.rows, **options).recent
        return rows.filter(route="r0", window=BEGIN + timedelta(days=3))["change_q"].item()

    before = q_of_r0()
    log.add(4, "r0", 60, 0.7)
    for route in routes[1:]:
        log.add(4, route, 5, 0.7)
    assert q_of_r0() == pytest.approx(before, rel=1e-12)


def test_every_slice_is_in_every_week_or_a_line_says_why_not(estimator: FittedEstimator, log: Log) -> None:
    log.add(0, "steady", 40, 1.0).add(1, "steady", 40, 1.0)
    log.add(0, "gone", 40, 1.0)
    log.add(0, "thin", 40, 1.0).add(1, "thin", 4, 1.0)
    log.add(1, "new", 40, 1.0)
    days = [BEGIN, BEGIN + timedelta(days=1)]

    def routes(results: Monitored) -> list[list[str]]:
        rows = results.recent.select("window", "route").rows()
        return [sorted(route for window, route in rows if window == day) for day in days]

    results = watched(estimator, log)
    assert routes(results) == [["steady"], ["gone", "new", "steady", "thin"]]
    said = render_page(results)
    assert "in the newest day, so counted there: thin; gone. No responses: new." in said
    # Windows after the reference are not pooled with those of the reference.
    results = watched(estimator, log, reference="..2026-11-02")
    assert routes(results) == [["gone", "steady", "thin"], ["new", "steady", "thin"]]
    said = render_page(results)
    assert ("No responses: new." in said, "No responses: gone." in said, "counted there" in said) == (True, True, False)
