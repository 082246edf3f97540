"""The window of each response of a file; times that cannot be are counted."""

from datetime import datetime

import polars as pl

from entropy_sentinel.monitor.reading.problems import Problems
from entropy_sentinel.monitor.reading.settings import EARLIEST, LATEST
from entropy_sentinel.monitor.reading.times import moments, plausible, starts

IMPLAUSIBLE = f"responses whose time is before {EARLIEST.year} or after {LATEST.year - 1}"
# A clock that is set right, or servers whose logs were laid behind each other; replies of a minute are no jump.
JUMP_S = 3600


class Clock:
    """The times of one file, from its beginning to its end, in windows of `grain`."""

    def __init__(self, grain: str, problems: Problems) -> None:
        self._grain, self._problems = grain, problems
        self._last: datetime | None = None

    def windows(self, raw: pl.Series, places: pl.Series) -> pl.Series:
        """The smallest window of each time of a log, null where there is none, which is counted."""
        times = pl.DataFrame({"raw": raw, "time": moments(raw), "place": places})
        times = times.with_columns(good=pl.col("time").is_not_null() & plausible(pl.col("time")))
        for kind, which in {
            "responses without a time": pl.col("raw").is_null(),
            "responses whose time cannot be read": pl.col("raw").is_not_null() & pl.col("time").is_null(),
            IMPLAUSIBLE: pl.col("time").is_not_null() & ~pl.col("good"),
        }.items():
            if there := times.filter(which)["place"].to_list():
                self._problems.add(kind, there)
        self._count_jumps(times.filter("good"))
        return times.select(pl.when("good").then(starts(pl.col("time"), self._grain))).to_series()

    def _count_jumps(self, times: pl.DataFrame) -> None:
        if times.is_empty():
            return
        before = times["time"].shift(1, fill_value=self._last or times["time"][0])
        jumps = times.filter((before - times["time"]).dt.total_seconds() > JUMP_S)["place"].to_list()
        if jumps:
            self._problems.note("responses whose time is more than an hour before that of the response above", jumps)
        self._last = times["time"][-1]
