"""A monitor's estimates over time, as points and lines of small panels for the page's template."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl

from entropy_sentinel.frames.numbers import counted
from entropy_sentinel.monitor.estimating.alerts import FALSE_DISCOVERIES
from entropy_sentinel.monitor.reading.settings import WIDTHS
from entropy_sentinel.monitor.result import Monitored
from entropy_sentinel.monitor.showing.pictures import ESTIMATE, most_errors, name_of

# Panels, and windows of each; tables and files have all.
MOST_PANELS, MOST_WINDOWS, MOST_TICKS = 12, 100, 4
# A panel's box: accuracy 0 is at BOTTOM and 1 at TOP, with room for half a dot beyond each, and for text.
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 320, 150, 36, 310, 12, 120

Point = tuple[float, float]


@dataclass(frozen=True)
class Panel:
    """Estimates of one slice, in units of a box of WIDTH x HEIGHT.

    `points` are x, y, whether it has changed, and what is said of it. `bands` are outlines of intervals, and `lines`
    estimates, each of neighbouring windows, as SVG has the points of a line. `ticks` are x and text; `reference` is x
    and width of the reference, or null.
    """

    name: str
    points: tuple[tuple[float, float, bool, str], ...]
    bands: tuple[str, ...]
    lines: tuple[str, ...]
    ticks: tuple[tuple[float, str], ...]
    reference: Point | None


@dataclass(frozen=True)
class OverTime:
    """A panel for each of the first slices, and where accuracies are in it."""

    panels: tuple[Panel, ...]
    caption: str
    box = {"width": WIDTH, "height": HEIGHT, "left": LEFT, "right": RIGHT, "top": TOP, "bottom": BOTTOM}
    levels = tuple((round(BOTTOM - share * (BOTTOM - TOP), 1), f"{share:g}") for share in (0, 0.5, 1))


def over_time(found: Monitored) -> OverTime | None:
    """Estimates by window of the slices with the most expected errors; null where there is one window, or none."""
    if found.windows is None:
        return None
    windows = found.windows.drop_nulls(["window", "estimated_accuracy"]).sort("window")
    times, first = windows["window"].unique().sort(), most_errors(found).head(MOST_PANELS)
    if len(times) < 2 or first.is_empty():
        return None
    newest = times.tail(MOST_WINDOWS)
    axis = _Axis.of(newest, found.provenance["window"])
    grey, panels = _reference(found, axis), []
    for row in first.iter_rows(named=True):
        same = pl.all_horizontal(pl.col("window") >= newest[0], *(pl.col(x).eq_missing(row[x]) for x in found.by))
        panels.append(_panel(name_of(found, row), windows.filter(same), axis, grey))
    return OverTime(
        tuple(panels),
        f"Estimated accuracy by {found.provenance['window']} (UTC, at its begin), with {first['level'][0]:.0%} "
        f"intervals, of the {counted(len(first), 'slice')} with the most expected errors."
        + (" The reference is grey." if grey else "")
        + f" Orange: a change since the reference that chance does not explain (q below {FALSE_DISCOVERIES:g})."
        + (f" The newest {MOST_WINDOWS} of {len(times):,} windows." if len(times) > MOST_WINDOWS else ""),
    )


@dataclass(frozen=True)
class _Axis:
    """The time from the begin of the first window to the end of the last, windows of a `width`."""

    begin: datetime
    end: datetime
    width: timedelta

    @classmethod
    def of(cls, windows: pl.Series, kind: str) -> "_Axis":
        return cls(windows[0], windows[-1] + WIDTHS[kind], WIDTHS[kind])

    def x(self, when: datetime) -> float:
        share = (when - self.begin) / (self.end - self.begin)
        return round(LEFT + min(max(share, 0.0), 1.0) * (RIGHT - LEFT), 1)

    def ticks(self) -> Iterator[tuple[float, str]]:
        """A few windows by their begin, evenly spread, each at its middle; the first, and a new year, with its year."""
        n = round((self.end - self.begin) / self.width)
        year = None
        for number in range(0, n, -(-n // MOST_TICKS)):
            when = self.begin + number * self.width
            text = f"{when.day} {when:%b}" + (f" {when:%H:%M}" if self.width < timedelta(days=1) else "")
            yield self.x(when + self.width / 2), text if when.year == year else f"{text} {when.year}"
            year = when.year


def _panel(name: str, rows: pl.DataFrame, axis: _Axis, reference: Point | None) -> Panel:
    """Points stand in the middle of their windows; a window without an estimate interrupts the line."""
    points, runs, last = [], list[list[tuple[float, float, float, float]]](), None
    for row in rows.iter_rows(named=True):
        when = row["window"]
        value, lower, upper = (row[ESTIMATE[0]] if row[one] is None else row[one] for one in ESTIMATE)
        said = f"{when:%Y-%m-%d %H:%M}: {value:.3f} ({lower:.3f} to {upper:.3f}), {row['n_estimated']:,} responses"
        changed = row["change_q"] is not None and row["change_q"] < FALSE_DISCOVERIES
        if last is None or when - last > axis.width:
            runs.append([])
        runs[-1].append((axis.x(when + axis.width / 2), _y(value), _y(lower), _y(upper)))
        points.append((*runs[-1][-1][:2], changed, said))
        last = when
    return Panel(
        name,
        tuple(points),
        tuple(_outline(run) for run in runs),
        tuple(_path((x, value) for x, value, _, _ in run) for run in runs),
        tuple(axis.ticks()),
        reference,
    )


def _outline(run: Sequence[tuple[float, float, float, float]]) -> str:
    """The interval of neighbouring windows: its upper side, and back along the lower one."""
    return _path([*((x, upper) for x, _, _, upper in run), *((x, lower) for x, _, lower, _ in reversed(run))])


def _y(accuracy: float) -> float:
    return round(BOTTOM - accuracy * (BOTTOM - TOP), 1)


def _path(points: Iterable[Point]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in points)


def _reference(found: Monitored, axis: _Axis) -> Point | None:
    if found.provenance["reference"] is None:
        return None
    start, end = (axis.x(datetime.fromisoformat(one)) for one in found.provenance["reference"])
    return (start, round(end - start, 1)) if end > start else None
