"""Names beside the points of a scatter plot, placed so that they cover neither points, bars nor each other.

Every name has the same candidate places around its point, near ones first. Names move in turn to the place of lowest
cost given the others' places, until none moves. Several orders of turns are tried, and the cheapest result is used.

docs/design/0011 says why this is not the package adjustText.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.text import Text

# A background makes names readable. An outline around each letter would make an SVG five times as large.
_GROUND: dict[str, Any] = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.5}
# Dotted, so that nobody takes it for a bar of an interval.
_LINE: dict[str, Any] = {"color": "0.45", "linewidth": 0.7, "linestyle": (0, (1, 2)), "zorder": 2}
# In pixels: half the width of a marker and of a bar, the margin along the frame, and the distances from its point at
# which a name may begin. From the third on, a line connects it to its point.
_MARKER, _BAR, _FREE = 7, 4, 2
# Margin around a name, in width and height; and how much wider its letters can be at another resolution.
_AROUND, _WIDER = (4, 2), 1.06
_DISTANCES = (10, 15, 24, 34, 46, 60, 78)
_LINE_DISTANCE = 20
_DIRECTIONS = np.stack([(np.cos(angle), np.sin(angle)) for angle in np.arange(16) * np.pi / 8])
# Costs of a place: per pixel of distance, per square pixel covered, per marker or name that its line crosses.
_PER_PIXEL, _OUTSIDE, _OVER_MARKER, _OVER_BAR, _OVER_NAME, _CROSSING = 1.0, 40.0, 40.0, 1.0, 20.0, 400.0
# Number of orders of turns, drawn with a seed so that the same points give the same picture; rounds per order.
_TRIES, _SEED, _ROUNDS = 12, 42, 20
_ALONG = np.linspace(0, 1, 24)[:, None]

Bars = Sequence[tuple[float, float, float]]


def name_points(
    axes: Axes, points: Sequence[tuple[float, float]], names: Sequence[str], size: float, bars: Bars = ()
) -> None:
    """Write each name near its point, with a connecting line if it is far away.

    `points`, and `bars` (x, lower and upper end), are in data coordinates, `size` is the font's in points. Limits of
    the axes and layout of the figure must be final.
    """
    if not names:
        return
    pixels = axes.transData.transform(points)
    text_style: dict[str, Any] = {"fontsize": size, "ha": "center", "va": "center", "bbox": _GROUND}
    text_style |= {"zorder": 4, "in_layout": False}
    texts = [axes.text(*point, name, **text_style) for point, name in zip(points, names, strict=True)]
    sizes = np.array([text.get_window_extent().size for text in texts]) * (_WIDER, 1) + _AROUND
    places = [_list_boxes(pixel, size) for pixel, size in zip(pixels, sizes, strict=True)]
    markers = np.concatenate([pixels - _MARKER, pixels + _MARKER], axis=1)
    extent = axes.get_window_extent()
    frame = np.array([extent.x0 + _FREE, extent.y0 + _FREE, extent.x1 - _FREE, extent.y1 - _FREE])
    place_costs = partial(_compute_place_costs, markers=markers, bars=_list_bar_boxes(axes, bars), frame=frame)
    costs = [place_costs(boxes, pixels[point], point) for point, boxes in enumerate(places)]
    chosen = _choose_places(places, pixels, costs)
    for text, pixel, boxes, place in zip(texts, pixels, places, chosen, strict=True):
        _place_name(axes, text, pixel, boxes[place], distance=_DISTANCES[place // len(_DIRECTIONS)])


def _place_name(axes: Axes, text: Text, pixel: np.ndarray, box: np.ndarray, distance: float) -> None:
    """Write a name into its box, aligned to the side of its point, because its width varies with the resolution.

    `pixel` is the point (x, y), and `box` has left, lower, right and upper end, in pixels. A line leads to a point that
    is far away.
    """
    to_data = axes.transData.inverted()
    left, lower = box[:2] + _AROUND[0] / 2
    right, upper = box[2:] - _AROUND[0] / 2
    side: Literal["left", "right", "center"] = "center"
    x = (left + right) / 2
    if pixel[0] < box[0]:
        side, x = "left", left
    elif pixel[0] > box[2]:
        side, x = "right", right
    text.set_horizontalalignment(side)
    text.set_position(tuple(to_data.transform((x, (lower + upper) / 2))))
    if distance > _LINE_DISTANCE:
        ends = to_data.transform([_find_nearest(box, pixel), pixel])
        axes.add_artist(Line2D(*ends.T, **_LINE)).set_in_layout(False)


def _list_boxes(pixel: np.ndarray, size: np.ndarray) -> np.ndarray:
    """The boxes (left, lower, right, upper) that a name of this size can have, (n_places, 4), nearest first."""
    offsets = np.concatenate([distance * _DIRECTIONS for distance in _DISTANCES])
    # A box is moved by half its size as well, so that its near side is at the distance.
    middles: np.ndarray = pixel + offsets + np.tile(_DIRECTIONS, (len(_DISTANCES), 1)) * size / 2
    return np.concatenate([middles - size / 2, middles + size / 2], axis=1)


def _compute_place_costs(
    places: np.ndarray, pixel: np.ndarray, point: int, markers: np.ndarray, bars: np.ndarray, frame: np.ndarray
) -> np.ndarray:
    """The cost of each place of a name, ignoring the other names, (n_places,).

    `places`, `markers` and `bars` are boxes (left, lower, right, upper); `pixel` is the name's point, and `point` that
    point's index among `markers`. `frame` is the box of the axes.
    """
    areas = np.prod(places[:, 2:] - places[:, :2], axis=1)
    areas_outside = areas - _compute_overlaps(places, frame[None])[:, 0]
    other_markers = np.delete(markers, point, axis=0)
    crossed = [_CROSSING * _find_crossings(box, pixel, other_markers).sum() for box in places]
    distances = np.repeat(_DISTANCES, len(_DIRECTIONS))
    costs: np.ndarray = (
        _PER_PIXEL * distances
        + _OUTSIDE * areas_outside
        + _OVER_MARKER * _compute_overlaps(places, markers).sum(axis=1)
        + _OVER_BAR * _compute_overlaps(places, bars).sum(axis=1)
        + np.where(distances > _LINE_DISTANCE, crossed, 0)  # only far names have a line
    )
    return costs


def _choose_places(places: Sequence[np.ndarray], pixels: np.ndarray, costs: Sequence[np.ndarray]) -> np.ndarray:
    """The index of the chosen place of each name, (n_names,).

    For each name, `places` has the boxes that it can have, (n_places, 4), and `costs` their costs without the other
    names, (n_places,). `pixels` are the points, (n_names, 2).
    """
    random = np.random.default_rng(_SEED)
    best, lowest_cost = np.zeros(len(places), dtype=int), np.inf
    for _ in range(_TRIES):
        chosen = np.array([int(np.argmin(cost)) for cost in costs])
        order = random.permutation(len(places))
        for _ in range(_ROUNDS):
            previous = chosen.copy()
            for name in order:
                chosen[name] = np.argmin(costs[name] + _compute_overlap_costs(name, places, pixels, chosen))
            if (previous == chosen).all():
                break
        total = 0.0
        for name, place in enumerate(chosen):
            # Each overlap is counted for both names, so half of it for each.
            total += costs[name][place] + _compute_overlap_costs(name, places, pixels, chosen)[place] / 2
        if total < lowest_cost:
            best, lowest_cost = chosen, total
    return best


def _compute_overlap_costs(
    name: int, places: Sequence[np.ndarray], pixels: np.ndarray, chosen: np.ndarray
) -> np.ndarray:
    """The cost of each place of a name given the chosen places of the other names, (n_places,)."""
    boxes = np.array([candidates[place] for candidates, place in zip(places, chosen, strict=True)])
    other_boxes = np.delete(boxes, name, axis=0)
    over: np.ndarray = _OVER_NAME * _compute_overlaps(places[name], other_boxes).sum(axis=1)
    return over + _CROSSING * _count_crossed_lines(name, places, pixels, chosen)


def _count_crossed_lines(name: int, places: Sequence[np.ndarray], pixels: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The number of other names' lines that each place of a name covers, (n_places,)."""
    crossings = np.zeros(len(places[name]))
    for neighbour, neighbour_boxes in enumerate(places):
        # Places are ordered by distance, and then by direction. Only far names have a line.
        distance = _DISTANCES[chosen[neighbour] // len(_DIRECTIONS)]
        if neighbour != name and distance > _LINE_DISTANCE:
            crossings += _find_crossings(neighbour_boxes[chosen[neighbour]], pixels[neighbour], places[name])
    return crossings


def _find_crossings(box: np.ndarray, pixel: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Whether the line from a name's box to its point runs through each of `boxes`, (n_boxes,)."""
    along = _find_nearest(box, pixel) * (1 - _ALONG) + pixel * _ALONG
    inside = (along[:, None] >= boxes[:, :2]) & (along[:, None] <= boxes[:, 2:])
    return np.asarray(inside.all(axis=2).any(axis=0))


def _find_nearest(box: np.ndarray, pixel: np.ndarray) -> np.ndarray:
    """The point of a box that is nearest to `pixel`."""
    nearest: np.ndarray = np.clip(pixel, box[:2], box[2:])
    return nearest


def _compute_overlaps(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The area of overlap of each of the boxes `first` (n_first, 4) with each of `second`, (n_first, n_second)."""
    lower = np.maximum(first[:, None, :2], second[None, :, :2])
    upper = np.minimum(first[:, None, 2:], second[None, :, 2:])
    areas: np.ndarray = np.prod(np.maximum(upper - lower, 0), axis=2)
    return areas


def _list_bar_boxes(axes: Axes, bars: Bars) -> np.ndarray:
    """The boxes (left, lower, right, upper) that the bars cover, in pixels, (n_bars, 4)."""
    boxes = []
    for x, lower, upper in bars:
        low, high = axes.transData.transform([(x, lower), (x, upper)])
        boxes.append([*(low - _BAR), *(high + _BAR)])
    return np.array(boxes).reshape(-1, 4)
