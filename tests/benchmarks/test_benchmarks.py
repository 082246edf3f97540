"""Every benchmark runs at a size that takes seconds, and its last line is a JSON object.

Those of engines (cpu, engines, forced_answer, generate, jobs) start one and take minutes, so they are not run here.
"""

import ast
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OF_ENGINES = {"cpu", "engines", "forced_answer", "generate", "jobs"}
SMALL = {
    "alarms": "--nights 365 --repeats 2 --slices 2 --responses 60",
    "ambiguous": "--draws 1 --samples 20",
    "capture": "--requests 10",
    "combined": "--draws 4 --no-real",
    "dag": "--repeats 1",
    "digits": "--processes 1",
    "familiar": "--sets 1",
    "features": "--no-peers --responses 200 --tokens 30 --logged 200",
    "gpu": "--shapes qwen3-4b --answers 4 --tokens 8 --limit 900 --out .",
    "grouping": "--questions 4 --samples 4",
    "intervals": "--groups 1 --domains 20",
    "judge": "--share 0.01 --pairs 2 --parts forms",
    "judged": "--worlds 2",
    "labels": "--draws 10",
    "methods": "--worlds 2 --groups 4 --without-forest",
    "monitor": "--features 500 --raw 20 --tokens 10",
    "more_domains": "--worlds 4",
    "same_labels": "--draws 1 --estimators log-3d",
    "score": "--replies 2 --rounds 1",
    "sweep": "--rows 100 --seeds 2 --configurations 3 --no-growth",
    "usable": "--worlds 10",
    "verdict": "--worlds 60",
    "witnesses": "--no-estimator",
    "year": "--responses 500 --days 4",
}
# Those that take more than five seconds of CPU time even so.
NIGHTLY = {"ambiguous", "digits", "dag", "familiar", "features", "gpu", "grouping", "intervals", "judge", "monitor"}
NIGHTLY |= {"more_domains", "sweep", "verdict", "year"}
# Needs the results of studies, and says so.
OF_RESULTS = {"learned": "needs files of observations: run `make study-real` and `make demo`"}


def test_each_is_here() -> None:
    there = {path.stem.removeprefix("bench_") for path in (ROOT / "benchmarks").glob("bench_*.py")}
    assert there == {*SMALL, *OF_ENGINES, *OF_RESULTS}


def test_moments_of_a_killed_run_are_found_in_the_logs() -> None:
    """By what the package writes there: a benchmark of engines takes minutes, so it is run by hand."""
    program = ast.parse((ROOT / "benchmarks" / "bench_engines.py").read_text())
    marks = []
    for statement in program.body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]).split(",")[0] in (
            "(STARTED",
            "REPLACED",
        ):
            marks += [part.value for part in ast.walk(statement.value) if isinstance(part, ast.Constant)]
    folder = ROOT / "workflow" / "entropy_sentinel" / "study"
    code = "".join(path.read_text() for room in ("engines", "stages") for path in (folder / room).glob("*.py"))
    assert len(marks) == 4
    assert [mark for mark in marks if mark not in code] == []


def run(name: str, folder: Path, arguments: str = "") -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(str(ROOT / part) for part in ("workflow", "tests/shared", "docs"))
    command = [sys.executable, ROOT / "benchmarks" / f"bench_{name}.py", *arguments.split()]
    return subprocess.run(command, cwd=folder, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True)


@pytest.mark.long
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly) if name in NIGHTLY else name for name in SMALL]
)
def test_it_runs(name: str, tmp_path: Path) -> None:
    if name == "judge" and "ENTROPY_SENTINEL_ROWS" not in os.environ:
        pytest.skip("needs ENTROPY_SENTINEL_ROWS, a folder of real rows")
    if name == "gpu":
        pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)
    folder = ROOT if name == "dag" else tmp_path
    done = run(name, folder, SMALL[name])
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    last = json.loads(done.stdout.splitlines()[-1])
    assert not last.get("failed")
    if "ratio" in last and last["ratio"] is not None:
        assert not math.isnan(last["ratio"])


@pytest.mark.long
@pytest.mark.parametrize("name", OF_RESULTS)
def test_what_needs_results_says_so(name: str, tmp_path: Path) -> None:
    done = run(name, tmp_path)
    assert done.returncode == 2
    assert OF_RESULTS[name] in done.stderr
