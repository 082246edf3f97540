"""Add up the sums of all files by slice, by window, and before and after the reference; find the newest windows.

Alerts are about the newest windows. If they have too few responses, earlier windows are pooled with them: a slice with
six responses a day would otherwise never have enough. The pooled time is limited, so that the numbers stay recent; a
slice that once had enough responses and now has too few is `stale`. Pooled windows never reach back into the reference.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.monitor.monitor_options import WINDOWS, MonitorOptions, Reference
from entropy_sentinel.monitor.reading.feature_stream import SLICE_PREFIX
from entropy_sentinel.monitor.reading.time_zones import DTYPE
from entropy_sentinel.monitor.reading.window_times import find_window_starts, shift_window
from entropy_sentinel.monitor.slice_columns import CATALOGUE, COMPARISON_COLUMNS
from entropy_sentinel.monitor.summing.cluster_sums import SliceClusters
from entropy_sentinel.monitor.summing.monitor_state import State
from entropy_sentinel.monitor.summing.slice_sums import MOST_HELD_ROWS, SliceSums, find_places
from entropy_sentinel.statistics.design_effects import ClusterMoments

# The slice that pools all small slices, and the label of a missing value in metrics. If a log contains one of these
# texts as a value, it is shown in quotes.
OTHERS, NOTHING = "(others)", "(none)"
# Largest table by slice and window; its histograms take 270 MB of memory.
MOST_ROWS = 200_000

# The prefix of columns with numbers of responses that have no value in a slice column.
MISSING = "missing."

# The column and the value of the only slice if no column is requested.
ALL, EVERYTHING = "slice", "all"

# Alerts cover the newest window, which may have just begun, and the one before it.
NEWEST_WINDOWS = 2


class WindowSums(NamedTuple):
    """Sums by slice and window: `rows` has `slice`, a row number of `SliceTable.slices`, and `window`."""

    rows: pl.DataFrame
    sums: SliceSums


@dataclass(frozen=True)
class SliceTable:
    """Sums of n slices and of their windows; the largest slice is first, and OTHERS, if it exists, last.

    `slices` (n,) has the slice columns. `total`, `before` (in the reference) and `since` (after the reference) are
    sums, (n,); `windows` has the sums by window, if requested, and `base_windows` those by the smallest window, with a
    reference, but without histograms and words. `clusters` are the clusters of slices, and `before_clusters` and
    `since_clusters` their moments in and after the reference, (n,). OTHERS pools `n_pooled` slices; `kept` has the keys
    of all other slices. `traffic` has the number of responses `n` of each window (day without windows; null without
    times) and, for each slice column, the number without a value, `missing.COLUMN`.
    """

    slices: pl.DataFrame
    total: SliceSums
    before: SliceSums
    since: SliceSums
    windows: WindowSums | None
    base_windows: WindowSums | None
    clusters: SliceClusters
    before_clusters: ClusterMoments
    since_clusters: ClusterMoments
    n_pooled: int
    kept: pl.DataFrame
    traffic: pl.DataFrame

    def number_slices(self, keys: pl.DataFrame) -> np.ndarray:
        """For each key its row number in `slices`, (n,)."""
        return _number_slices(keys, self.kept)


def _number_slices(keys: pl.DataFrame, kept: pl.DataFrame) -> np.ndarray:
    """For each key its row number in `kept`, or the number after the last, (n,)."""
    numbers = find_places(_add_slice_column(keys, kept.columns).select(kept.columns), kept)
    return np.where(numbers < 0, len(kept), numbers)


def merge_sums(
    state: State, by: Sequence[str], window: str | None, reference: Reference | None, max_slices: int
) -> SliceTable | None:
    """Add up the sums of all files in two passes; return None without responses.

    The `max_slices` slices with the most responses (ties by name) are kept, or fewer if the table by slice and window
    would be longer than MOST_ROWS. All other slices are pooled.
    """
    columns = [f"{SLICE_PREFIX}{name}" for name in by or (ALL,)]
    sizes, windows, traffic = _count_responses(state, columns, window)
    if sizes.is_empty():
        return None
    n_windows = len(windows)
    most = min(max_slices, MOST_ROWS // n_windows - 1)  # one more slice may pool the rest
    if most < 1:
        raise InputError(f"window: the logs have {n_windows:,} windows, which is too many; choose a longer window")
    kept = sizes.head(most).drop("n")
    n_pooled = len(sizes) - len(kept)
    slices = _name_slices(kept, n_pooled > 0)
    sums: dict[str, SliceSums] = {}
    grid = pl.DataFrame({"slice": [], "window": []}, schema={"slice": pl.Int64, "window": windows.schema["window"]})
    by_window, base_windows = _Grid(grid), _Grid(grid)
    for part in state.all_sums():
        numbers = _number_slices(part.keys, kept)
        rows = part.keys.select("grain", slice=pl.Series(numbers, dtype=pl.Int64))
        if not sums:
            sums = {name: SliceSums.zeros(len(slices), part.sums) for name in ("total", "before", "since")}
        sums["total"].add(numbers, part.sums)
        if reference is not None:
            before = rows["grain"].is_between(*reference, closed="left").fill_null(False).to_numpy()
            sums["before"].add(np.where(before, numbers, -1), part.sums)
            since = (rows["grain"] >= reference.end).fill_null(False).to_numpy()
            sums["since"].add(np.where(since, numbers, -1), part.sums)
            base_windows.add_sums(rows.select("slice", window="grain"), part.sums.drop_lists())
        if window is not None:
            by_window.add_sums(rows.select("slice", window=find_window_starts(pl.col("grain"), window)), part.sums)
    clusters = SliceClusters(((_number_slices(part, kept), part) for part in state.all_clusters()), window)
    return SliceTable(
        slices=slices,
        total=sums["total"],
        before=sums["before"],
        since=sums["since"],
        windows=by_window.windows,
        base_windows=base_windows.windows,
        clusters=clusters,
        before_clusters=_measure_period(clusters, len(slices), reference, is_reference=True),
        since_clusters=_measure_period(clusters, len(slices), reference, is_reference=False),
        n_pooled=n_pooled,
        kept=kept,
        traffic=traffic,
    )


def _measure_period(
    clusters: SliceClusters, n_slices: int, reference: Reference | None, is_reference: bool
) -> ClusterMoments:
    """The moments of each slice's clusters in the reference (`is_reference`), or after it; without one, zeros."""
    if reference is None:
        return ClusterMoments.zeros(n_slices)
    period = (reference.start, reference.end) if is_reference else (reference.end, None)
    return clusters.select_period(*period).measure_rows(pl.DataFrame({"slice": range(n_slices)}))


