"""Break down the CPU time of a job: start of Python, imports, reading, writing and work; `make bench-jobs`.

The demo is run with Snakemake's scripts kept, and five of its jobs are run again as Snakemake runs it: its
script in a Python process of its own. The generation job asks an engine that is already loaded. `--folder FOLDER` takes
a copy of the project in which the demo was run with `--skip-script-cleanup`. Prints one JSON object as its last line.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from workflow_runs import Project

from entropy_sentinel.study.engines.engine_run import announce_run

# The jobs, by the function that each calls.
CALLS = {
    "generation": "study.stages.generation_stage.write_generations",
    "label": "study.stages.label_stage.write_labels",
    "feature": "study.stages.feature_stage.write_features",
    "estimate": "study.stages.estimate_stage.write_groups",
    "tables": "analyses.accuracy.tables.",
}
REPEATS = 3
PACKAGES_SHOWN = 8
# Runs a script and reports its CPU time over all threads; import time counts for the package whose own code took it.
MEASURING = """
import time
started = time.process_time()
import atexit, builtins, json, resource, runpy, sys

own, stack, spent = {}, [], {"reading": 0.0, "writing": 0.0}
real = builtins.__import__

def measured(name, *arguments, **named):
    if name in sys.modules and not (arguments[2] if len(arguments) > 2 else None):
        return real(name, *arguments, **named)
    begin = time.process_time()
    stack.append(0.0)
    try:
        return real(name, *arguments, **named)
    finally:
        took = time.process_time() - begin
        package = name.split(".")[0] or "relative"
        own[package] = own.get(package, 0.0) + took - stack.pop()
        if stack:
            stack[-1] += took

def watch(owner, name, kind):
    inner = getattr(owner, name)
    def outer(*arguments, **named):
        begin, imported = time.process_time(), sum(own.values())
        try:
            return inner(*arguments, **named)
        finally:
            spent[kind] += time.process_time() - begin - (sum(own.values()) - imported)
    setattr(owner, name, outer)

def tell():
    total = time.process_time()
    with open(sys.argv[2], "w") as file:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        facts = {"start": started, "imports": sum(own.values()), **spent, "packages": own}
        json.dump(facts | {"children": used.ru_utime + used.ru_stime, "total": total}, file)

atexit.register(tell)
builtins.__import__ = measured
from entropy_sentinel.schemas.contract import Contract
watch(Contract, "read", "reading")
watch(Contract, "scan", "reading")
watch(Contract, "write", "writing")
script = sys.argv[1]
runpy.run_path(script, run_name="__main__")
"""


def measure(folder: Path, script: Path) -> dict[str, Any]:
    """The CPU seconds of a job by cause."""
    with tempfile.TemporaryDirectory() as scratch:
        told = Path(scratch, "told.json")
        done = subprocess.run(
            [sys.executable, "-c", MEASURING, str(script), str(told)],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(folder / "workflow")},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        result: dict[str, Any] = json.loads(told.read_text())
    work = result["total"] - sum(result[name] for name in ("start", "imports", "reading", "writing"))
    return result | {"work": work}


def of_job(folder: Path, call: str) -> dict[str, Any]:
    """The medians over a few runs of the job that calls this function."""
    scripts = (folder / ".snakemake" / "scripts").glob("*.py")
    script = next(path for path in sorted(scripts) if call in path.read_text())
    runs = []
    for number in range(REPEATS + 1):
        for parts in (folder / "results").rglob("*.parquet.parts"):
            shutil.rmtree(parts)  # otherwise there would be nothing to generate
        run = measure(folder, script)
        if number:  # the first warms caches, and loads the model
            runs.append(run)
    names = ("total", "start", "imports", "reading", "work", "writing", "children")
    seconds = {name: round(median(run[name] for run in runs), 2) for name in names}
    packages = {name: round(median(run["packages"].get(name, 0) for run in runs), 2) for name in runs[0]["packages"]}
    most = sorted(packages.items(), key=lambda pair: -pair[1])[:PACKAGES_SHOWN]
    return seconds | {"packages": dict(most)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, help="a copy of the project in which the demo was run, scripts kept")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.folder
        if folder is None:
            folder = Path(scratch)
            Project(folder, ["demo/config.yaml"]).run("--skip-script-cleanup")
        announce_run(60, True)
        print(json.dumps({name: of_job(folder, call) for name, call in CALLS.items()}))


if __name__ == "__main__":
    main()
