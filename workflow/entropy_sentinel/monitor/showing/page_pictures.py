"""Compute a monitor's pictures as numbers for the page's template: slices as bars, estimates over time in panels.

The template draws the pictures, so they follow the page's width and colours, and need no package for plots.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import polars as pl

from entropy_sentinel.formatting.text_format import format_count
from entropy_sentinel.monitor.alert_codes import Flag
from entropy_sentinel.monitor.episodes import Episode
from entropy_sentinel.monitor.monitor_options import FROM_WITNESSES
from entropy_sentinel.monitor.monitor_result import Monitored, name_slice
from entropy_sentinel.monitor.reading.window_times import list_windows, shift_window

# Largest number of slices in a picture; files contain all.
MOST_RANKED = 20
# A column that rows have only if labels are given; it is null if the labels do not represent the slice.
LABEL_COLUMN = "improved_accuracy"
ESTIMATE = ("estimated_accuracy", "lower", "upper")
_ERRORS = ("expected_errors", "expected_errors_lower", "expected_errors_upper")
_WITH_LABELS = ("use_accuracy", "use_lower", "use_upper")
# Largest numbers of panels, windows, ticks and events; files contain all windows.
MOST_PANELS, MOST_WINDOWS, MOST_TICKS, MOST_EVENTS = 12, 100, 4, 9
# The box of a panel: accuracy 0 is at BOTTOM and 1 at TOP, with a margin for dots and text.
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 320, 150, 36, 310, 12, 120
Point = tuple[float, float]


@dataclass(frozen=True)
class Mark:
    """A number with its interval on a bar: `at`, `low` and `high` are in per cent of the bar's length.

    `text` is written beside the bar. `kind` is the style: `estimate`, `errors`, `labels` or `unknown`. Without an
    interval, all three positions are equal.
    """

    kind: str
    text: str
    at: float
    low: float
    high: float

    @classmethod
    def from_row(cls, row: Mapping[str, Any], kind: str, names: Sequence[str], full: float, form: str) -> "Mark":
        """The mark of the columns `names`, a value and its limits in the format `form`, on a bar that ends at `full`.

        For a slice unlike all labelled domains, the kind is `unknown`, without the value, unless labels give it. A row
        without flags is a labelled domain.
        """
        value, lower, upper = (row[name] for name in names)
        if kind != "labels" and Flag.UNFAMILIAR in row.get("flag_codes", ()):
            kind, text, value = "unknown", f"unknown ({lower:{form}} to {upper:{form}})", lower
        elif lower is None:
            text, lower, upper = f"{value:{form}}", value, value
        else:
            text = f"{value:{form}} ({lower:{form}} to {upper:{form}})"
        return cls(
            kind, text, _compute_percent(value, full), _compute_percent(lower, full), _compute_percent(upper, full)
        )


def _compute_percent(number: float, full: float) -> float:
    """A number in per cent of `full`, at least 0 and at most 100."""
    return round(min(max(100 * number / full, 0.0), 100.0), 2)


@dataclass(frozen=True)
class Line:
    """The name of a slice and its bars, each with one or more marks."""

    name: str
    bars: tuple[tuple[Mark, ...], ...]


@dataclass(frozen=True)
class Ranges:
    """A picture with a line per slice; `scales` has the title and the two ends of each bar's scale.

    If bars have several marks, `headings` say what each number is.
    """

    scales: tuple[tuple[str, str, str], ...]
    lines: tuple[Line, ...]
    caption: str
    headings: tuple[str, ...] = ()


def rank_slices(result: Monitored, newest: bool = False) -> Ranges | None:
    """Accuracy and expected errors of the slices with the most expected errors; null without estimates.

    They are those of the whole time, or of the newest window.
    """
    rows, when = most_errors(result, result.now if newest else result.slices), ""
    if result.newest:
        when = f" in the {newest_window(result)}" if newest else " in the whole time"
    if rows.is_empty():
        return None
    full = rows.select(pl.max_horizontal(pl.lit(1.0), pl.col(_ERRORS).max())).item()
    lines, kind, scale = [], "estimate", "estimated accuracy"
    if not result.has_estimates:
        kind, scale = "labels", "accuracy from labels"
    for row in rows.iter_rows(named=True):
        accuracy = Mark.from_row(row, kind, result.accuracy_columns, 1, ".3f")
        errors = Mark.from_row(row, "errors", _ERRORS, full, ",.0f")
        lines.append(Line(name_of(result, row), ((accuracy,), (errors,))))
    return Ranges(
        ((scale, "0", "1"), ("errors expected", "0", f"{full:,.0f}")),
        tuple(lines),
        f"Slices{when} by expected number of errors, responses times (1 - accuracy). Labels or better data help "
        f"most in the slices at the top. Bars are {rows['level'][0]:.0%} intervals.",
    )


def compare_labels(result: Monitored) -> Ranges | None:
    """The estimates without and with labels of each slice; null if no slice has an estimate with labels."""
    rows, when = _labelled_rows(result)
    if rows.is_empty():
        return None
    kinds, pronoun = "labels", "labels"
    if rows["rests_on"].is_in(FROM_WITNESSES).any():
        kinds, pronoun = "labels, a second opinion or a calibrated judge", "these"
    lines = []
    for row in rows.head(MOST_RANKED).iter_rows(named=True):
        estimate = Mark.from_row(row, "estimate", ESTIMATE, 1, ".3f")
        with_labels = Mark.from_row(row, "labels", _WITH_LABELS, 1, ".3f")
        lines.append(Line(name_of(result, row), ((estimate, with_labels),)))
    return Ranges(
        (("accuracy", "0", "1"),),
        tuple(lines),
        f"Slices{when} that have {kinds}. Blue circles: the estimate without {pronoun}. Green squares: the "
        f"accuracy to use, with {pronoun}. Bars are {rows['level'][0]:.0%} intervals.",
        headings=("estimate", "to use"),
    )


def most_errors(result: Monitored, rows: pl.DataFrame) -> pl.DataFrame:
    """At most MOST_RANKED of the rows of slices, which are sorted by expected errors, the most first."""
    return rows.drop_nulls(result.accuracy_columns[0]).head(MOST_RANKED)


def newest_window(result: Monitored) -> str:
    """The newest window in words, such as "day from 2026-10-15"."""
    form = "%Y-%m-%d %H:%M" if result.provenance["window"] == "hour" else "%Y-%m-%d"
    return f"{result.provenance['window']} from {result.newest[-1].strftime(form)}"


def _alerted_first(result: Monitored) -> pl.DataFrame:
    """The rows of slices for the panels: those with alerts that last, then those with the most errors."""
    alerted = [alert.slice for alert in result.alerts if not alert.is_over and alert.slice][:MOST_PANELS]
    by, worst = list(result.by), most_errors(result, result.slices)
    if not alerted:
        return worst
    keys = pl.DataFrame(alerted, schema=result.slices.select(by).schema).unique(maintain_order=True)
    first = keys.join(result.slices, on=by, how="inner", nulls_equal=True, maintain_order="left")
    first = first.select(result.slices.columns).drop_nulls(result.accuracy_columns[0])
    return pl.concat([first, worst.join(keys, on=by, how="anti", nulls_equal=True, maintain_order="left")])


def _select_familiar(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of slices that are not unlike all labelled domains."""
    return rows.filter(~pl.col("flag_codes").list.contains(Flag.UNFAMILIAR))


