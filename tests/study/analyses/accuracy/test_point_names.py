"""The names beside the points of a figure."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.transforms import Bbox

from entropy_sentinel.rendering.figure_style import new_figure
from entropy_sentinel.study.analyses.accuracy.point_names import name_points

NAMES = ["one-digit-addition", "running-total", "counting-on", "averages", "shopping-change", "multiply-then-add"]
CROWDED = [(1.0, 1.0), (1.0, 0.997), (0.97, 0.993), (0.83, 0.94), (0.52, 0.73), (0.51, 0.67)]


@pytest.fixture
def axes() -> Axes:
    """A panel as wide as those of Figure 3."""
    panel = new_figure(3.9, 3.9, "").add_subplot()
    panel.set(xlim=(-0.03, 1.07), ylim=(-0.03, 1.07), aspect="equal")
    panel.figure.draw_without_rendering()
    return panel


def overlaps(axes: Axes, points: list[tuple[float, float]]) -> list[tuple[Bbox, Bbox]]:
    boxes = [text.get_window_extent() for text in axes.texts]
    markers = [Bbox((pixel - 5, pixel + 5)) for pixel in axes.transData.transform(points)]
    pairs = [*combinations(boxes, 2), *((box, marker) for box in boxes for marker in markers)]
    return [pair for pair in pairs if pair[0].overlaps(pair[1])]


def test_names_in_a_corner_do_not_overlap_each_other_or_points(axes):
    name_points(axes, CROWDED, NAMES, 7.5)
    assert [text.get_text() for text in axes.texts] == NAMES
    assert not overlaps(axes, CROWDED)


def test_lines_lead_from_names_to_their_points(axes):
    name_points(axes, CROWDED, NAMES, 7.5)
    ends = [line.get_xydata()[-1] for line in axes.lines]
    assert ends, "names that are apart from their points have lines"
    for end in ends:
        distances = np.linalg.norm(axes.transData.transform(CROWDED) - axes.transData.transform(end), axis=1)
        assert distances.min() < 1


def test_the_placement_of_names_is_deterministic(axes):
    places = []
    for _ in range(2):
        name_points(axes, CROWDED, NAMES, 7.5)
        places.append([text.get_position() for text in axes.texts])
        for artist in (*axes.texts, *axes.lines):
            artist.remove()
    assert places[0] == [pytest.approx(place, abs=1e-9) for place in places[1]]


def test_names_stay_inside_the_frame_and_off_bars_and_other_points(axes):
    # Points on the frame's sides, bars through the middle: what a name beside its point would cover.
    points = [(-0.03, 0.7), (1.0, 1.0), (1.02, 0.96), (0.5, 0.5), (0.53, 0.5), (0.03, 0.0), (0.06, 0.01)]
    names = ["mixed", "running-total", "averages", "shopping-change", "multiply-then-add", "remainders", "percentages"]
    bars = [(x, y - 0.06, y + 0.06) for x, y in points]
    name_points(axes, points, names, 7.5, bars)
    frame = axes.get_window_extent()
    pixels = axes.transData.transform(points)
    for text in axes.texts:
        box = text.get_window_extent()
        assert frame.x0 < box.x0 < box.x1 < frame.x1, text.get_text()
        assert frame.y0 < box.y0 < box.y1 < frame.y1, text.get_text()
        for x, lower, upper in bars:
            low, high = axes.transData.transform([(x, lower), (x, upper)])
            assert not box.overlaps(Bbox((low - 1, high + 1))), text.get_text()
    assert not overlaps(axes, points)
    for line in axes.lines:
        start, end = axes.transData.transform(line.get_xydata())
        along = start + np.linspace(0, 1, 200)[:, None] * (end - start)
        others = pixels[np.linalg.norm(pixels - end, axis=1) > 1]
        assert np.linalg.norm(along[:, None] - others, axis=2).min() > 4, "a line over a point"


def test_a_figure_without_names_is_drawn(axes):
    name_points(axes, [], [], 7.5)
    assert not axes.texts
