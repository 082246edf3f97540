"""Draw the pictures of a notebook as a figure of matplotlib, for files and talks: the same numbers as the page."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from entropy_sentinel.monitor.showing.page_pictures import AccuracyOverTime, Ranges, SlicePanel
from entropy_sentinel.monitor.showing.validation_diagrams import BAR_BOTTOM, BAR_TOP, LEFT, RIGHT, Diagram
from entropy_sentinel.rendering.figure_style import BLUE, GREEN, ORANGE, new_figure, style_axes, wrap_text

# Sizes in inches: the figure's width, a square diagram, a line of bars, what bars need besides lines, a row of panels.
WIDTH, SQUARE, LINE, BARS, PANEL = 10.0, 4.6, 0.36, 0.9, 2.2
_PANELS_A_ROW, _SMALL, _GREY = 3, 8, "0.55"
_COLOURS = {"estimate": BLUE, "errors": BLUE, "labels": GREEN, "unknown": _GREY}


def draw_figure(diagrams: Sequence[Diagram], ranges: Sequence[Ranges], over_time: AccuracyOverTime | None) -> Figure:
    """A figure with the diagrams side by side, then each picture of ranges, then the panels over time."""
    heights = [SQUARE] if diagrams else []
    heights += [BARS + LINE * sum(max(map(len, line.bars)) for line in each.lines) for each in ranges]
    if over_time is not None:
        heights.append(0.5 + PANEL * -(-len(over_time.panels) // _PANELS_A_ROW))
    figure = new_figure(WIDTH, sum(heights), "")
    parts = iter(figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False).flat)
    if diagrams:
        columns = next(parts).subfigures(1, 2, squeeze=False).flat
        for part, diagram in zip(columns, diagrams, strict=False):
            _draw_diagram(part, diagram)
    for each in ranges:
        _draw_ranges(next(parts), each)
    if over_time is not None:
        _draw_panels(next(parts), over_time)
    return figure


def _draw_diagram(part: SubFigure, diagram: Diagram) -> None:
    """The unit square with its points and, below it, the bars of counts."""
    has_bars = bool(diagram.bars)
    square, *below = part.subplots(1 + has_bars, 1, height_ratios=[4, 1][: 1 + has_bars], squeeze=False).flat
    style_axes(square, "" if has_bars else diagram.x_title, diagram.y_title, f"{diagram.title}\n{diagram.summary}")
    square.plot([diagram.left, diagram.right], [diagram.bottom, diagram.top], "--", color=_GREY, linewidth=1)
    for point in diagram.points:
        square.plot([point.x, point.x], [point.low, point.high], color=BLUE, alpha=0.55)
        square.plot(point.x, point.y, "o", color=BLUE)
        if point.name:
            shift = 6 if point.anchor == "start" else -6
            side = "left" if shift > 0 else "right"
            place = (point.x, point.y)
            square.annotate(point.name, place, (shift, 0), textcoords="offset points", ha=side, size=_SMALL)
    texts, across, up = zip(*diagram.ticks, strict=True)
    square.set(xlim=(diagram.left, diagram.right), ylim=(diagram.bottom, diagram.top))
    square.set_xticks(across, [] if has_bars else texts)
    square.set_yticks(up, texts)
    for axes in below:
        style_axes(axes, diagram.x_title)
        axes.spines["left"].set_visible(False)
        for bar in diagram.bars:
            axes.bar(bar.x, BAR_BOTTOM - bar.y, bar.width, align="edge", color=BLUE, alpha=0.35)
            axes.text(bar.x + bar.width / 2, BAR_BOTTOM - bar.y, bar.n, ha="center", va="bottom", size=_SMALL)
        axes.set(xlim=(LEFT, RIGHT), ylim=(0, 1.3 * (BAR_BOTTOM - BAR_TOP)), yticks=[])
        axes.set_xticks(across, texts)


def _draw_ranges(part: SubFigure, ranges: Ranges) -> None:
    """A line for each slice, with its marks on each of the scales and their numbers."""
    columns = part.subplots(1, len(ranges.scales), squeeze=False, sharey=True).flat
    for number, (axes, (title, begin, end)) in enumerate(zip(columns, ranges.scales, strict=True)):
        style_axes(axes, title if not ranges.headings else f"{title}: {', '.join(ranges.headings)}")
        for place, line in enumerate(ranges.lines):
            marks = line.bars[number]
            for row, mark in enumerate(marks):
                y = place + (0 if len(marks) == 1 else 0.4 * row - 0.2)
                colour = _COLOURS[mark.kind]
                axes.plot([mark.low, mark.high], [y, y], color=colour, linewidth=1.5)
                if mark.kind != "unknown":
                    axes.plot(mark.at, y, "s" if mark.kind == "labels" else "o", color=colour)
                axes.text(102, y, mark.text, va="center", size=_SMALL)
        axes.set(xlim=(0, 100), ylim=(len(ranges.lines) - 0.5, -0.5))
        axes.set_xticks([0, 100], [begin, end])
        axes.set_yticks(range(len(ranges.lines)), [wrap_text(line.name, _SMALL, 2.2) for line in ranges.lines])
        axes.tick_params(axis="y", labelsize=_SMALL, length=0)
    part.supxlabel(wrap_text(ranges.caption, _SMALL, 0.95 * WIDTH), x=0.01, ha="left", size=_SMALL, color="0.3")


def _draw_panels(part: SubFigure, over_time: AccuracyOverTime) -> None:
    """A panel for each slice."""
    n_rows = -(-len(over_time.panels) // _PANELS_A_ROW)
    all_axes: list[Axes] = list(part.subplots(n_rows, _PANELS_A_ROW, squeeze=False).flat)
    for axes, panel in zip_longest(all_axes, over_time.panels):
        if panel is None:  # the last row may not be full
            axes.set_axis_off()
        else:
            _draw_panel(axes, panel, over_time)
    part.supxlabel(wrap_text(over_time.caption, _SMALL, 0.95 * WIDTH), x=0.01, ha="left", size=_SMALL, color="0.3")


def _draw_panel(axes: Axes, panel: SlicePanel, over_time: AccuracyOverTime) -> None:
    """The estimates of a slice by window, their intervals, the reference and the events."""
    box: dict[str, Any] = over_time.box
    style_axes(axes, title=wrap_text(panel.name, 9, 0.9 * WIDTH / _PANELS_A_ROW))
    if panel.reference is not None:
        start, width = panel.reference
        axes.axvspan(start, start + width, color="0.85")
    for outline in panel.bands:
        axes.fill(*zip(*outline, strict=True), color=BLUE, alpha=0.2, linewidth=0)
    for points in panel.lines:
        axes.plot(*zip(*points, strict=True), color=BLUE, linewidth=1.5)
    for x, y, has_fallen, _ in panel.points:
        axes.plot(x, y, "o", color=ORANGE if has_fallen else BLUE, markersize=6 if has_fallen else 4)
    for x, number, _ in over_time.events:
        axes.axvline(x, linestyle="--", color=_GREY, linewidth=1)
        axes.text(x, box["top"], number, ha="center", va="bottom", size=_SMALL)
    axes.set(xlim=(box["left"], box["right"]), ylim=(box["bottom"], box["top"]))
    axes.set_yticks(*zip(*over_time.levels, strict=True))
    axes.set_xticks(*zip(*panel.ticks, strict=True))
    axes.tick_params(labelsize=7)