def name_of(result: Monitored, row: Mapping[str, Any]) -> str:
    """The name of a row's slice."""
    return name_slice(row[column] for column in result.by)


def _labelled_rows(result: Monitored) -> tuple[pl.DataFrame, str]:
    """The rows that labels represent, and in words when.

    They are those of the whole time, or of the newest window if it has more slices.
    """
    if LABEL_COLUMN not in result.slices.columns:
        return result.slices.head(0), ""
    is_shown = pl.col(LABEL_COLUMN).is_not_null() | pl.col("rests_on").is_in(FROM_WITNESSES)
    rows, when = result.slices.filter(is_shown), ""
    if result.newest and len(now := result.now.filter(is_shown)) > len(rows):
        rows, when = now, f" in the {newest_window(result)}"
    return rows.drop_nulls("estimated_accuracy"), when


@dataclass(frozen=True)
class SlicePanel:
    """Estimates of one slice, in units of a box of WIDTH x HEIGHT.

    `points` are x, y, whether the window is part of a drop, and the text. For each run of consecutive windows, `bands`
    has the outline of the intervals and `lines` has the estimates, as points. `ticks` are x and text;
    `reference` is x and width of the reference, or null.
    """

    name: str
    points: tuple[tuple[float, float, bool, str], ...]
    bands: tuple[tuple[Point, ...], ...]
    lines: tuple[tuple[Point, ...], ...]
    ticks: tuple[tuple[float, str], ...]
    reference: Point | None


