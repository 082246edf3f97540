"""Find the drops of all slices since the reference, at the promised rate of false alarms."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np
import polars as pl

from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.estimators.estimator_base import Estimator
from entropy_sentinel.monitor.alert import Row, SliceValues
from entropy_sentinel.monitor.alert_codes import AlertKind, Flag
from entropy_sentinel.monitor.episodes import DropLevels, Episode
from entropy_sentinel.monitor.monitor_options import MonitorOptions
from entropy_sentinel.monitor.reading.window_times import convert_from_clock
from entropy_sentinel.monitor.summing.slice_sums import SliceSums, list_pairs
from entropy_sentinel.monitor.summing.sum_merging import SliceTable
from entropy_sentinel.statistics.design_effects import recurrence_effects
from entropy_sentinel.statistics.monitoring.change_points import (
    Drop,
    DropRule,
    WindowSeries,
    find_series_drops,
    unit_variances,
)

# With a rate of false alarms that allows one in fewer checks than these, a single check would be weak evidence.
_FEWEST_CHECKS = 20.0


def count_tested_slices(merged: SliceTable, least: int) -> int:
    """The number of slices with at least `least` responses in the reference; the false alarms are shared among them."""
    return int((merged.before.n_estimated >= least).sum())


def find_drops(
    estimator: Estimator,
    merged: SliceTable,
    settings: MonitorOptions,
    n_slices: int,
    rows: Mapping[SliceValues, Row],
) -> list[Episode]:
    """The drops of all slices, by slice and time.

    `n_slices` is the number of slices that are tested, and `rows` are the newest rows of slices, by the slices' values.
    """
    if merged.base_windows is None or settings.period is None or n_slices == 0:
        return []
    rule = DropRule(
        false_alarm_windows=max(n_slices / settings.false_alarms_per_check, _FEWEST_CHECKS),
        least_responses=max(settings.min_responses, 2),
        smallest_drop=settings.min_drop,
    )
    sums = merged.base_windows.sums
    base_windows = merged.base_windows.rows.with_columns(place=pl.int_range(pl.len()), n=pl.Series(sums.n_estimated))
    base_windows = base_windows.filter(pl.col("n") > 0, pl.col("window") >= settings.period.start).sort(
        "slice", "window"
    )
    # Dependent responses make variances larger: those of a cluster, and clusters that recur in later windows.
    moments = merged.clusters.measure_grains(merged.base_windows.rows.select("slice", grain="window"))
    base_windows = pl.concat(
        [base_windows, merged.clusters.measure_recurrences(base_windows.select("slice", grain="window"))],
        how="horizontal",
    )
    drops: list[Episode] = []
    for (number,), part in base_windows.group_by("slice", maintain_order=True):
        slice_ = merged.slices.row(int(str(number)), named=True)
        windows = convert_from_clock(part["window"], settings.zone).to_list()
        n_reference = int((part["window"] < settings.period.end).sum())
        effects = moments.select(part["place"].to_numpy()).cumulative().robust_effect
        effects *= recurrence_effects(*(part[name].to_numpy() for name in ("squares", "near", "every")))
        series = _make_series(estimator, sums.select(part["place"].to_numpy()), n_reference, effects)
        for drop in find_series_drops(series, rule):
            # The window that confirms the drop.
            detected = drop.alarm_window + settings.confirm - 1
            end = len(windows) if drop.end_window is None else drop.end_window
            if detected < end:
                row = rows[tuple(slice_.values())]
                drops.append(_make_episode(slice_, drop, detected, series, windows, row))
    return drops


def _make_series(estimator: Estimator, sums: SliceSums, n_reference: int, effects: np.ndarray) -> WindowSeries:
    """The sums of a slice's windows as a series to search for drops.

    `sums`, (w,), begin with the `n_reference` windows of the reference. `effects`, (w,), are the design effects
    (factors of the variance by dependent responses) that the windows up to each one tell.
    """
    n, k = sums.n_estimated, sums.values.shape[1]
    products = np.zeros((len(n), k, k))
    # Sums have only one half of the symmetric matrix of products.
    for place, (i, j) in enumerate(list_pairs(k)):
        products[:, i, j] = products[:, j, i] = sums.products[:, place]
    variance = effects * unit_variances(n, sums.values, products, estimator.accuracies_of)
    return WindowSeries(n, sums.values, variance, n_reference, estimator.accuracies_of)


def _make_episode(
    slice_: Mapping[str, str | None],
    drop: Drop,
    detected: int,
    series: WindowSeries,
    windows: Sequence[datetime],
    row: Row,
) -> Episode:
    """The episode of a drop; its numbers of windows, like `detected`, the window of the alarm, are places in `windows`.

    `row` is the newest row of the slice.
    """
    end = len(windows) if drop.end_window is None else drop.end_window + 1
    levels = DropLevels(before=drop.previous_accuracy, after=series.accuracy(np.arange(drop.level_window, end)))
    worse = tuple(windows[place] for place in drop.worse_windows)
    until = None if drop.end_window is None else windows[drop.end_window]
    return Episode(
        AlertKind.DROP,
        slice_,
        row,
        _describe_drop(levels, worse, until, row),
        since=windows[drop.first_window],
        detected=windows[detected],
        worse_windows=worse,
        until=until,
        levels=levels,
    )


def _describe_drop(levels: DropLevels, worse: Sequence[datetime], until: datetime | None, row: Row) -> str:
    """The message: how far the accuracy fell, or had fallen if the drop ended (`until`)."""
    if until is not None:
        return f"estimated accuracy had fallen from {levels.before:.3f}"
    message = f"estimated accuracy fell by {levels.before - levels.after:.3f} to {levels.after:.3f}"
    if worse:
        message += f", further on {worse[-1]:%Y-%m-%d}"
    if Flag.SAME_MODEL in row["flag_codes"]:
        message += f", if its model is the same under a new name ({format_option('same_model')})"
    return message
