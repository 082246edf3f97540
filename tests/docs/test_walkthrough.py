"""The walk-through's blocks, pasted into one shell one after the other; the notebook's cells, run in order."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import polars as pl
import pytest
from documented import GUIDE, blocks

from made.notebook import run

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "monitor.ipynb"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the repository's demo, and no more."""
    (tmp_path / "demo").symlink_to(ROOT / "demo")
    return tmp_path


@pytest.mark.slow
def test_the_walk_through_can_be_pasted(folder: Path) -> None:
    scripts = blocks(GUIDE, "sh")
    assert len(scripts) == 4
    (folder / "bin").mkdir()
    command = folder / "bin" / "entropy-sentinel"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m entropy_sentinel "$@"\n')
    command.chmod(0o755)
    paths = {
        "PYTHONPATH": str(ROOT / "workflow"),
        "PATH": f"{command.parent}:{Path(sys.executable).parent}:/usr/bin:/bin",
    }
    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join(scripts)], cwd=folder, env=os.environ | paths, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    row = "travel       80      0.733  0.750  -0.017\n"
    assert row in done.stdout
    assert row in GUIDE.read_text()
    assert "ALERT shop (from 2026-11-09 00:00): estimated accuracy fell by 0." in done.stdout
    slices = pl.read_parquet(folder / "slices.parquet")
    assert (len(slices), slices["n_responses"].sum()) == (8, 640)
    assert (folder / "slices.html").stat().st_size > 50_000


@pytest.mark.slow
@pytest.mark.parametrize("started_in", ["docs", "."])
def test_the_notebook_runs(folder: Path, started_in: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jupyter starts it in its own folder, an editor in the repository's."""
    (folder / "docs").mkdir()
    monkeypatch.chdir(folder / started_in)
    names = run(nbformat.read(NOTEBOOK, as_version=4))
    truth = pl.read_csv(ROOT / "demo" / "truth" / "logs.csv")
    second = truth.filter(pl.col("item_id").str.starts_with("week-2"))["label"].mean()
    # Nobody has labelled the second week for the estimator: it is told from its log-probabilities.
    assert names["second_week"] == pytest.approx(second, abs=0.05)
