"""The clock of a time zone: what it shows at a moment, and when it shows a time, also when the clock changes.

Windows are computed from what a clock shows. A clock that is set back shows an hour or two twice, and one that is set
forward leaves some out, even midnight, or part of an hour. Two rules keep windows in order and without a gap:

- A clock that is set back stands still at its latest time until it passes this time again.
- A window begins at the first moment at which the clock shows its start or a later time.
"""

import numpy as np
import polars as pl

from entropy_sentinel.logs.timestamps import DTYPE as DTYPE

# What a clock shows is stored as if it were UTC, like every time.
_SECOND = 1_000_000
# No clock changes twice within so many seconds, or by more than that: Samoa once left out a day.
_MOST_SKIPPED = 25 * 3600


def read_clock(moments: pl.Series, zone: str) -> pl.Series:
    """What the clock of a zone shows at UTC times, (n,); the latest time while it repeats what it showed."""
    wall = moments.dt.convert_time_zone(zone).dt.replace_time_zone(None)
    # The first moment at which the clock shows the same; an earlier one means that it was set back.
    first = wall.dt.replace_time_zone(zone, ambiguous="earliest").dt.convert_time_zone("UTC").cast(DTYPE)
    repeated = (first != moments).fill_null(False)
    clock_times = wall.dt.replace_time_zone("UTC").cast(DTYPE)
    if not repeated.any():
        return clock_times
    first_us, clock_us = (times.filter(repeated).to_physical().to_numpy() for times in (first, clock_times))
    change_us = _find_changes(first_us, moments.filter(repeated).to_physical().to_numpy(), zone)
    # What it showed a microsecond before it was set back.
    latest = pl.Series(clock_us - first_us + change_us - 1).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
    return clock_times.scatter(repeated.arg_true(), latest)


def find_moments(clock_times: pl.Series, zone: str) -> pl.Series:
    """The first moments at which the clock of a zone shows these times or later ones, (n,), in this zone."""
    wall = clock_times.dt.replace_time_zone(None)
    moments = wall.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")
    skipped = moments.is_null() & wall.is_not_null()
    if not skipped.any():
        return moments
    wall_us = wall.filter(skipped).to_physical().to_numpy()
    around = _MOST_SKIPPED * _SECOND
    change_us = _find_changes(wall_us - around, wall_us + around, zone)
    changes = pl.Series(change_us).cast(pl.Datetime("us")).dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    return moments.scatter(skipped.arg_true(), changes)


def _find_changes(before_us: np.ndarray, after_us: np.ndarray, zone: str) -> np.ndarray:
    """Find by bisection when a clock changes between two moments each, (n,), in microseconds since 1970."""

    def offset(seconds: np.ndarray) -> np.ndarray:
        """What the clock shows minus UTC, in microseconds."""
        moments = pl.Series(seconds * _SECOND).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
        wall = moments.dt.convert_time_zone(zone).dt.replace_time_zone(None)
        offset_us: np.ndarray = wall.to_physical().to_numpy() - seconds * _SECOND
        return offset_us

    low, high = before_us // _SECOND, -(-after_us // _SECOND)  # rounded up
    new = offset(high)
    while (high - low > 1).any():
        middle = (low + high) // 2
        changed = offset(middle) == new
        low, high = np.where(changed, low, middle), np.where(changed, middle, high)
    return high * _SECOND
