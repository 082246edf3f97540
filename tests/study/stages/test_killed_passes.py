"""Every pass, killed with SIGKILL twice on the way, ends with the file of one that was left alone, byte for byte."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from killed_pass import ANSWERS, SECTIONS

from entropy_sentinel.signal_families.signal_registry import FAMILIES

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parents[2]


def run(family: str, folder: Path, name: str, *parts: str) -> tuple[int, Path]:
    """The exit status of one run, and its output."""
    output = folder / "study" / "passes" / family / name / "a.parquet"
    environment = os.environ | {"PYTHONPATH": f"{TESTS.parent / 'workflow'}{os.pathsep}{TESTS / 'shared'}"}
    command = [sys.executable, str(TESTS / "shared" / "killed_pass.py"), family, str(folder), str(output), *parts]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr[-3000:]
    return done.returncode, output


@pytest.mark.parametrize("family", [family for family in SECTIONS if family in FAMILIES])
def test_killed_twice_the_file_is_the_same_to_the_byte(family: str, tmp_path: Path) -> None:
    assert run(family, tmp_path, "whole")[0] == 0
    for kept in (1, 3):  # parts after each kill: the second run goes on from the first one's
        status, output = run(family, tmp_path, "resumed", str(kept if kept == 1 else 2))
        assert status == -signal.SIGKILL
        assert not output.exists()
        parts = [pl.read_parquet(path) for path in sorted(Path(f"{output}.parts").glob("part-*.parquet"))]
        assert len(parts) == kept
        if FAMILIES[family].per_item:
            items = [set(part["item_id"]) for part in parts]
            assert all(len(part) == len(own) * len(ANSWERS) for part, own in zip(parts, items, strict=True))
            assert len(set.union(*items)) == sum(map(len, items)), "an item's responses are in one part"
    assert run(family, tmp_path, "resumed")[0] == 0
    whole = tmp_path / "study" / "passes" / family / "whole" / "a.parquet"
    assert output.read_bytes() == whole.read_bytes()
    assert len(pl.read_parquet(whole)) >= 12 * len(ANSWERS)
