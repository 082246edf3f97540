"""Find the windows of a log's times, and count impossible times.

Windows are computed on the clock of one time zone, by default UTC: a time is what that clock shows, in columns whose
dtype is UTC's. So days and weeks are that zone's, also when its clock changes (`time_zones`). `convert_from_clock`
turns windows into real times for the outputs.
"""

from datetime import datetime

import polars as pl

from entropy_sentinel.logs.timestamps import DTYPE as DTYPE
from entropy_sentinel.logs.timestamps import parse_times as parse_times
from entropy_sentinel.monitor.monitor_options import EARLIEST, LATEST, WINDOWS
from entropy_sentinel.monitor.reading.problem_codes import ProblemKind
from entropy_sentinel.monitor.reading.problem_collection import Problems
from entropy_sentinel.monitor.reading.time_zones import find_moments, read_clock

# A larger step back in time means a corrected clock or concatenated logs; replies out of order differ by minutes.
JUMP_S = 3600


def parse_moments(raw: pl.Series, zone: str | None) -> pl.Series:
    """Convert times in any form to UTC, (n,); times without a zone are of the clock of `zone`."""
    times = parse_times(raw)
    if zone is None or not (naive := is_naive(raw) & times.is_not_null()).any():
        return times
    local = find_moments(times.filter(naive), zone).dt.convert_time_zone("UTC").cast(DTYPE)
    return times.scatter(naive.arg_true(), local)


def is_naive(raw: pl.Series) -> pl.Series:
    """Whether each time states no zone, (n,): dates, some datetimes, and some texts; numbers are UTC."""
    if raw.dtype == pl.String:
        is_text = raw.str.contains(r"^\s*\d{4}-?\d\d-?\d\d") & ~raw.str.contains(r"(?i)(z|[+-]\d\d(:?\d\d)?)\s*$")
        dates = raw.str.contains(r"^\s*\d{4}-\d\d-\d\d\s*$")
        return (is_text | dates).fill_null(False)
    naive = raw.dtype == pl.Date or (isinstance(raw.dtype, pl.Datetime) and raw.dtype.time_zone is None)
    return pl.Series([naive] * len(raw), dtype=pl.Boolean)


def convert_from_clock(windows: pl.Series, zone: str | None) -> pl.Series:
    """The real times of windows that are on the clock of a zone."""
    return windows if zone in (None, "UTC") else find_moments(windows, zone)


def convert_to_clock(times: pl.Series, zone: str | None) -> pl.Series:
    """What the clock of a zone shows at UTC times, (n,)."""
    return times if zone in (None, "UTC") else read_clock(times, zone)


def is_plausible(times: pl.Expr) -> pl.Expr:
    """Whether times are plausible for a log."""
    return times.is_between(EARLIEST, LATEST, closed="left")


def find_window_starts(times: pl.Expr, window: str) -> pl.Expr:
    """The start of the window of each time."""
    return times.dt.truncate(WINDOWS[window])


def find_clock_windows(moments: pl.Series, window: str, zone: str | None) -> pl.Series:
    """The starts, on the clock of a zone, of the windows of real times, (n,)."""
    clock_times = convert_to_clock(moments.dt.convert_time_zone("UTC"), zone).alias("shown")
    return clock_times.to_frame().select(find_window_starts(pl.col("shown"), window)).to_series()


def shift_windows(windows: pl.Series, n: int, window: str) -> pl.Series:
    """The start of the window `n` after each real start of a window, (n,); `n` may be negative."""
    zone = _read_zone(windows)
    clock_windows = find_clock_windows(windows, window, zone).dt.offset_by(f"{n}{WINDOWS[window][1:]}")
    return convert_from_clock(clock_windows, zone)


def shift_window(start: datetime, n: int, window: str) -> datetime:
    """The start of the window `n` after the one that starts at `start`; `n` may be negative."""
    moved: datetime = shift_windows(pl.Series([start]), n, window).item()
    return moved


def list_windows(first: datetime, last: datetime, window: str) -> pl.Series:
    """The starts of all windows from the one that starts at `first` to the one that starts at `last`."""
    ends = pl.Series([first, last])
    zone = _read_zone(ends)
    clock_windows = find_clock_windows(ends, window, zone)
    between = pl.datetime_range(
        clock_windows[0], clock_windows[1], WINDOWS[window], eager=True, time_unit="us", time_zone="UTC"
    )
    # A window that the clock skips entirely starts with the next one.
    return convert_from_clock(between, zone).unique(maintain_order=True)


def _read_zone(times: pl.Series) -> str | None:
    assert isinstance(times.dtype, pl.Datetime)  # windows are moments
    return times.dtype.time_zone


class Clock:
    """Assigns the times of one file, in order, to windows of `grain`."""

    def __init__(self, grain: str, problems: Problems, zone: str | None = None) -> None:
        self._grain, self._problems, self._zone = grain, problems, zone
        self._last: datetime | None = None

    def assign_windows(self, raw: pl.Series, places: pl.Series) -> pl.Series:
        """The smallest window of each time; null if the time is missing or impossible, which is counted."""
        times = pl.DataFrame({"raw": raw, "time": parse_moments(raw, self._zone), "place": places})
        if self._zone is None and (n_without_zone := int(is_naive(raw).sum())):
            self._problems.add(ProblemKind.TIME_WITHOUT_ZONE, count=n_without_zone)
        times = times.with_columns(good=pl.col("time").is_not_null() & is_plausible(pl.col("time")))
        self._count(ProblemKind.TIME_MISSING, times.filter(pl.col("raw").is_null()))
        unreadable = pl.col("raw").is_not_null() & pl.col("time").is_null()
        self._count(ProblemKind.TIME_UNREADABLE, times.filter(unreadable))
        implausible = times.filter(pl.col("time").is_not_null() & ~pl.col("good"))
        first, last = str(EARLIEST.year), str(LATEST.year - 1)
        self._count(ProblemKind.TIME_IMPLAUSIBLE, implausible, subject=first, value=last)
        self._count_jumps(times.filter("good"))
        clock_times = convert_to_clock(times.select(pl.when("good").then("time")).to_series(), self._zone).alias(
            "shown"
        )
        return clock_times.to_frame().select(find_window_starts(pl.col("shown"), self._grain)).to_series()

    def _count(
        self, kind: ProblemKind, times: pl.DataFrame, *, subject: str | None = None, value: str | None = None
    ) -> None:
        """Report the responses with these `times` (with their places), if there are any."""
        if len(times):
            self._problems.add(kind, times["place"].to_list(), subject=subject, value=value)

    def _count_jumps(self, times: pl.DataFrame) -> None:
        """Report responses that are much earlier than the one before them in the file."""
        if times.is_empty():
            return
        before = times["time"].shift(1, fill_value=self._last or times["time"][0])
        jumps = times.filter((before - times["time"]).dt.total_seconds() > JUMP_S)["place"].to_list()
        if jumps:
            self._problems.add(ProblemKind.TIME_STEP_BACK, jumps)
        self._last = times["time"][-1]
