"""A monitor's pictures: slices by expected errors, estimates over time, estimated against known accuracy."""

from collections.abc import Iterator
from datetime import timedelta

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

from entropy_sentinel.monitor.result import Monitored
from entropy_sentinel.monitor.terminal import slice_name
from entropy_sentinel.report.figures import BLUE, GREEN, ORANGE, Drawing, new_figure, plain, style

# What one picture can show; tables and files have all.
RANKED, OVER_TIME, COLUMNS = 20, 12, 3
# The column that is there where labels were given, null where they do not stand for the slice.
LABELLED = "improved_accuracy"
_WIDTHS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}


def pictures(found: Monitored) -> Iterator[tuple[str, Drawing]]:
    """Headings and pictures, those for which there is something to draw."""
    with style():
        ranked = found.slices.filter(pl.col("estimated_accuracy").is_not_null()).head(RANKED)
        if len(ranked):
            yield "Where errors are expected", _ranked(found, ranked)
        if found.windows is not None and found.windows["window"].n_unique() > 1:
            yield "Over time", _over_time(found, ranked.head(OVER_TIME))
        known, of = _known_rows(found)
        if len(known):
            yield "Estimated and labelled", _known(found, known, of)


def _ranked(found: Monitored, rows: pl.DataFrame) -> Drawing:
    """Accuracy with its interval, and expected errors with theirs, a line for each slice."""
    names = [slice_name(row[name] for name in found.by) for row in rows.iter_rows(named=True)]
    figure = new_figure(9, 1.3 + 0.32 * len(rows), "")
    left, right = figure.subplots(1, 2, sharey=True)
    places = np.arange(len(rows))
    for axes, name, low, high in (
        (left, "estimated_accuracy", "lower", "upper"),
        (right, "expected_errors", "expected_errors_lower", "expected_errors_upper"),
    ):
        value, ends = rows[name].to_numpy(), (rows[low].to_numpy(), rows[high].to_numpy())
        axes.errorbar(value, places, xerr=[value - ends[0], ends[1] - value], fmt="o", ms=5, lw=1.4, color=BLUE)
        axes.grid(axis="x", color="0.9")
        plain(axes)
    known = rows[LABELLED].count() if LABELLED in rows.columns else 0
    if known:
        left.plot(rows[LABELLED].cast(pl.Float64).to_numpy(), places, "D", ms=5, color=GREEN)
    left.set(xlim=(0, 1), xlabel="estimated accuracy", yticks=places, yticklabels=names)
    left.invert_yaxis()
    right.set_xlabel("expected errors")
    right.set_xlim(left=0)
    return Drawing(
        figure,
        f"Slices by the number of errors that is expected in them, responses times (1 - accuracy): where labels or "
        f"better data would help most. Lines are {rows['level'][0]:.0%} intervals."
        + (" Green diamonds: with labels." if known else ""),
    )


def _over_time(found: Monitored, ranked: pl.DataFrame) -> Drawing:
    """A panel for each of the first slices: estimate and band by window."""
    by = list(found.by)
    n_columns = min(COLUMNS, len(ranked))
    n_rows = -(-len(ranked) // n_columns)
    figure = new_figure(3.2 * n_columns, 0.6 + 2.1 * n_rows, "")
    panels = figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False).ravel()
    windows = found.windows.drop_nulls("window").sort("window")
    for axes, row in zip(panels, ranked.iter_rows(named=True), strict=False):
        here = windows.filter(pl.all_horizontal(pl.lit(True), *(pl.col(one).eq_missing(row[one]) for one in by)))
        _panel(axes, here, _WIDTHS[found.provenance["window"]] / 2)
        axes.set_title(slice_name(row[one] for one in by), fontsize=9, loc="left")
    for place, axes in enumerate(panels):
        axes.set_visible(place < len(ranked))
        axes.tick_params(labelbottom=place + n_columns >= len(ranked))
    panels[0].set_ylim(0, 1)
    figure.supylabel("estimated accuracy", fontsize=9)
    reference = found.provenance["reference"]
    if reference is not None:
        for axes in panels[: len(ranked)]:
            axes.axvspan(*(np.datetime64(one[:19]) for one in reference), color="0.94", zorder=0)
    grey = " The reference is grey." if reference is not None else ""
    return Drawing(
        figure,
        f"Estimated accuracy by {found.provenance['window']} (UTC), with {ranked['level'][0]:.0%} intervals, of the "
        f"{len(ranked)} slices with the most expected errors.{grey} Orange: a change since the reference that chance "
        "does not explain (q below 0.05).",
    )


def _panel(axes: Axes, here: pl.DataFrame, middle: timedelta) -> None:
    """Estimates of one slice, each in the middle of its window."""
    when = (here["window"].dt.replace_time_zone(None) + middle).to_numpy()
    value = here["estimated_accuracy"].to_numpy()
    axes.fill_between(when, here["lower"].to_numpy(), here["upper"].to_numpy(), color=BLUE, alpha=0.18, lw=0)
    axes.plot(when, value, "o-", ms=4, lw=1.2, color=BLUE)
    changed = (here["change_q"] < 0.05).fill_null(False).to_numpy()
    axes.plot(when[changed], value[changed], "o", ms=6, color=ORANGE)
    locator = AutoDateLocator(minticks=2, maxticks=5)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    axes.grid(axis="y", color="0.9")
    plain(axes)


def _known_rows(found: Monitored) -> tuple[pl.DataFrame, str]:
    """Slices whose labels stand for them, or else those of the newest window, and what they are of."""
    sets = {"": found.slices}
    if found.newest:
        newest = found.newest[-1]
        sets[f" in the {found.provenance['window']} from {newest:%Y-%m-%d}"] = found.now
    for of, rows in sets.items():
        if LABELLED in rows.columns and rows[LABELLED].count():
            return rows.drop_nulls([LABELLED, "estimated_accuracy"]), of
    return found.slices.head(0), ""


def _known(found: Monitored, rows: pl.DataFrame, of: str) -> Drawing:
    """Estimates against what labels and estimates together say."""
    figure = new_figure(4.6, 4.4, "")
    axes = figure.subplots()
    sides = []
    for name, lower, upper in (
        (LABELLED, "improved_lower", "improved_upper"),
        ("estimated_accuracy", "lower", "upper"),
    ):
        value = rows[name].to_numpy()
        sides.append((value, [value - rows[lower].to_numpy(), rows[upper].to_numpy() - value]))
    (labelled, reach), (estimated, own) = sides
    axes.plot([0, 1], [0, 1], color="0.6", lw=1)
    axes.errorbar(labelled, estimated, xerr=reach, yerr=own, fmt="o", ms=5, lw=1, color=BLUE)
    for row in rows.head(RANKED).iter_rows(named=True):
        place = (row[LABELLED], row["estimated_accuracy"])
        axes.annotate(slice_name(row[one] for one in found.by), place, (5, -11), textcoords="offset points", fontsize=8)
    axes.set(xlim=(0, 1.02), ylim=(0, 1.02), xlabel="accuracy with labels", ylabel="estimated accuracy without")
    plain(axes)
    return Drawing(
        figure,
        f"Slices{of} that have labels. On the diagonal the labels confirm the estimate. Lines are "
        f"{rows['level'][0]:.0%} intervals.",
    )
