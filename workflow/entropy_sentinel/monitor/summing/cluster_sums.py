"""Sums over the responses of each cluster in a slice and window, for the design effects of their means.

A slice and window keeps at most MOST_CLUSTERS clusters, those with the smallest hashes: a random sample of clusters,
each with all its responses. The same clusters are the smallest in every part of a log, so the samples of parts join to
the sample of the whole, whatever the order (bottom-k sampling: Cohen and Kaplan 2007), and memory does not grow with
traffic.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

import numpy as np
import polars as pl

from entropy_sentinel.monitor.reading.dependence import CLUSTER, hash_texts
from entropy_sentinel.monitor.reading.feature_stream import SLICE_PREFIX
from entropy_sentinel.monitor.reading.time_zones import DTYPE
from entropy_sentinel.monitor.reading.window_times import find_window_starts
from entropy_sentinel.schemas.response_schema import RESPONSE
from entropy_sentinel.statistics.design_effects import LAGS, ClusterMoments

# Largest number of clusters of a slice and window; a design effect then has an error of about a tenth per window.
MOST_CLUSTERS = 64
# Rows in memory while a file is read, about 20 MB.
_MOST_ROWS = 200_000
# Per cluster: its number of responses, and the sums of their values and of the squares of these.
_SUMS = ("n", "x", "xx")
_LIMIT = "(limit)"
CLUSTER_COLUMNS = {CLUSTER: pl.UInt64, "n": pl.UInt32, "x": pl.Float64, "xx": pl.Float64}
_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "slice": pl.Int64,
    "grain": DTYPE,
    **CLUSTER_COLUMNS,
    _LIMIT: pl.UInt64,
}


def sum_clusters(frame: pl.DataFrame, values: np.ndarray) -> pl.DataFrame:
    """The sums by slice, window (`grain`) and cluster of estimated responses with the estimator's values, (n, k).

    The value of a response is the mean of its k values. A response without a cluster is its own; if all are, the result
    is empty.
    """
    by = [name for name in frame.columns if name.startswith(SLICE_PREFIX)]
    has_no_cluster = frame[CLUSTER].is_null()
    rows = frame.select(*by, "grain", CLUSTER).with_columns(x=pl.Series(values.mean(axis=1), dtype=pl.Float64))
    if has_no_cluster.all():
        rows = rows.clear()
    elif has_no_cluster.any():
        keys = (
            frame.filter(has_no_cluster)
            .select(pl.concat_str(pl.col(RESPONSE).cast(pl.String), separator="\0"))
            .to_series()
        )
        rows = rows.with_columns(rows[CLUSTER].scatter(has_no_cluster.arg_true(), hash_texts(keys)))
    sums = rows.group_by(*by, "grain", CLUSTER).agg(
        pl.len().cast(pl.UInt32).alias("n"), pl.col("x").sum(), (pl.col("x") ** 2).sum().alias("xx")
    )
    return _sample_clusters(sums, [*by, "grain"])


class ClusterAccumulator:
    """Adds up the cluster sums of a file's frames, in parts of bounded size."""

    def __init__(self) -> None:
        self._waiting: list[pl.DataFrame] = []
        self._rows = 0

    def add_frame(self, sums: pl.DataFrame) -> pl.DataFrame | None:
        """Add a frame's sums; return the sums so far and start again if they are too many to hold, else None."""
        self._waiting.append(sums)
        self._rows += len(sums)
        if self._rows <= _MOST_ROWS:
            return None
        whole = _sum_parts(self._waiting)
        if len(whole) > _MOST_ROWS // 2:
            self._waiting, self._rows = [], 0
            return whole
        self._waiting, self._rows = [whole], len(whole)
        return None

    def rest(self) -> pl.DataFrame | None:
        """The remaining sums, or None."""
        return _sum_parts(self._waiting) if self._waiting else None


