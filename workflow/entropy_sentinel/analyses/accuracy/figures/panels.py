"""Estimated against true accuracy, a panel per model: the frame, the line of exact estimates, names, one legend."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from entropy_sentinel.report.figures import Drawing, legend_of, new_figure
from entropy_sentinel.report.point_names import name_points

EDGE: dict[str, Any] = {"edgecolor": "white", "linewidth": 0.6, "zorder": 3}
# Where both axes begin; they end beyond the largest value by this share of it, and reach as far as this one at least.
LOW, BEYOND, NEAREST_END = -0.05, 0.09, 0.4
# Inches of a panel on a narrow page: its words can still be read on a telephone.
_NARROW = 4.0


@dataclass(frozen=True)
class Panel:
    """One model's panel: its title, what draws its points, and the names beside points, by name (true, estimated).

    `bars` are those that names leave free: where they stand, and both ends.
    """

    title: str
    draw: Callable[[Axes], None]
    named: Mapping[str, tuple[float, float]]
    bars: Sequence[tuple[float, float, float]] = ()


def panels_drawing(panels: Sequence[Panel], legend_title: str, label: str, caption: str) -> Drawing:
    """The drawing of at least one panel: three in a row at most, and on a narrow page one below the other."""
    columns = min(3, len(panels))
    width = 5.4 if len(panels) == 1 else 4.4 if columns == 2 else 3.8
    wide = _figure(panels, legend_title, label, columns, width)
    return Drawing(wide, caption, narrow=_figure(panels, legend_title, label, 1, _NARROW))


def _figure(panels: Sequence[Panel], legend_title: str, label: str, columns: int, width: float) -> Figure:
    """Panels of this width in inches, so many in a row."""
    rows = math.ceil(len(panels) / columns)
    figure = new_figure(width * columns, (width + 0.2) * rows + 0.7, label)
    every = figure.subplots(rows, columns, squeeze=False).flatten()
    for axes in every[len(panels) :]:
        axes.remove()
    end = _end(panels)
    for axes, panel in zip(every, panels, strict=False):
        _frame(axes, panel, end)
    for axes in every[len(panels) - columns : len(panels)]:
        axes.set_xlabel("True accuracy")
    for axes in every[::columns]:
        axes.set_ylabel("Estimated accuracy")
    legend = legend_of(every[: len(panels)])
    look: dict[str, Any] = {
        "loc": "outside lower center",
        "ncols": 1 if width == _NARROW else 3 if len(legend) == 3 else 2,
        "frameon": False,
        "fontsize": 9,
    }
    figure.legend(list(legend.values()), list(legend), title=legend_title, **look)
    figure.draw_without_rendering()  # settles the layout, which the places of the names depend on
    for axes, panel in zip(every, panels, strict=False):
        size = 9 if columns == 1 else 7.5
        name_points(axes, list(panel.named.values()), list(panel.named), size, panel.bars)
    return figure


def _end(panels: Sequence[Panel]) -> float:
    """The accuracy that all panels reach to, a tenth: 1, or less where nothing is above it, as of a weak model."""
    points = [value for panel in panels for point in panel.named.values() for value in point]
    bars = [upper for panel in panels for _, _, upper in panel.bars]
    tenths = math.ceil(round(10 * max(points + bars, default=1.0), 6))
    return min(1.0, max(NEAREST_END, tenths / 10))


def _frame(axes: Axes, panel: Panel, end: float) -> None:
    axes.plot([0, end], [0, end], color="0.5", linestyle="--", linewidth=1, label="estimated = true", zorder=1)
    panel.draw(axes)
    axes.set_title(panel.title, fontsize=10)
    limits = (LOW, end * (1 + BEYOND))
    axes.set(xlim=limits, ylim=limits, aspect="equal")
    axes.grid(color="0.92", linewidth=0.8)
    axes.tick_params(labelsize=8)
    axes.set_axisbelow(True)
    for spine in axes.spines.values():
        spine.set_zorder(5)  # names lie on white, which must not cover the frame
