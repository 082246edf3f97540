"""README's first screen: its example prints what the table below it says, and its picture shows the alert."""

import re
from pathlib import Path
from typing import Any

import pytest
from documented import blocks

from made.alert import ROUTES, drawn, monitored

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"


def rows_of(table: str) -> list[list[str]]:
    """The cells of a Markdown table, without its head."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()[2:]]


@pytest.mark.slow
def test_the_example_prints_what_its_table_says() -> None:
    (code,) = blocks(README, "python")
    names: dict[str, Any] = {}
    exec(code, names)
    table = README.read_text().partition(code)[2].partition("\n\n")[2].partition("\n\n")[0]
    shown = ("estimated_accuracy", "lower", "upper", "true_accuracy")
    slices = names["slices"].to_dicts()
    assert [row[0] for row in rows_of(table)] == [one["kind"] for one in slices]
    for cells, one in zip(rows_of(table), slices, strict=True):
        numbers = [float(text) for text in re.findall(r"\d\.\d+", " ".join(cells))]
        # Processors differ in the last digits.
        assert numbers == pytest.approx([one[name] for name in shown], abs=0.008)
        assert cells[-2:] == [str(one["n_estimated"]), ", ".join(one["flags"])]
    printed = str(names["estimator"])
    assert "verdict for new slices of the labelled groups: usable;" in printed
    assert "verdict outside the labelled groups: too few domains to say;" in printed


@pytest.mark.long
def test_the_picture_shows_the_alert(tmp_path: Path) -> None:
    steady, fallen = drawn(monitored(tmp_path)).axes
    assert (steady.get_title(), fallen.get_title()) == (f"{ROUTES[0]}: no alert", f"{ROUTES[1]}: alert")
    before, after = (text.get_text() for text in fallen.texts)
    words = f"falls from {before} to {after}"
    assert words in README.read_text(), "PYTHONPATH=docs:workflow:examples/real python -m made.alert docs/alert.png"
