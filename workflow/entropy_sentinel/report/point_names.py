"""Names beside the points of a scatter plot, placed so that they do not cover each other."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

# Distances at which a name may stand right or left of its point, in points (1/72 inch), near ones first.
_OFFSETS = ((7, 0), (6, 8), (6, -8), (9, 16), (9, -16), (12, 26), (12, -26), (14, 38), (14, -38))
_PLACES = tuple((sign * dx, dy) for dx, dy in _OFFSETS for sign in (1, -1))
# A name farther up or down than this gets a line to its point.
_FAR = 8
_LINE = {"arrowstyle": "-", "color": "0.55", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3}
_MARKER = 9  # pixels
_HALO = (withStroke(linewidth=2, foreground="white"),)


def name_points(axes: Axes, points: Sequence[tuple[float, float]], names: Sequence[str], size: float) -> None:
    """Write each name at the first place where it covers no name and no point and stays inside the axes.

    `points` are in data coordinates, `size` is the font's in points. The layout of the figure must be final. A
    name for which no place is free takes the one where it covers least.
    """
    renderer = FigureCanvasAgg(axes.figure).get_renderer()
    pixels = axes.transData.transform(np.reshape(np.asarray(points, dtype=float), (-1, 2)))
    markers = [Bbox.from_bounds(x - _MARKER / 2, y - _MARKER / 2, _MARKER, _MARKER) for x, y in pixels]
    frame = axes.get_window_extent(renderer)
    written: list[Bbox] = []
    for index, (point, name) in enumerate(zip(points, names, strict=True)):
        taken = written + markers[:index] + markers[index + 1 :]
        boxes = []
        for place in _PLACES:
            trial = _write(axes, point, name, place, size)
            boxes.append(trial.get_window_extent(renderer))
            trial.remove()
        best = int(np.argmin([_covered(box, taken, frame) for box in boxes]))
        line = _LINE if abs(_PLACES[best][1]) > _FAR else None
        _write(axes, point, name, _PLACES[best], size, arrowprops=line)
        written.append(boxes[best])


def _write(
    axes: Axes,
    point: tuple[float, float],
    name: str,
    place: tuple[float, float],
    size: float,
    **style: object,
) -> Annotation:
    side = "left" if place[0] > 0 else "right"
    text = axes.annotate(
        name,
        point,
        place,
        textcoords="offset points",
        ha=side,
        va="center",
        fontsize=size,
        path_effects=_HALO,
        **style,
    )
    text.set_in_layout(False)
    return text


def _covered(box: Bbox, taken: Sequence[Bbox], frame: Bbox) -> float:
    """Area in square pixels of what the box covers and of its part outside the frame."""
    covered = sum(_common_area(box, other) for other in taken)
    return covered + box.width * box.height - _common_area(box, frame)


def _common_area(one: Bbox, other: Bbox) -> float:
    common = Bbox.intersection(one, other)
    return common.width * common.height if common is not None else 0.0
