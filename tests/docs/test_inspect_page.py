"""The commands of docs/inspect.md, one after the other, with the demo's model behind a server."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from documented import ROOT, blocks
from serving import PROGRAMS, free_port, needs_program, serving

import entropy_sentinel as es

pytestmark = [pytest.mark.long, needs_program("inspect")]


def test_an_evaluation_becomes_an_estimate(tmp_path: Path) -> None:
    (tmp_path / "demo").symlink_to(ROOT / "demo")
    shutil.copy(ROOT / "config.yaml", tmp_path)
    port = str(free_port())
    serve, *commands = (block.replace("8000", port) for block in blocks(ROOT / "docs" / "inspect.md", "sh"))
    path = os.pathsep.join([str(Path(sys.executable).parent), str(PROGRAMS), os.environ["PATH"]])
    shell = {"cwd": tmp_path, "env": os.environ | {"PATH": path, "INSPECT_DISPLAY": "none"}}
    with serving(["bash", "-c", serve], tmp_path / "server.log", f"http://127.0.0.1:{port}/health", **shell):
        subprocess.run(["bash", "-ec", "\n".join(commands)], check=True, **shell)
    labels = es.read_labels(tmp_path / "logs", scorer="pattern")
    counts = dict(labels["benchmark"].value_counts().iter_rows())
    assert counts == {"averages": 40, "percentages": 40, "remainders": 40}
    estimate = es.estimate(tmp_path / "mine.estimator", tmp_path / "unlabelled")
    assert estimate.select("benchmark", "n_estimated").rows() == [("mixed", 30)]
