"""How figures are written, and the names beside points."""

import base64
import re
import struct
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.transforms import Bbox

from entropy_sentinel.report.figures import Drawing, message, new_figure, style, wrapped, write_figure
from entropy_sentinel.report.pages import Exhibit
from entropy_sentinel.report.point_names import name_points

NAMES = ["one-digit-addition", "running-total", "counting-on", "averages", "shopping-change", "multiply-then-add"]
CROWDED = [(1.0, 1.0), (1.0, 0.997), (0.97, 0.993), (0.83, 0.94), (0.52, 0.73), (0.51, 0.67)]


@pytest.fixture
def axes() -> Axes:
    """A panel as wide as those of Figure 3."""
    panel = new_figure(3.9, 3.9, "").add_subplot()
    panel.set(xlim=(-0.03, 1.07), ylim=(-0.03, 1.07), aspect="equal")
    panel.figure.draw_without_rendering()
    return panel


@pytest.mark.parametrize("label", ["costs $5_$", "costs $5 and $6", r"C:\new^{2}", "100 % #1 & ~"])
def test_labels_are_not_interpreted(label, tmp_path):
    with style():
        figure = message(label, label)
        figure.add_subplot().set_title(label)
    write_figure(Exhibit("figure", "1_x", "X"), Drawing(figure, "Caption."), tmp_path)
    assert not any(text.get_parse_math() for text in figure.texts)
    assert not figure.axes[0].title.get_parse_math()
    assert (tmp_path / "figure_1_x.png").stat().st_size > 1000


def test_a_page_has_the_figure_as_a_vector_and_links_to_its_files(tmp_path):
    with style():
        figure = message("text", "label")
    write_figure(Exhibit("figure", "1_x", "X"), Drawing(figure, "Caption."), tmp_path)
    html = (tmp_path / "figure_1_x.html").read_text()
    picture = base64.b64decode(re.search(r"data:image/svg\+xml;base64,([^\"]*)", html)[1])
    root = ElementTree.fromstring(picture)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert (root.get("width"), root.get("height")) == ("360pt", "144pt"), "5 by 2 inches"
    assert re.findall(r'href="([^"]*)"', html) == ["figures/figure_1_x.pdf", "figures/figure_1_x.png"]
    # Width and height stand at the beginning of a PNG; 96 pixels to an inch, twice.
    assert struct.unpack(">II", (tmp_path / "figure_1_x.png").read_bytes()[16:24]) == (2 * 5 * 96, 2 * 2 * 96)


def test_a_narrow_page_shows_the_narrow_figure(tmp_path):
    with style():
        drawing = Drawing(message("text", ""), "Caption.", narrow=new_figure(4, 3, ""))
    write_figure(Exhibit("figure", "1_x", "X"), drawing, tmp_path)
    html = (tmp_path / "figure_1_x.html").read_text()
    narrow = re.search(r'<source media="\(max-width: 40rem\)" srcset="data:image/svg\+xml;base64,([^"]*)">', html)
    assert ElementTree.fromstring(base64.b64decode(narrow[1])).get("width") == "288pt", "4 inches"


def test_the_corner_of_a_figure_names_its_study():
    assert [text.get_text() for text in new_figure(4, 3, "real").texts] == ["Study: real"]
    assert [text.get_text() for text in new_figure(4, 3, "").texts] == [""]


def test_style_is_reset_afterwards():
    before = dict(rcParams)
    with style():
        assert rcParams["pdf.fonttype"] == 42
    assert dict(rcParams) == before


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


def test_lines_are_as_few_as_fit_and_about_equal_in_length():
    text = "Estimator trained on gsm8k, math, olympiadbench, svamp, theoremqa"
    assert wrapped(text, 10, 9) == text
    assert wrapped(text, 10, 4).split("\n") == ["Estimator trained on gsm8k, math,", "olympiadbench, svamp, theoremqa"]
    assert wrapped("first\nsecond line", 10, 4) == "first\nsecond line"
    assert wrapped("", 10, 4) == ""


def test_a_word_that_is_wider_than_a_line_is_broken():
    lines = wrapped("model " + "x" * 200, 10, 2).split("\n")
    assert "".join(lines).replace(" ", "") == "model" + "x" * 200
    assert 5 < len(lines) < 20
