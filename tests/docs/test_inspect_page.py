"""The commands of docs/inspect.md, one after the other, with the demo's model behind a server."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml
from documented import ROOT, blocks
from serving import PROGRAMS, free_port, needs_program, serving
from workflow_runs import Project

import entropy_sentinel as es
from entropy_sentinel.features.feature_registry import FEATURES

pytestmark = [pytest.mark.long, pytest.mark.nightly, needs_program("inspect")]


def test_an_evaluation_becomes_an_estimate(tmp_path: Path) -> None:
    (tmp_path / "demo").symlink_to(ROOT / "demo")
    shutil.copy(ROOT / "config.yaml", tmp_path)
    port = str(free_port())
    serve, *commands = (block.replace("8000", port) for block in blocks(ROOT / "docs" / "inspect.md", "sh"))
    path = os.pathsep.join([str(Path(sys.executable).parent), str(PROGRAMS), os.environ["PATH"]])
    shell = {"cwd": tmp_path, "env": os.environ | {"PATH": path, "INSPECT_DISPLAY": "none"}}
    with serving(["bash", "-c", serve], tmp_path / "server.log", f"http://127.0.0.1:{port}/health", **shell):
        subprocess.run(["bash", "-ec", "\n".join(commands)], check=True, **shell)
    study_of(tmp_path / "logs", tmp_path / "project")
    labels = es.read_labels(tmp_path / "logs", scorer="pattern")
    counts = dict(labels["benchmark"].value_counts().iter_rows())
    assert counts == {"averages": 40, "percentages": 40, "remainders": 40}
    estimate = es.estimate(tmp_path / "mine.estimator", tmp_path / "unlabelled")
    assert estimate.select("benchmark", "n_estimated").rows() == [("mixed", 30)]


def study_of(logs: Path, folder: Path) -> None:
    """A study with the logs as a source has the features of the logs."""
    names = ["averages", "percentages"]
    study = {
        "study": "inspected",
        "run": {
            "models": ["mine"],
            "benchmarks": names,
            "analyses": ["responses"],
            "sizes": [],
            "judges": ["math-verify"],
        },
        "models": {"mine": {"source": str(logs), "source_logprobs_mode": "raw_logprobs"}},
        "generation": {"samples": 2},
        "benchmarks": {
            name: {"path": f"demo/benchmarks/{name}.jsonl", "question": ["{question}"], "reference": ["{answer}"]}
            for name in names
        },
    }
    folder.mkdir()
    project = Project(folder, ["study.yaml"])
    (folder / "study.yaml").write_text(yaml.safe_dump(study))
    project.run()
    ours = pl.concat(pl.read_parquet(path) for path in (folder / "results").rglob("features/mine/*.parquet"))
    assert (folder / "results/inspected/math-verify/responses/mine.html").is_file()
    theirs = es.read_features(logs).filter(pl.col("benchmark").is_in(names))
    assert len(ours) == len(theirs) == 80
    np.testing.assert_allclose(*(one.select(FEATURES).sort(FEATURES) for one in (ours, theirs)), atol=1e-6)