def _sum_parts(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Add up the sums of parts of a log."""
    keys = [name for name in parts[0].columns if name not in (CLUSTER, *_SUMS)]
    limited = pl.concat([_add_limit(part, keys) for part in parts])
    return _sum_complete_clusters(limited, keys)


def _add_limit(sums: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The sums with the column _LIMIT: up to which hash the clusters of their keys are complete, null if all are.

    A part of a log keeps only the smallest MOST_CLUSTERS hashes of each slice and window (`keys`).
    """
    full = pl.len().over(keys) >= MOST_CLUSTERS
    return sums.with_columns(pl.when(full).then(pl.col(CLUSTER).max().over(keys)).alias(_LIMIT))


def _sum_complete_clusters(limited: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Add up clusters by key, without those that a part with a limit may lack."""
    limit = pl.col(_LIMIT).min().over(keys)
    complete = limited.filter((pl.col(CLUSTER) <= limit).fill_null(True))
    sums = complete.group_by(*keys, CLUSTER).agg(pl.col(_SUMS).sum())
    return _sample_clusters(sums, keys)


def _sample_clusters(sums: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The MOST_CLUSTERS clusters of each key with the smallest hashes."""
    if len(sums) <= MOST_CLUSTERS:
        return sums
    return sums.filter(pl.col(CLUSTER).rank("ordinal").over(keys) <= MOST_CLUSTERS)


class SliceClusters:
    """The clusters of all slices by smallest window, in a sample of the clusters."""

    def __init__(self, parts: Iterable[tuple[np.ndarray, pl.DataFrame]], window: str | None) -> None:
        """Add up the cluster sums of parts of a log, each with the slice of each row, (n,), for rows by `window`."""
        waiting = [pl.DataFrame(schema=_SCHEMA)]
        for slices, sums in parts:
            keys = [name for name in sums.columns if name not in (CLUSTER, *_SUMS)]
            limited = _add_limit(sums, keys).with_columns(pl.Series("slice", slices, dtype=pl.Int64))
            waiting.append(limited.select(*_SCHEMA))
        rows = _sum_complete_clusters(pl.concat(waiting), ["slice", "grain"])
        self._rows = rows.with_columns(window=find_window_starts(pl.col("grain"), window or "day"))

    @property
    def has_repeats(self) -> bool:
        """Whether some cluster of a slice has several responses."""
        n = pl.col("n").sum().over("slice", CLUSTER)
        return not self._rows.is_empty() and bool(self._rows.select((n > 1).any()).item())

    def select_period(self, start: datetime | None, end: datetime | None) -> "SliceClusters":
        """The clusters of the smallest windows from `start`, if given, and before `end`, if given."""
        period = SliceClusters((), None)
        rows = self._rows
        if start is not None:
            rows = rows.filter(pl.col("grain") >= start)
        if end is not None:
            rows = rows.filter(pl.col("grain") < end)
        period._rows = rows
        return period

    def measure_grains(self, grains: pl.DataFrame) -> ClusterMoments:
        """The moments in each of n smallest windows of slices, (n,); `grains` has `slice` and `grain`."""
        return self._measure_groups(grains, ["slice", "grain"])

    def measure_recurrences(self, grains: pl.DataFrame) -> pl.DataFrame:
        """How clusters recur in the smallest windows of slices: `squares`, `near` and `every`, (n,) each.

        `grains` (n,) has `slice` and `grain`, in order. `statistics.design_effects.recurrence_effects` uses the
        numbers.
        """
        numbered = grains.with_row_index("place").with_columns(at=pl.int_range(pl.len()).over("slice"))
        rows = self._rows.join(numbered, on=["slice", "grain"], nulls_equal=True)
        # Only clusters with hashes up to the smallest limit are complete in all windows of a slice.
        full = pl.len().over("place") >= MOST_CLUSTERS
        rows = rows.with_columns(pl.when(full).then(pl.col(CLUSTER).max().over("place")).alias(_LIMIT))
        rows = rows.filter((pl.col(CLUSTER) <= pl.col(_LIMIT).min().over("slice")).fill_null(True))
        mean = pl.col("x").sum().over("place") / pl.col("n").sum().over("place")
        # The deviation of a cluster in a window; products of those of one cluster tell how its responses depend.
        rows = rows.with_columns(e=pl.col("x") - pl.col("n") * mean)
        recurring = rows.filter(pl.len().over("slice", CLUSTER) > 1).sort("at")
        before = pl.col("e").cum_sum().over("slice", CLUSTER) - pl.col("e")
        every = recurring.with_columns(product=pl.col("e") * before)
        earlier = recurring.select("slice", CLUSTER, "at", earlier="e")
        near = [
            recurring.join(earlier.with_columns(pl.col("at") + lag), on=["slice", CLUSTER, "at"]).select(
                "place", product=pl.col("e") * pl.col("earlier")
            )
            for lag in range(1, LAGS + 1)
        ]
        sums = (
            rows.group_by("place").agg(squares=(pl.col("e") ** 2).sum()),
            pl.concat(near).group_by("place").agg(near=pl.col("product").sum()),
            every.group_by("place").agg(every=pl.col("product").sum()),
        )
        result = numbered.select("place")
        for part in sums:
            result = result.join(part, on="place", how="left", maintain_order="left")
        return result.select("squares", "near", "every").fill_null(0.0)

    def measure_rows(self, rows: pl.DataFrame) -> ClusterMoments:
        """The moments of n rows, (n,), with a `slice` and, if they are by window, `window_from` and `window`.

        A cluster in several windows of a row counts once.
        """
        if "window" not in rows.columns:
            return self._measure_groups(rows, ["slice"])
        if rows["window"].eq_missing(rows["window_from"]).all():
            return self._measure_groups(rows, ["slice", "window"])
        is_in_row = pl.col("grain_window").is_between("window_from", "window")
        return self._measure_groups(
            rows, ["slice"], is_in_row | (pl.col("grain_window").is_null() & pl.col("window").is_null())
        )

    def _measure_groups(self, groups: pl.DataFrame, key: list[str], is_in_row: pl.Expr | None = None) -> ClusterMoments:
        """The moments of n groups, (n,), each of the clusters with the same `key`, and for which `is_in_row` holds."""
        numbered = groups.with_row_index("group")
        if is_in_row is None:
            numbered = numbered.select("group", *key)
        rows = self._rows if "window" in key else self._rows.rename({"window": "grain_window"})
        joined = rows.join(numbered, on=key, nulls_equal=True)
        return _sum_moments(joined if is_in_row is None else joined.filter(is_in_row), len(groups))


def _sum_moments(rows: pl.DataFrame, n_groups: int) -> ClusterMoments:
    """The moments of groups, from rows with `group` and the sums of a cluster in a window."""
    full = pl.len().over("group", "grain") >= MOST_CLUSTERS
    limited = rows.with_columns(pl.when(full).then(pl.col(CLUSTER).max().over("group", "grain")).alias(_LIMIT))
    complete = limited.filter((pl.col(CLUSTER) <= pl.col(_LIMIT).min().over("group")).fill_null(True))
    clusters = complete.group_by("group", CLUSTER).agg(pl.col(_SUMS).sum()).with_columns(pl.col("n").cast(pl.Float64))
    n, x = pl.col("n"), pl.col("x")
    sums = clusters.group_by("group").agg(
        clusters=pl.len().cast(pl.Float64),
        n=n.sum(),
        nn=(n * n).sum(),
        x=x.sum(),
        nx=(n * x).sum(),
        xx=(x * x).sum(),
        squares=pl.col("xx").sum(),
    )
    moments = ClusterMoments.zeros(n_groups)
    for name, total in moments._asdict().items():
        total[sums["group"].to_numpy()] = sums[name].to_numpy()
    return moments