@dataclass(frozen=True)
class AccuracyOverTime:
    """A panel for each slice shown, and the positions on the accuracy axis.

    `events` are x, the number (empty for a single event) and the text of each.
    """

    panels: tuple[SlicePanel, ...]
    caption: str
    events: tuple[tuple[float, str, str], ...] = ()
    box = {"width": WIDTH, "height": HEIGHT, "left": LEFT, "right": RIGHT, "top": TOP, "bottom": BOTTOM}
    levels = tuple((round(BOTTOM - share * (BOTTOM - TOP), 1), f"{share:g}") for share in (0, 0.5, 1))


def draw_over_time(result: Monitored) -> AccuracyOverTime | None:
    """The slices with the most expected errors, by window; null with fewer than two windows.

    Slices and windows that are unlike all labelled domains are left out: their accuracy is not known.
    """
    if result.windows is None:
        return None
    accuracy = result.accuracy_columns
    windows = _select_familiar(result.windows).drop_nulls(["window", accuracy[0]]).sort("window")
    times, worst = windows["window"].unique().sort(), _alerted_first(result)
    first = _select_familiar(worst).head(MOST_PANELS)
    if len(times) < 2 or first.is_empty():
        return None
    newest = times.tail(MOST_WINDOWS)
    axis = _Axis.from_windows(newest, result.provenance["window"])
    grey, panels = _find_reference(result, axis), []
    for row in first.iter_rows(named=True):
        slice_ = {name: row[name] for name in result.by}
        is_slice = [pl.col(name).eq_missing(value) for name, value in slice_.items()]
        drops = [drop for drop in result.drops if drop.slice == slice_]
        rows = windows.filter(pl.col("window") >= newest[0], *is_slice)
        panels.append(
            _make_panel(name_of(result, row), rows=rows, columns=accuracy, axis=axis, reference=grey, drops=drops)
        )
    zone = result.provenance["timezone"]
    what = "Estimated accuracy" if result.has_estimates else "Accuracy from labels"
    sentences = [
        f"{what} by {result.provenance['window']} (start in {zone}), with {first['level'][0]:.0%} "
        f"intervals, of the {format_count(len(first), 'slice')} with "
        f"{'alerts, then of those with ' if _has_alerts(result) else ''}the most expected errors."
    ]
    n_more = len(_select_familiar(result.slices.drop_nulls(accuracy[0]))) - len(first)
    if n_more > 0:
        sentences.append(f"{format_count(n_more, 'further slice')} not drawn: use --output to get all.")
    if len(_select_familiar(worst)) < len(worst):
        sentences.append("Slices unlike all labelled domains are left out.")
    if grey:
        sentences.append("Grey: the reference.")
    if result.drops:
        sentences.append("Orange: a drop.")
    if len(times) > MOST_WINDOWS:
        sentences.append(
            f"Only the newest {MOST_WINDOWS} of {len(times):,} windows are drawn: use --output to get all."
        )
    events, sentence = _mark_events(result, axis)
    if sentence:
        sentences.append(sentence)
    return AccuracyOverTime(tuple(panels), " ".join(sentences), events)


