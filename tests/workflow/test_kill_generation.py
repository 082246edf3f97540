"""A real generate job, killed with SIGKILL at three points and resumed, ends with the file of an uninterrupted run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# tests/workflow/test_workflow.py kills a real generate job once, tests/study/stages/test_orphan.py one without an
# engine.
pytestmark = [pytest.mark.long, pytest.mark.nightly]

ROOT = Path(__file__).parents[2]


def test_killed_three_times() -> None:
    command = [sys.executable, "tests/workflow/kill_generation.py", "--points", "3", "--seed", "1"]
    environment = os.environ | {"PYTHONPATH": "workflow"}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900)
    assert run.returncode == 0, run.stdout + run.stderr
    summary = json.loads(run.stdout.splitlines()[-1])
    assert (summary["kills"], summary["responses"], summary["texts_equal"]) == (3, 200, True)
    assert summary["largest_logprob_difference"] <= 1e-4
    assert 0 < summary["resumed_responses"] <= 200
    assert not summary["parts_left"]
