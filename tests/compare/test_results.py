"""The comparison of two folders of results sees every change of a value, and no other change."""

import json
from base64 import b64encode
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.image import imsave
from results import main

HASHES = "27a7b0cc7fc94859aa01de7f4736ac8a672987aea99901c5d8adfecc66bc06a6", "0" * 64


def picture(points: str, made: str) -> str:
    svg = f"<svg><metadata>{made}</metadata><path d='{points}'/></svg>"
    return f'<img src="data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}">'


def page(accuracy: str, commit: str, checksum: str, drawn: str) -> str:
    version = f"<dt>version</dt><dd>0.2.0, commit {commit}</dd><dd>SHA-256 {checksum}</dd>"
    return f"<p>{accuracy}</p>\n{version}\n{drawn}\n"


def results(folder: Path, commit: str = "0123456789ab", checksum: str = HASHES[0], made: str = "monday") -> Path:
    """A small folder of results with a file of each kind; what differs by default is told by no comparison."""
    folder.mkdir()
    frame = pl.DataFrame({"domain": ["a", "b"], "accuracy": [0.022603715177673, None], "parts": [[1.0], [2.0, 3.0]]})
    frame.write_parquet(folder / "sweep.parquet")
    said = {"models": [{"verdict": "usable", "aee": 0.022603715177673}], "version": commit, "path": checksum}
    (folder / "summary.json").write_text(json.dumps(said))
    (folder / "table_2.csv").write_text("domain,accuracy\na,0.022603715177673\n")
    (folder / "report.html").write_text(page("0.25", commit, checksum, picture("M 1 2.5", made)))
    imsave(folder / "figure.png", np.zeros((4, 5, 3)))
    (folder / "made.estimator").write_text(made)
    return folder


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    before = results(tmp_path / "before")
    return before, results(tmp_path / "after", "ba9876543210 with changes", HASHES[1], "tuesday")


def said(capsys: pytest.CaptureFixture[str], status: int, *arguments: object) -> list[str]:
    assert main([str(argument) for argument in arguments]) == status
    return capsys.readouterr().out.splitlines()


def test_other_code_at_another_time_is_not_a_difference(
    two: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    counts = "5 files compared (1 .csv, 1 .html, 1 .json, 1 .parquet, 1 .png), 0 differences"
    assert said(capsys, 0, *two) == [counts]


def test_every_kind_of_change_is_reported_with_its_place(
    two: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    _, after = two
    frame = pl.read_parquet(after / "sweep.parquet")
    frame.with_columns(parts=pl.Series([[1.0], [2.0, 3.5]])).write_parquet(after / "sweep.parquet")
    (after / "summary.json").write_text('{"models": [{"verdict": "do not use", "aee": 0.022603715177673}], "path": ""}')
    (after / "table_2.csv").write_text("domain,accuracy\na,0.022603715177674\n")
    html = (after / "report.html").read_text()
    (after / "report.html").write_text(html.replace(picture("M 1 2.5", "tuesday"), picture("M 1 2.6", "tuesday")))
    pixels = np.zeros((4, 5, 3))
    pixels[1, 2] = 1
    imsave(after / "figure.png", pixels)
    (after / "new.txt").write_text("")
    assert said(capsys, 1, *two) == [
        "new.txt: only after",
        "figure.png: 1 of 20 pixels",
        "report.html: 1 lines, first 3: "
        """<img src="<svg><path d='M 1 2.5'/></svg>"> -> <img src="<svg><path d='M 1 2.6'/></svg>">""",
        "summary.json: models.0.verdict: 'usable' -> 'do not use'",
        "sweep.parquet: parts: 1 of 2 rows, first 1: [2.0, 3.0] -> [2.0, 3.5]",
        "table_2.csv: 1 lines, first 2: a,0.022603715177673 -> a,0.022603715177674",
        "5 files compared (1 .csv, 1 .html, 1 .json, 1 .parquet, 1 .png), 6 differences",
    ]


def test_a_tolerance_applies_only_to_numbers(two: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    _, after = two
    frame = pl.read_parquet(after / "sweep.parquet")
    frame.with_columns(pl.col("accuracy") + 1e-12).write_parquet(after / "sweep.parquet")
    (after / "table_2.csv").write_text("domain,accuracy\na,0.022603715178673\n")
    assert len(said(capsys, 1, *two)) == 3
    assert len(said(capsys, 0, *two, "--tolerance", "2e-12")) == 1
    (after / "table_2.csv").write_text("domain,accuracy\nb,0.022603715178673\n")
    frame.with_columns(accuracy=None).write_parquet(after / "sweep.parquet")
    assert len(said(capsys, 1, *two, "--tolerance", "1")) == 3


def test_renamed_files_are_compared_under_their_new_name(
    two: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = two
    (before / "table_2.csv").rename(before / "table_old.csv")
    frame = pl.read_parquet(before / "sweep.parquet")
    frame.rename({"accuracy": "old"}).write_parquet(before / "sweep.parquet")
    assert len(said(capsys, 1, *two)) == 4
    (before / "table_old.csv").write_text((before / "table_old.csv").read_text().replace("accuracy", "old"))
    renamed = ["--renamed", "table_old=table_2", "--renamed", "old=accuracy"]
    assert len(said(capsys, 0, *two, *renamed)) == 1


def test_empty_folders_are_not_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, 1, tmp_path, tmp_path) == ["0 files compared (), 0 differences"]
    with pytest.raises(SystemExit):
        main([str(tmp_path / "absent"), str(tmp_path)])
