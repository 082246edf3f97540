"""Times of a log in every form, windows, references."""

from datetime import UTC, date, datetime, timedelta

import polars as pl
import pytest
from production import fitted, traffic

import entropy_sentinel as es
from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.monitor.monitor_options import EARLIEST, WINDOWS, format_period, parse_reference
from entropy_sentinel.monitor.monitor_result import Monitored
from entropy_sentinel.monitor.reading.window_times import find_window_starts, is_plausible, parse_times
from entropy_sentinel.monitor.showing.monitor_terminal import list_empty_windows

NOON = datetime(2026, 11, 4, 12, tzinfo=UTC)  # a Wednesday
SECONDS = int(NOON.timestamp())


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-04T12:00:00Z",
        "2026-11-04T12:00:00",
        "2026-11-04 12:00:00",
        "2026-11-04t12:00:00z",
        "2026-11-04T14:00:00+02:00",
        "2026-11-04 13:00:00.000+0100",
        "2026-11-04T12:00:00.000000Z",
        "2026-11-04T12:00",
        "20261104T120000",
        f" {SECONDS} ",
        f"{SECONDS}.0",
        f"{SECONDS}000",
    ],
)
def test_forms_of_one_moment(text: str) -> None:
    # Beside others, as in a log of several programs.
    column = pl.Series(["2026-11-01", text, None, "yesterday"])
    assert parse_times(column).to_list() == [datetime(2026, 11, 1, tzinfo=UTC), NOON, None, None]


@pytest.mark.parametrize("scale", [1, 1_000, 1_000_000, 1_000_000_000])
def test_numbers_since_1970(scale: int) -> None:
    for dtype in (pl.Int64, pl.Float64):
        assert parse_times(pl.Series([SECONDS * scale, None], dtype=dtype)).to_list() == [NOON, None]
    result = parse_times(pl.Series([SECONDS + 0.5, float("nan"), float("inf"), 1e300])).to_list()
    assert result == [NOON.replace(microsecond=500_000), None, None, None]


def test_dates_and_datetimes_of_any_zone() -> None:
    berlin = pl.Series([NOON]).dt.convert_time_zone("Europe/Berlin")
    assert parse_times(berlin).to_list() == [NOON]
    assert parse_times(pl.Series([NOON.replace(tzinfo=None)], dtype=pl.Datetime("ms"))).to_list() == [NOON]
    assert parse_times(pl.Series([date(2026, 11, 4)])).to_list() == [NOON.replace(hour=0)]
    assert parse_times(pl.Series([True])).to_list() == [None]


def test_a_clock_that_was_never_set_is_not_plausible() -> None:
    texts = ["1970-01-01", "2014-12-31T23:59:59", "2015-01-01", "2099-12-31", "2100-01-01"]
    round_numbers = [1e9, 1e12, 1e15, 1e18]  # seconds, or as many milli-, micro- and nanoseconds, are of 2001
    for values, expected in ((texts, [False, False, True, True, False]), (round_numbers, [False] * 4)):
        times = parse_times(pl.Series(values)).to_frame("t")
        assert times.select(is_plausible(pl.col("t"))).to_series().to_list() == expected


def test_windows_begin_on_the_hour_at_midnight_on_monday_and_on_the_first() -> None:
    frame = pl.DataFrame({"t": [NOON.replace(minute=59)]}).cast(pl.Datetime("us", "UTC"))
    begins = {name: frame.select(find_window_starts(pl.col("t"), name)).item() for name in WINDOWS}
    assert begins == {
        "hour": NOON,
        "day": NOON.replace(hour=0),
        "week": datetime(2026, 11, 2, tzinfo=UTC),
        "month": datetime(2026, 11, 1, tzinfo=UTC),
    }


def test_a_reference_has_its_last_day_whole() -> None:
    first = datetime(2026, 11, 1, tzinfo=UTC)
    assert parse_reference("2026-11-01..2026-11-07") == (first, first.replace(day=8))
    assert parse_reference("2026-11-01") == (first, first.replace(day=2))
    hours = parse_reference("2026-11-01T06:00..2026-11-01T14:00+02:00", "hour")
    assert hours == (first.replace(hour=6), first.replace(hour=12))
    # It may have no begin.
    assert parse_reference("..2026-10-18") == (EARLIEST, datetime(2026, 10, 19, tzinfo=UTC))


@pytest.mark.parametrize(
    "text",
    ["last week", "2026-11-07..2026-11-01", "..", "2026-13-01", "2026-11-01T06:00..2026-11-02", "2026-11-01.."]
    + ["..9999-12-31", "0001-01-01..2026-11-01", "9999-12-31", "2026-11-01..9999-12-31", "0001-01-01"],
)
def test_an_invalid_reference_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"reference: must .*" + text[:4].replace(".", r"\.")):
        parse_reference(text)


def test_a_reference_is_shown_as_it_was_meant() -> None:
    assert format_period(parse_reference("2026-11-01..2026-11-07")) == "2026-11-01 to 2026-11-07"
    hours = parse_reference("2026-11-01T06:00..2026-11-01T14:00", "hour")
    assert format_period(hours) == "2026-11-01 06:00 to 2026-11-01 14:00"