def _name_slices(kept: pl.DataFrame, has_pooled: bool) -> pl.DataFrame:
    """The slices with their names in the table, and with OTHERS if some are pooled."""
    slices = kept.with_columns(map(_quote_reserved, kept.columns))
    if has_pooled:
        slices = pl.concat([slices, pl.DataFrame({name: [OTHERS] for name in kept.columns})])
    return slices.rename(_name_column)


def _quote_reserved(column: str) -> pl.Expr:
    """A column with quotes added around OTHERS and NOTHING, even if these values are already quoted."""
    quoted = pl.concat_str(pl.lit('"'), column, pl.lit('"'))
    is_reserved = pl.col(column).str.strip_chars('"').is_in([OTHERS, NOTHING])
    return pl.when(is_reserved).then(quoted).otherwise(column).alias(column)


def _name_column(column: str) -> str:
    """The name of a slice column in the table; `slice_NAME` if the table already has a column NAME."""
    name = column.removeprefix(SLICE_PREFIX)
    return f"slice_{name}" if name in {**CATALOGUE, **COMPARISON_COLUMNS} else name


def _add_slice_column(keys: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Keys with their slice columns; without any, all responses are one slice."""
    return keys if columns[0] in keys.columns else keys.with_columns(pl.lit(EVERYTHING).alias(columns[0]))


def _count_responses(
    state: State, columns: Sequence[str], window: str | None
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """All slices with their numbers of responses `n`, the largest first; all windows; and the traffic.

    The traffic is `SliceTable.traffic`. Without responses, the frames are empty.
    """
    names = {f"{MISSING}{column.removeprefix(SLICE_PREFIX)}": column for column in columns}
    total = [pl.col("n").sum(), *(pl.col(name).sum() for name in names)]
    sizes, traffic = _DistinctRows([*columns], pl.col("n").sum()), _DistinctRows(["window"], *total)
    for part in state.all_sums():
        keys = _add_slice_column(part.keys, columns).with_columns(n=pl.Series(part.sums.n_responses))
        sizes.add_rows(keys.select(*columns, "n"))
        missing = {
            name: pl.when(pl.col(column).fill_null("").str.strip_chars() == "").then("n").otherwise(0)
            for name, column in names.items()
        }
        traffic.add_rows(
            keys.select(find_window_starts(pl.col("grain"), window or "day").alias("window"), "n", **missing)
        )
    slices, windows = sizes.rows(), traffic.rows()
    if len(slices):
        slices = slices.sort("n", *columns, descending=[True, *[False] * len(columns)], nulls_last=True)
    return slices, windows.select("window") if len(windows.columns) else windows, windows


class _DistinctRows:
    """Collects the distinct rows of many frames in linear time, because it merges only when they have doubled."""

    def __init__(self, by: Sequence[str], *sums: pl.Expr) -> None:
        self._by, self._sums = by, sums
        self._waiting: list[pl.DataFrame] = []
        self._n_waiting, self._n_distinct = 0, 0

    def add_rows(self, frame: pl.DataFrame) -> None:
        """Add a frame with the columns of the rows and of the sums."""
        self._waiting.append(frame)
        self._n_waiting += len(frame)
        if self._n_waiting > 2 * max(self._n_distinct, MOST_HELD_ROWS):
            self.rows()

    def rows(self) -> pl.DataFrame:
        """The distinct rows so far."""
        if not self._waiting:
            return pl.DataFrame()
        whole = pl.concat(self._waiting).group_by(self._by).agg(*self._sums)
        self._waiting, self._n_waiting, self._n_distinct = [whole], len(whole), len(whole)
        return whole


class _Grid:
    """Adds up sums by slice and window."""

    def __init__(self, empty: pl.DataFrame) -> None:
        self._rows = empty
        self._sums: SliceSums | None = None

    def add_sums(self, rows: pl.DataFrame, part: SliceSums) -> None:
        """Add the sums of a part, (n,), whose slices and windows are the `rows`, (n,)."""
        new = rows.unique(maintain_order=True).join(self._rows, on=rows.columns, how="anti", nulls_equal=True)
        if self._sums is None or len(new):
            zeros = SliceSums.zeros(len(new), part)
            self._rows = pl.concat([self._rows, new])
            self._sums = zeros if self._sums is None else SliceSums.stack([self._sums, zeros])
        self._sums.add(find_places(rows, self._rows), part)

    @property
    def windows(self) -> WindowSums | None:
        """The sums by slice and window; null if nothing was added."""
        return None if self._sums is None else WindowSums(self._rows, self._sums)


# The column of rows that only count among the tests of their window.
ONLY_TESTED = "only_tested"


@dataclass(frozen=True)
class RecentWindows:
    """The newest windows of slices.

    `rows` (n,) has `slice`, a row number of `SliceTable.slices`; `window`, the newest pooled window; `window_from`, the
    oldest pooled window with responses of the slice; `window_to`, the newest one; and `n_windows`, the number of
    windows from `window_from` to `window`, inclusive.
    `sums` (n,) are the sums of these rows. A slice has a row for the newest window, and a row for the window before. If
    the newest row pools that window, the earlier row is ONLY_TESTED: its test belongs to the tests of that window,
    whose number must not change after the window has closed, but the row is not shown.

    `last_usable` (n_slices,) is the last window with enough responses after pooling, or null. `stale` (n_slices,)
    tells whether that window is too long ago. `newest` are the windows of the rows, the newest last.
    """

    rows: pl.DataFrame
    sums: SliceSums
    newest: list[datetime]
    last_usable: list[datetime | None]
    stale: np.ndarray


def find_newest_windows(windows: WindowSums | None, window: str | None, settings: MonitorOptions) -> list[datetime]:
    """The newest two windows, without later windows that are too thin even if pooled: their clock is wrong."""
    if windows is None or window is None:
        return []
    counts = windows.rows.with_columns(n=pl.Series(windows.sums.n_estimated)).drop_nulls("window")
    if counts.is_empty():
        return []
    return select_newest_windows(counts, window, settings)


def select_newest_windows(counts: pl.DataFrame, window: str, settings: MonitorOptions) -> list[datetime]:
    """The newest two windows, without later ones that are too thin even if pooled: their clock is wrong.

    `counts`, at least one row, has `window` and the number of responses, `n`.
    """
    whole = counts.group_by("window").agg(pl.col("n").sum()).sort("window")
    span = _format_duration(settings.pool_windows, window)
    usable = whole.filter(pl.col("n").rolling_sum_by("window", span) >= settings.min_responses)["window"]
    last = usable.max() if len(usable) else whole["window"].max()
    return whole.filter(pl.col("window") <= last)["window"].tail(NEWEST_WINDOWS).to_list()


def _format_duration(n_windows: int, window: str) -> str:
    """The length of some windows in Polars' notation, such as `14d`."""
    return f"{n_windows}{WINDOWS[window][1:]}"


def pool_newest_windows(
    windows: WindowSums,
    n_slices: int,
    window: str,
    least: int,
    most_windows: int,
    reference: Reference | None,
    newest: Sequence[datetime],
) -> RecentWindows:
    """Pool at most `most_windows` of each slice's windows up to each of `newest` until they have `least` responses."""
    n, place = pl.Series(windows.sums.n_estimated), pl.int_range(pl.len())
    counts = windows.rows.with_columns(n=n, place=place).drop_nulls("window")
    rows = _pool_windows(counts.head(0), least).with_columns(
        pl.lit(False).alias(ONLY_TESTED), window=pl.lit(None, DTYPE)
    )
    for end in reversed(newest):
        begin = shift_window(end, 1 - most_windows, window)
        if reference is not None and end >= reference.end:
            begin = max(begin, reference.end)
        part = _pool_windows(counts.filter(pl.col("window").is_between(begin, end)), least)
        only_tested = pl.lit(False)
        if end != newest[-1]:  # the earlier row is not shown if the newest row of the slice pools its window
            pools = rows.filter(pl.col("window_from") < newest[-1])
            only_tested = pl.col("slice").is_in(pools["slice"].implode())
        part = part.with_columns(only_tested.alias(ONLY_TESTED), window=pl.lit(end))
        rows = pl.concat([rows, part], how="diagonal_relaxed")
    # Rows that are only tested pool windows that other rows pool too, so they need a pass of their own.
    sums = SliceSums.zeros(len(rows), windows.sums)
    for tested in (False, True):
        groups = np.full(len(windows.rows), -1)
        for number, (pooled, is_only_tested) in enumerate(rows.select("places", ONLY_TESTED).iter_rows()):
            if is_only_tested == tested:
                groups[pooled] = number
        sums.add(groups, windows.sums)
    last = _find_last_usable(counts, _format_duration(most_windows, window), least, n_slices, reference)
    recent_counts = counts
    if newest:
        recent_counts = counts.filter(pl.col("window") >= shift_window(newest[-1], 1 - most_windows, window))
    n_windows = pl.datetime_ranges("window_from", "window", WINDOWS[window]).list.len().cast(pl.Int64)
    return RecentWindows(
        rows.select("slice", "window", "window_from", "window_to", ONLY_TESTED, n_windows=n_windows),
        sums=sums,
        newest=[*newest],
        last_usable=last,
        stale=_find_stale(recent_counts, last, least),
    )


def _pool_windows(counts: pl.DataFrame, least: int) -> pl.DataFrame:
    """Pool each slice's newest windows until they have `least` responses.

    `counts` have `slice`, `window`, `n` and `place`. The result has a row per slice: `window_from`, `window_to` (the
    newest with a response), `n`, and the `places` of what was pooled.
    """
    newest_first = counts.sort("slice", "window", descending=[False, True])
    n_later = pl.col("n").cum_sum().over("slice") - pl.col("n")
    pooled = newest_first.filter(n_later < least)
    return pooled.group_by("slice", maintain_order=True).agg(
        pl.col("window").min().alias("window_from"),
        pl.col("window").filter(pl.col("n") > 0).max().alias("window_to"),
        pl.col("n").sum(),
        pl.col("place").alias("places"),
    )


def _find_last_usable(
    counts: pl.DataFrame, span: str, least: int, n_slices: int, reference: Reference | None
) -> list[datetime | None]:
    """The last window of each slice that has `least` responses together with earlier ones of a `span`, or null.

    Windows before and after the end of the reference are not pooled.
    """
    after = pl.lit(False) if reference is None else pl.col("window") >= reference.end
    pooled = pl.col("n").rolling_sum_by("window", span).over("slice", after)
    rolling = counts.sort("slice", "window").with_columns(pooled)
    last = rolling.filter(pl.col("n") >= least).group_by("slice").agg(pl.col("window").max())
    last_by_slice: dict[int, datetime] = dict(last.iter_rows())
    return [last_by_slice.get(number) for number in range(n_slices)]


def _find_stale(recent_counts: pl.DataFrame, last_usable: list[datetime | None], least: int) -> np.ndarray:
    """Whether each slice once had enough responses but has too few in `recent_counts`, (n_slices,)."""
    counts = recent_counts.group_by("slice").agg(pl.col("n").sum())
    stale = np.array([last is not None for last in last_usable], dtype=bool)
    stale[counts.filter(pl.col("n") >= least)["slice"].to_numpy()] = False
    return stale


def describe_pooling(row: Mapping[str, Any], window: str | None) -> str:
    """A note that names the windows that a row pools; empty if the row has only one."""
    if row.get("n_windows", 1) == 1:
        return ""
    return f"{row['n_windows']} {window}s from {row['window_from']:%Y-%m-%d %H:%M}"
