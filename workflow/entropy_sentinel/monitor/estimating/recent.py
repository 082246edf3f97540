"""The newest windows of each slice; where they are thin, they are pooled backwards until there are enough responses.

Alerts are about these: a slice of which a day has six responses would never have enough to say anything. Windows are
pooled over a bounded time, so that what is shown as new is new; a slice that had enough once and has too few now is
`stale`. Pooled windows never reach back into the reference or behind it.
"""

from dataclasses import dataclass
from datetime import datetime

import numpy as np
import polars as pl

from entropy_sentinel.monitor.reading.settings import WIDTHS, WINDOWS, Reference
from entropy_sentinel.monitor.reading.times import DTYPE
from entropy_sentinel.monitor.summing.merging import Windows
from entropy_sentinel.monitor.summing.sums import Sums

# Windows that alerts are about: the newest, which may have only begun, and the one before it.
NEWEST_WINDOWS = 2


@dataclass(frozen=True)
class Recent:
    """The newest windows of slices.

    `rows` (n,) has `slice`, a row number of `Merged.slices`; `window`, the newest that is pooled; `window_from`, the
    oldest in which the slice has responses; `n_windows`, from the one to the other; `sums` (n,) are theirs. A slice has
    a row for the newest window, and one for the window before it where the newest needed no other.

    `last_usable` (n_slices,) is the last window that had enough responses, those before it pooled, null where none had;
    `stale` (n_slices,) whether that is too long ago. `newest` are the windows of the rows, the newest last.
    """

    rows: pl.DataFrame
    sums: Sums
    newest: list[datetime]
    last_usable: list[datetime | None]
    stale: np.ndarray


def recent(
    windows: Windows, n_slices: int, window: str, least: int, most_windows: int, reference: Reference | None
) -> Recent:
    """Pool the newest windows of each slice, at most `most_windows`, until it has `least` estimated responses."""
    n, place = pl.Series(windows.sums.n_estimated), pl.int_range(pl.len())
    counts = windows.rows.with_columns(n=n, place=place).drop_nulls("window")
    span = f"{most_windows}{WINDOWS[window][1:]}"
    newest, reach = _newest(counts, span, least), (most_windows - 1) * WIDTHS[window]
    rows = _pooled(counts.head(0), least).with_columns(window=pl.lit(None, DTYPE))
    for end in reversed(newest):
        begin = end - reach
        if reference is not None and end >= reference.end:
            begin = max(begin, reference.end)
        part = _pooled(counts.filter(pl.col("window").is_between(begin, end)), least).with_columns(window=pl.lit(end))
        if end != newest[-1]:  # for slices whose newest window needs no other
            alone = rows.filter(pl.col("window_from") == newest[-1], pl.col("n") >= least)
            part = part.join(alone, on="slice", how="semi")
        rows = pl.concat([rows, part], how="diagonal_relaxed")
    groups = np.full(len(windows.rows), -1)
    for number, places in enumerate(rows["places"].to_list()):
        groups[places] = number
    n_windows = ((pl.col("window") - pl.col("window_from")) / WIDTHS[window]).round().cast(pl.Int64) + 1
    last = _last_usable(counts, span, least, n_slices, reference)
    return Recent(
        rows.select("slice", "window", "window_from", n_windows=n_windows),
        windows.sums.grouped(groups, len(rows)),
        newest,
        last,
        _stale(counts.filter(pl.col("window") >= newest[-1] - reach) if newest else counts, last, least),
    )


def _newest(counts: pl.DataFrame, span: str, least: int) -> list[datetime]:
    """The newest two windows; one that has few responses with all those before it is of a clock that is wrong."""
    if counts.is_empty():
        return []
    whole = counts.group_by("window").agg(pl.col("n").sum()).sort("window")
    usable = whole.filter(pl.col("n").rolling_sum_by("window", span) >= least)["window"]
    last = usable.max() if len(usable) else whole["window"].max()
    return whole.filter(pl.col("window") <= last)["window"].tail(NEWEST_WINDOWS).to_list()


def _pooled(counts: pl.DataFrame, least: int) -> pl.DataFrame:
    """By slice the newest windows that have `least` responses together, or all: `window_from`, `n`, their `places`."""
    newest_first = counts.sort("slice", "window", descending=[False, True])
    after = pl.col("n").cum_sum().over("slice") - pl.col("n")
    taken = newest_first.filter(after < least)
    return taken.group_by("slice", maintain_order=True).agg(
        pl.col("window").min().alias("window_from"), pl.col("n").sum(), pl.col("place").alias("places")
    )


def _last_usable(
    counts: pl.DataFrame, span: str, least: int, n_slices: int, reference: Reference | None
) -> list[datetime | None]:
    """Of each slice; as for what is shown, windows after the reference are not pooled with those before its end."""
    after = pl.lit(False) if reference is None else pl.col("window") >= reference.end
    pooled = pl.col("n").rolling_sum_by("window", span).over("slice", after)
    rolling = counts.sort("slice", "window").with_columns(pooled)
    last = rolling.filter(pl.col("n") >= least).group_by("slice").agg(pl.col("window").max())
    known: dict[int, datetime] = dict(last.iter_rows())
    return [known.get(number) for number in range(n_slices)]


def _stale(lately: pl.DataFrame, last_usable: list[datetime | None], least: int) -> np.ndarray:
    """(n_slices,) which had enough responses in some window, and have fewer lately."""
    counts = lately.group_by("slice").agg(pl.col("n").sum())
    enough = set(counts.filter(pl.col("n") >= least)["slice"].to_list())
    return np.array([one is not None and number not in enough for number, one in enumerate(last_usable)], dtype=bool)


def pooled_words(row: dict[str, object], window: str | None) -> str:
    """What to say of a row that pools windows; empty where it does not."""
    if row.get("n_windows", 1) == 1:
        return ""
    return f"{row['n_windows']} {window}s from {row['window_from']:%Y-%m-%d %H:%M}"
