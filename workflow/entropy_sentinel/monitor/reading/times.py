"""Read the times of a log in any form, find their windows, and count impossible times.

Windows are computed on the clock of one time zone, by default UTC: a time is what that clock shows, in columns whose
dtype is UTC's. So days and weeks are that zone's, also when its clock changes (`zones`). `in_zone` turns windows into
real times for the outputs.
"""

from datetime import UTC, datetime

import polars as pl

from entropy_sentinel.monitor.reading.problems import Problems
from entropy_sentinel.monitor.reading.zones import DTYPE, find_moments, read_clock
from entropy_sentinel.monitor.settings import EARLIEST, LATEST, WINDOWS

_ISO = ("%+", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d")
IMPLAUSIBLE = f"responses with a time before {EARLIEST.year} or after {LATEST.year - 1}"
WITHOUT_ZONE = "responses whose time states no zone, taken for UTC; name the zone with --timezone if it is another"
# A larger step back in time means a corrected clock or concatenated logs; replies out of order differ by minutes.
JUMP_S = 3600


def moments_in(raw: pl.Series, zone: str | None) -> pl.Series:
    """Convert times in any form to UTC, (n,); times without a zone are of the clock of `zone`."""
    times = moments(raw)
    if zone is None or not (naive := without_zone(raw) & times.is_not_null()).any():
        return times
    local = find_moments(times.filter(naive), zone).dt.convert_time_zone("UTC").cast(DTYPE)
    return times.scatter(naive.arg_true(), local)


def without_zone(raw: pl.Series) -> pl.Series:
    """Return whether each time states no zone, (n,): dates, some datetimes, and some texts; numbers are UTC."""
    if raw.dtype == pl.String:
        is_text = raw.str.contains(r"^\s*\d{4}-?\d\d-?\d\d") & ~raw.str.contains(r"(?i)(z|[+-]\d\d(:?\d\d)?)\s*$")
        dates = raw.str.contains(r"^\s*\d{4}-\d\d-\d\d\s*$")
        return (is_text | dates).fill_null(False)
    naive = raw.dtype == pl.Date or (isinstance(raw.dtype, pl.Datetime) and raw.dtype.time_zone is None)
    return pl.Series([naive] * len(raw), dtype=pl.Boolean)


def in_zone(windows: pl.Series, zone: str | None) -> pl.Series:
    """Return the real times of windows that are on the clock of a zone."""
    return windows if zone in (None, "UTC") else find_moments(windows, zone)


def on_clock(times: pl.Series, zone: str | None) -> pl.Series:
    """Return what the clock of a zone shows at UTC times, (n,)."""
    return times if zone in (None, "UTC") else read_clock(times, zone)


def moments(column: pl.Series) -> pl.Series:
    """Convert dates, ISO 8601 texts (UTC without a zone) and numbers since 1970 to UTC times, (n,); else null.

    A number is in seconds, milliseconds, microseconds or nanoseconds, whichever gives a plausible date.
    """
    if isinstance(column.dtype, pl.Datetime):
        zoned = column.dt.replace_time_zone("UTC") if column.dtype.time_zone is None else column
        return zoned.dt.convert_time_zone("UTC").cast(DTYPE)
    if column.dtype == pl.Date:
        return column.cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
    if column.dtype.is_numeric():
        return _of_numbers(column)
    if column.dtype == pl.String:
        return _of_texts(column)
    return pl.Series(column.name, [None] * len(column), dtype=DTYPE)


def plausible(times: pl.Expr) -> pl.Expr:
    """Return whether times are plausible for a log."""
    return times.is_between(EARLIEST, LATEST, closed="left")


def starts(times: pl.Expr, window: str) -> pl.Expr:
    """Return the start of the window of each time."""
    return times.dt.truncate(WINDOWS[window])


def windows_on_clock(moments: pl.Series, window: str, zone: str | None) -> pl.Series:
    """Return the starts, on the clock of a zone, of the windows of real times, (n,)."""
    shown = on_clock(moments.dt.convert_time_zone("UTC"), zone).alias("shown")
    return shown.to_frame().select(starts(pl.col("shown"), window)).to_series()


def windows_after(windows: pl.Series, n: int, window: str) -> pl.Series:
    """Return the start of the window `n` after each real start of a window, (n,); `n` may be negative."""
    zone = _zone_of(windows)
    shown = windows_on_clock(windows, window, zone).dt.offset_by(f"{n}{WINDOWS[window][1:]}")
    return in_zone(shown, zone)


def start_after(start: datetime, n: int, window: str) -> datetime:
    """Return the start of the window `n` after the one that starts at `start`; `n` may be negative."""
    moved: datetime = windows_after(pl.Series([start]), n, window).item()
    return moved


def windows_between(first: datetime, last: datetime, window: str) -> pl.Series:
    """Return the starts of all windows from the one that starts at `first` to the one that starts at `last`."""
    ends = pl.Series([first, last])
    zone = _zone_of(ends)
    shown = windows_on_clock(ends, window, zone)
    between = pl.datetime_range(shown[0], shown[1], WINDOWS[window], eager=True, time_unit="us", time_zone="UTC")
    # A window that the clock skips entirely starts with the next one.
    return in_zone(between, zone).unique(maintain_order=True)


def _zone_of(times: pl.Series) -> str | None:
    assert isinstance(times.dtype, pl.Datetime)  # windows are moments
    return times.dtype.time_zone


def _of_numbers(column: pl.Series) -> pl.Series:
    number = column.cast(pl.Float64).alias("number").to_frame()
    x, size = pl.col("number"), pl.col("number").abs()
    microseconds = (
        pl.when(size < 1e11).then(x * 1e6).when(size < 1e14).then(x * 1e3).when(size < 1e17).then(x).otherwise(x / 1e3)
    )
    whole = number.select(pl.when(x.is_finite()).then(microseconds).cast(pl.Int64, strict=False))
    return whole.to_series().cast(pl.Datetime("us")).dt.replace_time_zone("UTC").alias(column.name)


def _of_texts(column: pl.Series) -> pl.Series:
    text = column.str.strip_chars().str.replace(r"^(\d{4}-\d\d-\d\d)[ t]", "${1}T")
    tries = [text.str.to_datetime(form, time_unit="us", time_zone="UTC", strict=False) for form in _ISO]
    times = pl.select(pl.coalesce(*tries)).to_series()
    if (times.is_null() & text.is_not_null()).any():
        rarer = text.filter(times.is_null()).unique().drop_nulls()
        rarer_times = pl.Series([_of_text(form) for form in rarer], dtype=DTYPE)
        others = text.replace_strict(rarer, rarer_times, default=None, return_dtype=DTYPE)
        times = pl.select(pl.coalesce(times, others)).to_series()
    return times.alias(column.name)


def _of_text(text: str) -> datetime | None:
    """Return the time of a rarer form of ISO 8601 or of a number as text, or null."""
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    try:
        number: datetime | None = _of_numbers(pl.Series([float(text)])).item()
    except ValueError:
        return None
    return number


class Clock:
    """Assigns the times of one file, in order, to windows of `grain`."""

    def __init__(self, grain: str, problems: Problems, zone: str | None = None) -> None:
        self._grain, self._problems, self._zone = grain, problems, zone
        self._last: datetime | None = None

    def windows(self, raw: pl.Series, places: pl.Series) -> pl.Series:
        """Return the smallest window of each time; null if the time is missing or impossible, which is counted."""
        times = pl.DataFrame({"raw": raw, "time": moments_in(raw, self._zone), "place": places})
        if self._zone is None and (n_without_zone := int(without_zone(raw).sum())):
            self._problems.note(WITHOUT_ZONE, [], n_without_zone)
        times = times.with_columns(good=pl.col("time").is_not_null() & plausible(pl.col("time")))
        self._record("responses without a time", times.filter(pl.col("raw").is_null()))
        unreadable = pl.col("raw").is_not_null() & pl.col("time").is_null()
        self._record("responses with an unreadable time", times.filter(unreadable))
        self._record(IMPLAUSIBLE, times.filter(pl.col("time").is_not_null() & ~pl.col("good")))
        self._count_jumps(times.filter("good"))
        shown = on_clock(times.select(pl.when("good").then("time")).to_series(), self._zone).alias("shown")
        return shown.to_frame().select(starts(pl.col("shown"), self._grain)).to_series()

    def _record(self, kind: str, times: pl.DataFrame) -> None:
        if len(times):
            self._problems.record(kind, times["place"].to_list())

    def _count_jumps(self, times: pl.DataFrame) -> None:
        if times.is_empty():
            return
        before = times["time"].shift(1, fill_value=self._last or times["time"][0])
        jumps = times.filter((before - times["time"]).dt.total_seconds() > JUMP_S)["place"].to_list()
        if jumps:
            self._problems.note("responses more than an hour earlier than the response above", jumps)
        self._last = times["time"][-1]
