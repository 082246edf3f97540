"""How figures are written."""

import base64
import re
import struct
from xml.etree import ElementTree

import pytest
from matplotlib import rcParams

from entropy_sentinel.rendering.figure_style import (
    Drawing,
    apply_style,
    message_figure,
    new_figure,
    wrap_text,
    write_figure,
)
from entropy_sentinel.rendering.html_pages import Exhibit


@pytest.mark.parametrize("label", ["costs $5_$", "costs $5 and $6", r"C:\new^{2}", "100 % #1 & ~"])
def test_labels_are_not_interpreted(label, tmp_path):
    with apply_style():
        figure = message_figure(label, label)
        figure.add_subplot().set_title(label)
    write_figure(Exhibit("figure", "1_x", "X"), Drawing(figure, "Caption."), tmp_path)
    assert not any(text.get_parse_math() for text in figure.texts)
    assert not figure.axes[0].title.get_parse_math()
    assert (tmp_path / "figure_1_x.png").stat().st_size > 1000


def test_a_page_has_the_figure_as_a_vector_and_links_to_its_files(tmp_path):
    with apply_style():
        figure = message_figure("text", "label")
    write_figure(Exhibit("figure", "1_x", "X"), Drawing(figure, "Caption."), tmp_path)
    html = (tmp_path / "figure_1_x.html").read_text()
    picture = base64.b64decode(re.search(r"data:image/svg\+xml;base64,([^\"]*)", html)[1])
    root = ElementTree.fromstring(picture)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert (root.get("width"), root.get("height")) == ("360pt", "144pt"), "5 by 2 inches"
    assert re.findall(r'href="([^"]*)"', html) == ["figures/figure_1_x.pdf", "figures/figure_1_x.png"]
    assert b"CreationDate" not in (tmp_path / "figure_1_x.pdf").read_bytes()
    # Width and height stand at the beginning of a PNG; 96 pixels to an inch, twice.
    assert struct.unpack(">II", (tmp_path / "figure_1_x.png").read_bytes()[16:24]) == (2 * 5 * 96, 2 * 2 * 96)


def test_a_narrow_page_shows_the_narrow_figure(tmp_path):
    with apply_style():
        drawing = Drawing(message_figure("text", ""), "Caption.", narrow=new_figure(4, 3, ""))
    write_figure(Exhibit("figure", "1_x", "X"), drawing, tmp_path)
    html = (tmp_path / "figure_1_x.html").read_text()
    narrow = re.search(r'<source media="\(max-width: 40rem\)" srcset="data:image/svg\+xml;base64,([^"]*)">', html)
    assert ElementTree.fromstring(base64.b64decode(narrow[1])).get("width") == "288pt", "4 inches"


def test_the_corner_of_a_figure_names_its_study():
    assert [text.get_text() for text in new_figure(4, 3, "real").texts] == ["Study: real"]
    assert [text.get_text() for text in new_figure(4, 3, "").texts] == [""]


def test_style_is_reset_afterwards():
    before = dict(rcParams)
    with apply_style():
        assert rcParams["pdf.fonttype"] == 42
    assert dict(rcParams) == before


def test_lines_are_as_few_as_fit_and_about_equal_in_length():
    text = "Estimator trained on gsm8k, math, olympiadbench, svamp, theoremqa"
    assert wrap_text(text, 10, 9) == text
    assert wrap_text(text, 10, 4).split("\n") == [
        "Estimator trained on gsm8k, math,",
        "olympiadbench, svamp, theoremqa",
    ]
    assert wrap_text("first\nsecond line", 10, 4) == "first\nsecond line"
    assert wrap_text("", 10, 4) == ""


def test_a_word_that_is_wider_than_a_line_is_broken():
    lines = wrap_text("model " + "x" * 200, 10, 2).split("\n")
    assert "".join(lines).replace(" ", "") == "model" + "x" * 200
    assert 5 < len(lines) < 20