@dataclass(frozen=True)
class _Axis:
    """The time axis, from the start of the first window to the end of the last; `edges` limit the windows."""

    edges: list[datetime]

    @classmethod
    def from_windows(cls, windows: pl.Series, kind: str) -> "_Axis":
        return cls(list_windows(windows[0], shift_window(windows[-1], 1, kind), kind).to_list())

    def number(self, window: datetime) -> int:
        """The number (from 0) of the window that starts at `window`."""
        return bisect_left(self.edges, window)

    def is_within(self, number: int, episode: Episode) -> bool:
        """Whether a part of a window is in an episode."""
        begin, end = self.edges[number : number + 2]
        has_begun = episode.since is None or end > episode.since
        return has_begun and (episode.until is None or begin < episode.until)

    def x(self, when: datetime) -> float:
        """The position of a time in the box."""
        share = (when - self.edges[0]) / (self.edges[-1] - self.edges[0])
        return round(LEFT + min(max(share, 0.0), 1.0) * (RIGHT - LEFT), 1)

    def middle(self, number: int) -> float:
        """The position of the middle of a window in the box."""
        begin, end = self.edges[number : number + 2]
        return self.x(begin + (end - begin) / 2)

    def ticks(self) -> Iterator[tuple[float, str]]:
        """Yield position and label of evenly spaced windows; the first label and the first of a year show the year."""
        n, year = len(self.edges) - 1, None
        # Days on which the clock changes have other numbers of hours.
        hours = self.edges[1] - self.edges[0] < timedelta(hours=12)
        for number in range(0, n, -(-n // MOST_TICKS)):
            when = self.edges[number]
            text = f"{when.day} {when:%b}"
            if hours:
                text += f" {when:%H:%M}"
            if when.year != year:
                text += f" {when.year}"
            yield self.middle(number), text
            year = when.year


def _make_panel(
    name: str,
    rows: pl.DataFrame,
    columns: Sequence[str],
    axis: _Axis,
    reference: Point | None,
    drops: Sequence[Episode],
) -> SlicePanel:
    """A panel of the accuracy and its limits, `columns`, with points in the middle of windows.

    `rows` are those of a slice by window; a window without one breaks the line. `reference` is x and width of the
    reference, and `drops` are the slice's episodes.
    """
    points, runs, last = [], list[_Run](), None
    for row in rows.iter_rows(named=True):
        when, number = row["window"], axis.number(row["window"])
        value, lower, upper = (row[columns[0]] if row[column] is None else row[column] for column in columns)
        text = f"{when:%Y-%m-%d %H:%M}: {value:.3f} ({lower:.3f} to {upper:.3f}), {row['n_estimated']:,} responses"
        is_fallen = any(axis.is_within(number, drop) for drop in drops)
        if last is None or number - last > 1:
            runs.append(_Run())
        x, y = axis.middle(number), _scale_y(value)
        runs[-1].estimates.append((x, y))
        runs[-1].lower.append((x, _scale_y(lower)))
        runs[-1].upper.append((x, _scale_y(upper)))
        points.append((x, y, is_fallen, text))
        last = number
    return SlicePanel(
        name,
        points=tuple(points),
        # The outline of the intervals: along the upper limits, and back along the lower ones.
        bands=tuple((*run.upper, *reversed(run.lower)) for run in runs),
        lines=tuple(tuple(run.estimates) for run in runs),
        ticks=tuple(axis.ticks()),
        reference=reference,
    )


@dataclass(frozen=True)
class _Run:
    """The estimates and limits of consecutive windows."""

    estimates: list[Point] = field(default_factory=list)
    lower: list[Point] = field(default_factory=list)
    upper: list[Point] = field(default_factory=list)


def _has_alerts(result: Monitored) -> bool:
    """Whether an alert about a slice lasts."""
    return any(not alert.is_over and bool(alert.slice) for alert in result.alerts)


def _mark_events(result: Monitored, axis: _Axis) -> tuple[tuple[tuple[float, str, str], ...], str]:
    """The newest MOST_EVENTS events on a time axis (x, number, text), and the sentence that names them."""
    events = result.provenance.get("events", ())
    zone = axis.edges[0].tzinfo
    times = [(datetime.fromisoformat(event["begin"]).astimezone(zone), event) for event in events]
    times = [(when, event) for when, event in times if axis.edges[0] <= when < axis.edges[-1]]
    marks, words = [], []
    for number, (when, event) in enumerate(times[-MOST_EVENTS:], start=1):
        is_day = event["begin"] != event["end"]
        text = f"{when:%Y-%m-%d} {event['text']}" if is_day else f"{when:%Y-%m-%d %H:%M} {event['text']}"
        label = str(number) if len(times) > 1 else ""
        marks.append((axis.x(when), label, text))
        words.append(f"{label} {text}".strip())
    if not words:
        return (), ""
    omitted = f" ({len(times) - MOST_EVENTS} earlier ones not drawn)" if len(times) > MOST_EVENTS else ""
    return tuple(marks), f"Dashed: {'; '.join(words)}{omitted}."


def _scale_y(accuracy: float) -> float:
    """The position of an accuracy in the box of a panel."""
    return round(BOTTOM - accuracy * (BOTTOM - TOP), 1)


def _find_reference(result: Monitored, axis: _Axis) -> Point | None:
    """The position and the width of the reference on the axis; null without a reference there."""
    if result.provenance["reference"] is None:
        return None
    first, last = map(datetime.fromisoformat, result.provenance["reference"])
    start, end = axis.x(first), axis.x(last)
    return (start, round(end - start, 1)) if end > start else None
