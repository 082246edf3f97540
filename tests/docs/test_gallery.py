"""The gallery: what it shows, in which order, and how large it is."""

from itertools import product
from pathlib import Path

import polars as pl
import pytest
import yaml
from PIL import Image, ImageChops, ImageDraw

from made.gallery import write_gallery

ROOT = Path(__file__).parents[2]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two tables, out of order, a figure of 2,000 pixels, and what the introduction says."""
    folder = tmp_path / "results"
    for name in ("tables", "figures"):
        (folder / name).mkdir(parents=True)
    (folder / "tables" / "table_10_leave_one_out.md").write_text(
        "**Table 10: Trained on all benchmarks but one.** Ten.\n\n| A   |  B |\n|:----|---:|\n| x   |  1 |\n"
    )
    (folder / "tables" / "table_2_by_model.md").write_text("**Table 2.** Two.\n\n| A |\n|---|\n\n- Why it is empty.\n")
    image = Image.new("RGB", (2000, 300), "white")
    ImageDraw.Draw(image).line((0, 0, 2000, 300), fill="#0072B2", width=5)
    image.save(folder / "figures" / "figure_1_accuracies.png")
    (folder / "summary.txt").write_text("Can the estimates be trusted? No.\n")
    counts = {"model": ["b-1b", "b-1b", "a-2b"], "benchmark": ["x", "y", "x"], "n_responses": [60, 70, 50]}
    pl.DataFrame(counts).write_parquet(folder / "domains.parquet")
    return folder


def test_exhibits_come_in_the_catalogues_order_and_missing_ones_are_left_out(results: Path, tmp_path: Path) -> None:
    text = write_gallery(results, tmp_path / "docs").read_text()
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# Gallery: the paper's study on real models",
        "## Figures",
        "### Figure 1: Estimated against true accuracy, one model",
        "## Tables",
        "### Table 2: Errors by model",
        "### Table 10: Trained on all benchmarks but one",
    ]
    assert "Small open models (`b-1b`, `a-2b`) answer real questions, at most 70 from each of 2\npublished" in text
    assert "```\nCan the estimates be trusted? No.\n```" in text
    assert "but one\n\nTen.\n\n| A | B |" in text, "the heading is not repeated"
    assert "| A |\n" not in text
    assert "- Why it is empty." in text


def test_figures_are_copied_at_half_size_and_old_ones_deleted(results: Path, tmp_path: Path) -> None:
    old = tmp_path / "docs" / "gallery" / "figure_old.png"
    old.parent.mkdir(parents=True)
    old.touch()
    text = write_gallery(results, tmp_path / "docs").read_text()
    assert '<img src="gallery/figure_1_accuracies.png" width="880"' in text
    assert [file.name for file in old.parent.iterdir()] == ["figure_1_accuracies.png"]
    with Image.open(old.parent / "figure_1_accuracies.png") as image:
        assert image.size == (2000, 300)
        assert image.convert("RGB").getpixel((1000, 150)) == (0x00, 0x72, 0xB2)


def test_colours_of_a_colour_bar_stay_as_they_are(results: Path, tmp_path: Path) -> None:
    """A white figure with 64 x 64 colours, more than a palette has; most of its pixels are white."""
    figure = results / "figures" / "figure_1_accuracies.png"
    image = Image.new("RGB", (2000, 300), "white")
    for red, blue in product(range(64), repeat=2):
        image.putpixel((500 + red, 100 + blue), (4 * red, 100, 4 * blue))
    image.save(figure)
    write_gallery(results, tmp_path / "docs")
    with Image.open(tmp_path / "docs" / "gallery" / figure.name) as made:
        moved = ImageChops.difference(image, made.convert("RGB")).getextrema()
    assert max(most for _, most in moved) <= 8


def test_the_committed_gallery_is_whole_and_small() -> None:
    docs = ROOT / "docs"
    files = [docs / "gallery.md", *(docs / "gallery").iterdir()]
    assert sum(file.stat().st_size for file in files) < 1_500_000
    text = files[0].read_text()
    for number in range(1, 11):
        assert f"### Table {number}:" in text or number == 6, number
    for model in yaml.safe_load((ROOT / "examples" / "real" / "study.yaml").read_text())["run"]["models"]:
        assert f"`{model}`" in text, f"{model} has joined the study: make study-real gallery"
    for number in range(1, 5):
        assert f"### Figure {number}:" in text
    for table in text.split("\n### "):
        assert table.count("\n- ") < 12, "notes that differ only in a name are one note"
