"""Windows on the clocks of all time zones, over three years of changes, compared with Python's `zoneinfo`."""

from bisect import bisect_left, bisect_right
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import polars as pl
import pytest
from pydantic import TypeAdapter, ValidationError

from entropy_sentinel.monitor.monitor_options import WINDOWS, Zone
from entropy_sentinel.monitor.reading.problem_collection import Problems
from entropy_sentinel.monitor.reading.time_zones import DTYPE
from entropy_sentinel.monitor.reading.window_times import (
    Clock,
    convert_from_clock,
    convert_to_clock,
    find_clock_windows,
    find_window_starts,
    list_windows,
    shift_window,
    shift_windows,
)

FIRST, LAST = datetime(2025, 1, 1, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
# Python also finds these, but they are not zones.
NAMES = sorted(available_timezones() - {"Factory", "localtime"})
# Changes at 01:00, at midnight, by half an hour, by two hours at 01:00 UTC, at a quarter to an hour, and to the hour
# before midnight.
ODD = (
    "Europe/London",
    "Europe/Berlin",
    "America/Havana",
    "Africa/Cairo",
    "Australia/Lord_Howe",
    "Antarctica/Troll",
    "Pacific/Chatham",
    "America/Santiago",
    "America/St_Johns",
    "America/Nuuk",
    "Africa/Casablanca",
    "Asia/Kathmandu",
)


def changes(zone: ZoneInfo, first: datetime, last: datetime) -> list[datetime]:
    """The moments, to the second, at which the clock changes; no clock changes twice a week."""

    def offset(second: int) -> timedelta | None:
        return datetime.fromtimestamp(second, zone).utcoffset()

    found, begin, end = [], int(first.timestamp()), int(last.timestamp())
    for low in range(begin, end, 7 * 86400):
        high, old = low + 7 * 86400, offset(low)
        if offset(high) != old:
            second = bisect_left(range(low, high), True, key=lambda second: offset(second) != old)
            found.append(datetime.fromtimestamp(low + second, UTC))
    return found


def next_boundary(boundary: datetime, window: str) -> datetime:
    """The next time on a clock at which a window begins."""
    if window == "month":
        return (boundary.replace(day=1) + 32 * DAY).replace(day=1)
    return boundary + {"hour": HOUR, "day": DAY, "week": 7 * DAY}[window]


def window_starts(zone: ZoneInfo, around: datetime, changed: list[datetime], window: str) -> list[datetime]:
    """The starts of the windows for two days or windows around a moment: when the clock first shows each boundary."""
    wall = around.astimezone(zone).replace(tzinfo=None, minute=0, second=0, microsecond=0)
    boundary = {
        "hour": wall - 48 * HOUR,
        "day": wall.replace(hour=0) - 3 * DAY,
        "week": wall.replace(hour=0) - (wall.weekday() + 14) * DAY,
        "month": (wall.replace(hour=0, day=1) - 40 * DAY).replace(day=1),
    }[window]
    found = []
    for _ in range(96 if window == "hour" else 7):
        moment = boundary.replace(tzinfo=zone).astimezone(UTC)
        if moment.astimezone(zone).replace(tzinfo=None) != boundary:  # the clock skips it
            moment = min(changed, key=lambda change: abs(change - moment))
        found.append(moment)
        boundary = next_boundary(boundary, window)
    return sorted(set(found))


def moments_around(around: datetime) -> pl.Series:
    """Moments of two days, every ten minutes close to a change of the clock, and its second and microsecond."""
    near = [around + step * timedelta(minutes=10) for step in range(-21, 22)]
    far = [around + step * timedelta(hours=3.25) for step in range(-8, 9)]
    close = [around - timedelta(microseconds=1), around + timedelta(seconds=1)]
    return pl.Series(sorted({*near, *far, *close}), dtype=DTYPE)


def check_windows(name: str, around: datetime, changed: list[datetime]) -> None:
    """Compare the windows of moments around a change of the clock with the reference."""
    zone, moments = ZoneInfo(name), moments_around(around)
    shown = convert_to_clock(moments, name)
    for window in WINDOWS:
        found = convert_from_clock(
            shown.to_frame("t").select(find_window_starts(pl.col("t"), window)).to_series(), name
        )
        reference = window_starts(zone, around, changed, window)
        places = [bisect_right(reference, moment) for moment in moments]
        assert min(places) > 0
        assert max(places) < len(reference)
        expected = pl.Series([reference[place - 1] for place in places], dtype=DTYPE)
        assert (found.dt.convert_time_zone("UTC") == expected).all(), (name, window, around)
        # Windows that are counted from each other are the same.
        between = list_windows(found[0], found[-1], window).dt.convert_time_zone("UTC").to_list()
        assert between == reference[places[0] - 1 : places[-1]], (name, window, around)
        assert (convert_from_clock(find_clock_windows(found, window, name), name) == found).all()
        assert (shift_windows(found, 1, window).dt.convert_time_zone("UTC") > moments).all()


@pytest.mark.parametrize("name", ODD)
def test_windows_at_odd_changes_of_the_clock(name: str) -> None:
    changed = changes(ZoneInfo(name), FIRST, LAST)
    for around in changed[:2] or [FIRST]:
        check_windows(name, around, changed)


@pytest.mark.slow
def test_windows_of_all_zones_over_three_years_of_changes() -> None:
    checked, n_changes = set(), 0
    for name in NAMES:
        zone = ZoneInfo(name)
        changed = changes(zone, FIRST, LAST)
        n_changes += len(changed)
        clock = tuple((moment, moment.astimezone(zone).utcoffset()) for moment in [FIRST, *changed])
        moments = pl.concat([moments_around(moment) for moment, _ in clock])
        expected = [moment.astimezone(zone).replace(tzinfo=None) for moment in moments]
        assert moments.dt.convert_time_zone(name).dt.replace_time_zone(None).to_list() == expected, name
        if clock not in checked:  # many zones have the same clock in these years
            checked.add(clock)
            for around in changed or [FIRST + 59 * DAY]:
                check_windows(name, around, changed)
    assert len(NAMES) > 400
    assert n_changes > 1000


def test_a_day_that_a_zone_skips_is_no_window() -> None:
    """Samoa went from 29 to 31 December 2011, at the date line."""
    begins = [datetime(2011, 12, day, hour=0, tzinfo=ZoneInfo("Pacific/Apia")) for day in (29, 31)]
    moments = pl.Series([datetime(2011, 12, 30, 9, 59, 59), datetime(2011, 12, 30, 10)], dtype=pl.Datetime("us"))
    days = convert_from_clock(
        find_clock_windows(moments.dt.replace_time_zone("UTC"), "day", "Pacific/Apia"), "Pacific/Apia"
    )
    assert days.to_list() == begins
    assert list_windows(*begins, "day").to_list() == begins
    assert shift_window(begins[0], 2, "day") == begins[1]


@pytest.mark.parametrize("zone", ["Factory", "localtime", "posixrules", "posix/Europe/Berlin", "right/Europe/Berlin"])
def test_names_of_files_that_are_no_zones_are_refused(zone: str) -> None:
    with pytest.raises(ValidationError, match="must be a time zone such as Europe/Berlin or UTC"):
        TypeAdapter(Zone).validate_python(zone)


def hours_of(times: list[str], zone: str) -> tuple[list[str], list[str]]:
    """The hours of the times of a log, and what is said about the log."""
    problems = Problems()
    hours = Clock("hour", problems, zone).assign_windows(
        pl.Series(times), pl.Series([f"row {n}" for n in range(len(times))])
    )
    return convert_from_clock(hours, zone).dt.strftime("%H:%M%:z").to_list(), problems.lines()


def test_a_clock_that_changes_is_no_jump_back() -> None:
    """Troll's clock is set back by two hours; the repeated hours are one window with the hour before."""
    times = [f"2026-10-25T{hour:02}:30:00Z" for hour in range(5)]
    assert hours_of(times, "Antarctica/Troll") == (["02:00+02:00"] * 3 + ["03:00+00:00", "04:00+00:00"], [])
    # Replies out of order by minutes, where the clock leaves out an hour.
    times = ["2026-03-29T01:20:00Z", "2026-03-29T00:50:00Z"]
    assert hours_of(times, "Europe/Berlin") == (["03:00+02:00", "01:00+01:00"], [])


def test_times_without_a_zone_that_the_clock_never_showed_are_of_the_next_hour() -> None:
    times = ["2026-03-29T01:59:59", "2026-03-29T02:30:00", "2026-03-29T03:00:00"]
    assert hours_of(times, "Europe/Berlin") == (["01:00+01:00", "03:00+02:00", "03:00+02:00"], [])