def monitored(times: list[object], zone: str | None = None, window: str = "day") -> Monitored:
    log = traffic(len(times)).with_columns(pl.Series("time", times, strict=False))
    return es.monitor(fitted("atc-se_sum"), log, window=window, timezone=zone, min_responses=1)


def starts_of(result: Monitored) -> list[str]:
    """The starts of the windows."""
    return result.windows["window"].sort().dt.strftime("%Y-%m-%d %H:%M%:z").to_list()


def test_days_of_a_zone_over_a_change_of_the_clock() -> None:
    """In Berlin 25 October 2026 has 25 hours: it begins at 22:00 UTC of the day before, and ends at 23:00 UTC."""
    times = ["2026-10-24T21:59:59Z", "2026-10-24T22:00:00Z", "2026-10-25T22:59:59Z", "2026-10-25T23:00:00Z"]
    result = monitored(times * 10, "Europe/Berlin")
    assert starts_of(result) == ["2026-10-24 00:00+02:00", "2026-10-25 00:00+02:00", "2026-10-26 00:00+01:00"]
    assert result.windows.sort("window")["n_responses"].to_list() == [10, 20, 10]
    assert result.newest[-1].timestamp() == datetime(2026, 10, 25, 23, tzinfo=UTC).timestamp()
    assert monitored(times * 10).windows["n_responses"].to_list() == [20, 20]


def test_weeks_and_months_of_a_zone() -> None:
    times = ["2026-03-31T21:30:00Z", "2026-03-31T22:30:00Z"] * 10  # in Berlin the second is of April
    months = starts_of(monitored(times, "Europe/Berlin", "month"))
    assert months == ["2026-03-01 00:00+01:00", "2026-04-01 00:00+02:00"]
    assert starts_of(monitored(times, "Europe/Berlin", "week")) == ["2026-03-30 00:00+02:00"]


@pytest.mark.parametrize(
    ("zone", "window", "expected"),
    [
        ("Europe/London", "day", ["2026-03-28 00:00+00:00", "2026-03-29 00:00+00:00", "2026-03-30 00:00+01:00"]),
        ("Asia/Beirut", "day", ["2026-03-28 00:00+02:00", "2026-03-29 01:00+03:00", "2026-03-30 00:00+03:00"]),
        (
            "Europe/Berlin",
            "hour",
            ["2026-03-28 11:00+01:00", "2026-03-29 12:00+02:00", "2026-03-30 12:00+02:00"],
        ),
    ],
)
def test_nights_after_a_change_of_the_clock(zone: str, window: str, expected: list[str]) -> None:
    """Beirut's clock skips midnight; windows without responses are counted from real windows."""
    times = [f"2026-03-{day}T10:00:00Z" for day in (28, 29, 30)] * 10
    result = monitored(times, zone, window)
    assert starts_of(result) == expected
    missing = list_empty_windows(result)
    # 48 hours in UTC, with two between that have responses.
    assert [line.split()[0] for line in missing] == (["46"] if window == "hour" else [])


def test_a_slice_that_is_stale_on_a_day_whose_midnight_the_clock_skips() -> None:
    day = datetime(2026, 3, 15, 12, tzinfo=UTC)
    times = [day] * 30 + [day + timedelta(days=number) for number in range(1, 15)]
    log = traffic(len(times)).with_columns(pl.Series("time", times))
    log = log.with_columns(route=pl.when(pl.int_range(pl.len()) < 30).then(pl.lit("old")).otherwise(pl.lit("new")))
    options = {"by": "route", "alert_on": ["stale"], "min_responses": 14, "timezone": "Asia/Beirut"}
    [alert] = es.monitor(fitted("atc-se_sum"), log, window="day", **options).alerts
    assert (alert["kind"], alert["since"]) == ("stale", "2026-03-15T00:00:00+02:00")


@pytest.mark.parametrize("text", ["2026-11-04T00:30:00", "2026-11-04 00:30", "20261104T003000", "2026-11-04"])
def test_times_without_a_zone_are_the_zones_or_said_to_be_taken_for_utc(text: str) -> None:
    local = monitored([text] * 20, "America/New_York")
    assert starts_of(local) == ["2026-11-04 00:00-05:00"]
    assert not local.problems.lines()
    [line] = monitored([text] * 20).problems.lines()
    assert line.startswith("20 responses whose time states no zone, taken for UTC")


def test_times_with_a_zone_and_numbers_are_not_local() -> None:
    for value in ("2026-11-04T00:30:00Z", "2026-11-04T01:30:00+01:00", SECONDS - 41_400):
        assert starts_of(monitored([value] * 20, "America/New_York")) == ["2026-11-03 00:00-05:00"]
        assert not monitored([value] * 20).problems.lines()


def test_a_zone_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigError, match="timezone: must be a time zone such as Europe/Berlin or UTC, got 'Berlin'"):
        monitored(["2026-11-04"] * 20, "Berlin")
