"""Names beside the points of a scatter plot, placed by adjustText so that they cover neither points nor each other."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from adjustText import adjust_text
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.text import Text
from matplotlib.transforms import Bbox

# Names stand out from what they lie on. A line around each letter would make an SVG five times as large.
_GROUND = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.5}
_LINE = {
    "arrowstyle": "-",
    "color": "0.55",
    "linewidth": 0.6,
    "shrinkA": 0,
    "shrinkB": 0,
    "zorder": 2,
    "in_layout": False,
}
# Half the width of a marker, and how far from its point a name begins, in pixels.
_MARKER, _BESIDE = 7, 11
# A name this far from its point, in pixels, gets a line to it.
_APART = 14
# The same number of steps on every machine: a limit of time would move names with the machine's speed.
_STEPS = 200
# Where names begin is tried this often; drawn with a seed, so that the same points give the same picture.
_TRIES, _SEED = 25, 42


def name_points(axes: Axes, points: Sequence[tuple[float, float]], names: Sequence[str], size: float) -> None:
    """Write each name near its point, with a line from one to the other where they are apart.

    `points` are in data coordinates, `size` is the font's in points. Limits of the axes and layout of the figure must
    be final. adjustText moves names from where they begin to near places that are free, and may get stuck: then it
    begins elsewhere, and the result that covers least is taken.
    """
    if not names:
        return
    best, least = [], np.inf
    random = np.random.default_rng(_SEED)
    start = _sides(axes, points)
    for _ in range(_TRIES):
        texts, lines = _place(axes, points, names, size, start)
        covered = _covered(axes, texts, points)
        for artist in best if covered < least else [*texts, *lines]:
            artist.remove()
        if covered < least:
            best, least = [*texts, *lines], covered
        if least == 0:
            break
        start = np.stack([random.choice([-1, 1], len(names)), random.uniform(-3, 3, len(names))], axis=1)


def _sides(axes: Axes, points: Sequence[tuple[float, float]]) -> np.ndarray:
    """For each point the direction, right (1, 0) or left (-1, 0), with more room."""
    middle = np.mean(axes.get_window_extent().intervalx)
    left = axes.transData.transform(points)[:, 0] > middle
    return np.stack([np.where(left, -1, 1), np.zeros(len(points))], axis=1)


def _place(
    axes: Axes, points: Sequence[tuple[float, float]], names: Sequence[str], size: float, start: np.ndarray
) -> tuple[list[Text], list[Artist]]:
    """The names where adjustText moves them from these directions, and the lines to their points."""
    to_data, pixels = axes.transData.inverted(), axes.transData.transform(points)
    texts = []
    for pixel, direction, name in zip(pixels, start, names, strict=True):
        place = to_data.transform(pixel + _BESIDE * direction)
        side = "left" if direction[0] > 0 else "right"
        look = {"fontsize": size, "ha": side, "va": "center", "bbox": _GROUND, "zorder": 4}
        texts.append(axes.text(*place, name, in_layout=False, **look))
    x, y = np.transpose(points)
    return adjust_text(
        texts,
        objects=[Bbox(to_data.transform(_marker(pixel))) for pixel in pixels],
        target_x=x,
        target_y=y,
        avoid_self=False,
        ax=axes,
        iter_lim=_STEPS,
        min_arrow_len=_APART,
        arrowprops=_LINE | {"zorder": 2, "in_layout": False},
    )


def _marker(pixel: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return pixel - _MARKER, pixel + _MARKER


def _covered(axes: Axes, texts: Sequence[Text], points: Sequence[tuple[float, float]]) -> float:
    """Area in square pixels that names have in common with each other, with points and with what is outside."""
    boxes = [Bbox(text.get_window_extent()) for text in texts]
    markers = [Bbox(_marker(pixel)) for pixel in axes.transData.transform(points)]
    frame = axes.get_window_extent()
    outside = sum(box.width * box.height - _common(box, frame) for box in boxes)
    pairs = [*combinations(boxes, 2), *((box, marker) for box in boxes for marker in markers)]
    return round(outside + sum(_common(one, other) for one, other in pairs), 3)


def _common(one: Bbox, other: Bbox) -> float:
    common = Bbox.intersection(one, other)
    return common.width * common.height if common is not None else 0.0
