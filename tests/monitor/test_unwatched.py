"""Traffic that nobody watches is an alert: told once when it begins, worsens and ends."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from calling import run
from production import BEGIN, DAY, change_metadata, fitted, saved, traffic, written
from prometheus_client.parser import text_string_to_metric_families

import entropy_sentinel as es
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.features.zero_logprobs import ZERO_LOGPROBS
from entropy_sentinel.monitor.alerting.unwatched_episodes import (
    Progress,
    find_missing_windows,
    find_usual_windows,
    is_late,
    list_later_windows,
    update_progress,
)
from entropy_sentinel.monitor.monitor_result import Monitored, format_alert
from entropy_sentinel.monitor.monitor_run import record_alerts
from entropy_sentinel.monitor.showing.monitor_page import render_page
from entropy_sentinel.monitor.showing.result_files import format_metrics
from entropy_sentinel.monitor.showing.webhook import write_message

ATC = "atc-se_sum"
NO_LOGPROBS = "no log-probabilities in the log"


@pytest.fixture(scope="module")
def estimator() -> FittedEstimator:
    return fitted(ATC)


def after(days: float, name: str, value: str | None) -> pl.Expr:
    """The column `name` with another value from so many days on."""
    return pl.when(pl.col("time") >= BEGIN + days * DAY).then(pl.lit(value)).otherwise(name).alias(name)


def where(condition: pl.Expr, model: str) -> pl.Expr:
    return pl.when(condition).then(pl.lit(model)).otherwise("model").alias("model")


def watched(estimator: FittedEstimator, features: pl.DataFrame, **options: Any) -> Monitored:
    return es.monitor(estimator, features, **{"by": ["route"], "window": "day", "alert_on": ["stale"], **options})


def told(result: Monitored) -> list[tuple[str, str, str]]:
    return [(alert["code"], alert["subject"], alert["status"]) for alert in result.alerts if alert["kind"] != "stale"]


@pytest.mark.parametrize(
    ("change", "expected", "words"),
    [
        (after(3.5, "model", "gpt-x-03"), ("other-model", "gpt-x-03", "new"), "75 responses of gpt-x-03"),
        (after(3.5, "reason", NO_LOGPROBS), ("no-logprobs", "no-logprobs", "new"), "75 of 150 responses"),
        (after(3.5, "reason", ZERO_LOGPROBS), ("zero-logprobs", "zero-logprobs", "new"), "the server did not compute"),
        (after(3.5, "route", None), ("empty-column", "route", "new"), "75 of 150 responses"),
        (after(3.5, "route", ""), ("empty-column", "route", "new"), "have no value in 'route'"),
    ],
)
def test_what_is_not_watched_since_noon(estimator: FittedEstimator, change: pl.Expr, expected: Any, words: str) -> None:
    """600 responses in four days, so 150 a day, and 75 of them since noon of the last."""
    result = watched(estimator, traffic().with_columns(change))
    assert told(result) == [expected]
    (alert,) = [alert for alert in result.alerts if alert["kind"] == "unwatched"]
    assert (alert["since"], alert["to_report"], alert["slice"]) == ("2026-11-05T00:00:00+00:00", True, {})
    assert words in alert["message"]
    assert format_alert(alert).startswith("NOT WATCHED: ")
    assert result.calling
    # Without any request for alerts there is none.
    assert watched(estimator, traffic().with_columns(change), alert_on=[]).alerts == []


def test_a_slice_without_logprobs_is_told_although_others_have_them(estimator: FittedEstimator) -> None:
    """`support` has a tenth of the traffic: it is the part of all responses that is too small to be told."""
    is_late_day = pl.col("time") >= BEGIN + 3 * DAY
    of_slice = pl.when(is_late_day & (pl.col("route") == "support")).then(pl.lit(NO_LOGPROBS)).otherwise("reason")
    features = traffic().with_columns(reason=of_slice)
    n = features.filter(pl.col("reason").is_not_null()).height
    result = watched(estimator, features)
    assert 5 <= n <= 15
    assert told(result) == [("no-logprobs", "no-logprobs", "new")]
    assert f"support ({n} of {n})" in result.alerts[0]["message"]
    # Four responses are no outage.
    few = features.with_columns(pl.when(pl.col("reason").cum_count() <= 4).then("reason"))
    assert told(watched(estimator, few)) == []


def test_without_slices_no_slice_is_named(estimator: FittedEstimator) -> None:
    (alert,) = watched(estimator, traffic().with_columns(after(3.5, "reason", NO_LOGPROBS)), by=[]).alerts
    assert alert["message"].startswith("75 of 150 responses in the day from 2026-11-05 have no estimate")
    assert alert["message"].endswith("Formats of logs))")


def test_what_the_server_refused_is_not_unwatched(estimator: FittedEstimator) -> None:
    for reason in ("refused: content filter", "empty response", "no token after the thinking"):
        assert told(watched(estimator, traffic().with_columns(after(3, "reason", reason)))) == []


def test_every_output_says_it(estimator: FittedEstimator) -> None:
    result = watched(estimator, traffic().with_columns(after(3, "model", "gpt-x-03")))
    assert "150 responses of gpt-x-03" in write_message(result)
    assert "Not watched: gpt-x-03" in render_page(result)
    assert "so that their numbers are older: shop, school, support" in render_page(result)
    assert 'same_model="m=gpt-x-03"' in repr(result)
    samples = {}
    for family in text_string_to_metric_families(format_metrics(result)):
        for sample in family.samples:
            if sample.labels.get("subject") == "gpt-x-03":
                samples[sample.name.removeprefix("entropy_sentinel_")] = sample.value
    begin = (BEGIN + 3 * DAY).timestamp()
    assert samples == {"alert": 1, "unwatched_responses": 150, "alert_since_timestamp_seconds": begin}


def test_a_model_without_an_estimator_beside_several_that_have_one() -> None:
    estimators = [fitted(ATC), change_metadata(fitted("group-accuracy"), model="b")]
    features = pl.concat([traffic(300), traffic(300, 1).with_columns(model=pl.lit("b"))]).sort("time")
    features = features.with_columns(
        pl.when(pl.col("time") >= BEGIN + 3 * DAY, pl.col("model") == "b")
        .then(pl.lit("c"))
        .otherwise("model")
        .alias("model")
    )
    n = features.filter(pl.col("model") == "c").height
    options: dict[str, Any] = {"by": ["route"], "window": "day", "alert_on": ["unwatched"]}
    result = es.monitor(estimators, features, **options)
    assert told(result) == [("other-model", "c", "new")]
    assert result.alerts[0]["n_unwatched"] == n
    assert told(es.monitor(estimators, features, **options, where={"model": ["m", "b"]})) == []


def test_repeated_files_count_unwatched_responses_once(tmp_path: Path) -> None:
    estimators = [fitted(ATC), change_metadata(fitted("group-accuracy"), model="b")]
    features = traffic(80).with_columns(
        pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.lit("c")).otherwise("model").alias("model")
    )
    first, second = written(features, tmp_path / "1.parquet"), written(features.tail(60), tmp_path / "2.parquet")
    for given in (estimators, estimators[:1]):
        result = es.monitor(given, [first, second], window="day", alert_on=["unwatched"])
        assert result.alerts[0]["n_unwatched"] == 40


MONDAY = datetime(2026, 11, 2, tzinfo=UTC)
THREE_WEEKS = [MONDAY + number * DAY for number in range(21) if number != 13]
WEEKDAYS = [MONDAY + number * DAY for number in range(14) if number % 7 < 5]
HOURS = [MONDAY + number * DAY + hour * timedelta(hours=1) for number in range(10) for hour in range(8, 20)]


@pytest.mark.parametrize(
    ("windows", "window", "now", "expected"),
    [
        ([MONDAY], "day", MONDAY + 2 * DAY - timedelta(minutes=1), []),
        ([MONDAY], "day", MONDAY + 2 * DAY, [MONDAY + DAY]),
        ([MONDAY], "day", MONDAY + 3.1 * DAY, [MONDAY + DAY, MONDAY + 2 * DAY]),
        # No weekends: not on the third, but on the third Monday.
        (WEEKDAYS, "day", MONDAY + 14.1 * DAY, []),
        (WEEKDAYS, "day", MONDAY + 15.1 * DAY, [MONDAY + 14 * DAY]),
        # A single missing day does not excuse the same weekday later.
        ([MONDAY + number * DAY for number in range(21) if number != 13], "day", MONDAY + 21 * DAY, []),
        (
            [MONDAY + number * DAY for number in range(20) if number != 13],
            "day",
            MONDAY + 21 * DAY,
            [MONDAY + 20 * DAY],
        ),
        # No nights: 20 o'clock to 7 o'clock are not expected, 8 o'clock is.
        (HOURS, "hour", MONDAY + 10 * DAY + timedelta(hours=8), []),
        (HOURS, "hour", MONDAY + 10 * DAY + timedelta(hours=9), [MONDAY + 10 * DAY + timedelta(hours=8)]),
        ([MONDAY], "week", MONDAY + 14 * DAY, [MONDAY + 7 * DAY]),
    ],
)
def test_windows_that_lack_responses(
    windows: list[datetime], window: str, now: datetime, expected: list[datetime]
) -> None:
    assert find_missing_windows(windows, list_later_windows(windows, window, now), window) == expected


def test_a_day_with_hardly_any_responses_has_no_traffic() -> None:
    counts = dict(zip((MONDAY + number * DAY for number in range(7)), (60, 50, 60, 5, 6, 3, 60), strict=True))
    # A tenth of 55, of the median of 50, 60 and 60 with 5, and so on: 5 of 60, 6 of 55 and 3 of 50.
    few = {MONDAY + number * DAY for number in (3, 5)}
    assert find_usual_windows(counts) == [window for window in counts if window not in few]


def test_a_missing_file_is_told_also_where_days_begin_in_another_zone(tmp_path: Path) -> None:
    """Days in Berlin begin an hour before those of the files, so the missing day has responses of one hour."""
    path, features = saved(tmp_path, ATC), traffic(600, days=10)
    options: dict[str, Any] = {"by": ["route"], "window": "day", "alert_on": ["stale"], "timezone": "Europe/Berlin"}
    seen = {}
    for day in range(6):
        of_day = pl.col("time").is_between(BEGIN + day * DAY, BEGIN + (day + 1) * DAY, closed="left")
        if day != 4:
            written(features.filter(of_day), tmp_path / f"{day}.parquet")
        now = (BEGIN + (day + 1) * DAY + timedelta(hours=2)).isoformat()
        result = es.monitor(path, str(tmp_path / "*.parquet"), **options, state=tmp_path / "state", now=now)
        record_alerts(result)
        seen[day] = [(alert["status"], alert["message"]) for alert in result.alerts]
    n = features.filter(
        pl.col("time").is_between(BEGIN + 3 * DAY + 23 / 24 * DAY, BEGIN + 4 * DAY, closed="left")
    ).height
    assert {day for day, alerts in seen.items() if alerts} == {4, 5}
    assert seen[4] == [("new", f"hardly any responses ({n}) in the day from 2026-11-06. Check that all logs arrive")]
    assert seen[5] == [("over", "no longer")]


def test_an_old_log_lacks_nothing_until_a_later_run_finds_nothing_newer() -> None:
    now, newest = MONDAY + 30 * DAY, MONDAY
    assert not is_late(60, newest, "day", now, None)
    progress = update_progress(60, newest, "day", now, None)
    assert progress == Progress(newest, now, 60)
    # An old log that is read day by day; again at once, even over midnight; the next night; and after recent logs.
    assert not is_late(59, newest + DAY, "day", now, progress)
    assert not is_late(61, newest, "day", now + timedelta(hours=17), progress)
    assert is_late(61, newest, "day", now + timedelta(hours=18), progress)
    recent = update_progress(0, MONDAY + DAY, "day", now + DAY, progress)
    assert recent == Progress(MONDAY + DAY, now + DAY, 0, (1,))
    assert Progress.from_list(json.loads(json.dumps(recent.to_list()))) == recent
    assert is_late(1, MONDAY + DAY, "day", now + 2 * DAY, recent)


@pytest.mark.parametrize(("days", "weekend"), [(1, False), (1, True), (7, False)])
def test_files_of_a_day_and_of_a_week_are_missed_in_their_rhythm(days: int, weekend: bool) -> None:
    """A run a night; a file comes after so many days, on weekdays only in the second case."""
    progress, newest, late = None, MONDAY, []
    for night in range(1, 36):
        now = MONDAY + night * DAY + timedelta(hours=2)
        yesterday = MONDAY + (night - 1) * DAY
        if night % days == 0 and not (weekend and yesterday.weekday() >= 5) and night < 29:
            newest = yesterday
        lag = (yesterday - newest).days
        if is_late(lag, newest, "day", now, progress) and not (weekend and yesterday.weekday() >= 5):
            late.append(night)
        progress = update_progress(lag, newest, "day", now, progress)
    # Before the second file nothing is known about the rhythm.
    assert [night for night in late if night > days * 2][0] == (29 if days == 1 else 35)


class TestNights:
    """A scheduler's nights, each at two o'clock after a day of 60 responses."""

    @pytest.fixture
    def nights(self, tmp_path: Path, capsys: pytest.CaptureFixture) -> Any:
        estimator, features = saved(tmp_path, ATC), traffic(600, days=10)
        (tmp_path / "logs").mkdir()

        def night(day: int, features: pl.DataFrame | None = features, *more: Any) -> tuple[int, list[str], str]:
            if features is not None:
                of_day = pl.col("time").is_between(BEGIN + day * DAY, BEGIN + (day + 1) * DAY, closed="left")
                written(features.filter(of_day), tmp_path / "logs" / f"{day}.parquet")
            alerts = tmp_path / "alerts.json"
            now = (BEGIN + (day + 1) * DAY).strftime("%Y-%m-%dT02:00")
            options = ["--by", "route", "--window", "day", "--state", tmp_path / "state", "--alerts", alerts]
            status, shown, errors = run(
                capsys, "monitor", estimator, tmp_path / "logs", *options, "--alert-on", "stale", "--now", now, *more
            )
            found = json.loads(alerts.read_text())["alerts"]
            lines = [
                f"{one['subject']} {one['status']}{' told' * one['to_report']}" for one in found if "subject" in one
            ]
            return status, lines, shown + errors

        return night

    def test_a_renamed_model_is_told_once_and_when_it_is_over(self, nights: Any, tmp_path: Path) -> None:
        features = traffic(600, days=10)
        renamed = features.with_columns(model=pl.lit("gpt-x-03"))
        seen = [nights(day, features if day in (0, 1, 4) else renamed)[:2] for day in range(5)]
        assert seen == [
            (0, []),
            (0, []),
            (4, ["gpt-x-03 new told"]),
            (3, ["gpt-x-03 continues"]),
            (0, ["gpt-x-03 over told"]),
        ]
        known = tmp_path / "known.txt"
        known.write_text("unwatched gpt-x-03 2026-11-07\n")
        assert nights(5, renamed, "--acknowledged", known)[:2] == (3, ["gpt-x-03 new"])

    def test_a_missing_file_is_told_in_its_night(self, nights: Any) -> None:
        assert [nights(day)[:2] for day in range(3)] == [(0, [])] * 3
        status, lines, shown = nights(3, None)
        assert (status, lines) == (4, ["no-responses new told"])
        assert "day from 2026-11-04 00:00 UTC; NO RESPONSES in 1 day since" in shown
        assert nights(3, None)[:2] == (0, ["no-responses continues"])
        # Told again when it has doubled, and when files come.
        assert nights(4, None)[:2] == (4, ["no-responses worse told"])
        assert nights(5)[:2] == (0, ["no-responses over told"])

    def test_problems_are_of_this_run(self, nights: Any) -> None:
        features = traffic(600, days=10)
        outage = features.with_columns(after(1.5, "reason", NO_LOGPROBS))
        assert nights(0)[0] == 0
        status, lines, shown = nights(1, outage)
        assert (status, lines) == (4, ["no-logprobs new told"])
        assert f"30 responses without features: {NO_LOGPROBS}" in shown
        status, lines, shown = nights(2)
        assert (status, lines) == (0, ["no-logprobs over told"])
        (line,) = [line for line in shown.splitlines() if "without features" in line]
        assert line == (
            f"reported by earlier runs, in 1 file of 2026-11-03: 30 responses without features: {NO_LOGPROBS}"
        )
