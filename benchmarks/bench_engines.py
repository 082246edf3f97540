"""Compare the demo with one engine per model and with one per job, and check killed runs; `make bench-engines`.

Both sides run the same jobs on copies of the project, one after the other. CPU seconds and peak memory include all
processes, including the engines. `--before COMMIT` uses another commit's tree for the other side, instead of
`engine_idle_s: 0`. `--kills` kills only Snakemake at five moments, counts the processes that remain ten seconds
later, continues, and compares the responses with those of the first side. Prints one JSON object as its last line.
"""

import argparse
import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import psutil
from workflow_runs import ROOT, Project

from entropy_sentinel.study.engines.engine_run import RUN_VARIABLE

PR_SET_CHILD_SUBREAPER = 36  # of prctl(2)
# What jobs' logs say, which a test compares with the code.
STARTED, ASKED, ANSWERS = "starting an engine", "that an earlier job started", "responses to generate"
REPLACED = "the engine ended during a request"
MOST_LEFT_S = 10


def measured(project: Project, *arguments: str) -> dict[str, Any]:
    """Measure a run, including its engines, which are not its children."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    project.run(*arguments)
    wall_s = time.monotonic() - begin
    reap()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    logs = [path.read_text(errors="replace") for path in (project.folder / "logs").rglob("*.log")]
    loaded = sum(text.count("Initializing a V1 LLM engine") for text in logs)
    return {
        "wall_s": round(wall_s, 1),
        "cpu_s": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
        "engines_loaded": loaded,  # including those of served judges
        "peak_process_mib": after.ru_maxrss // 1024,
    }


def reap() -> None:
    """Wait for the remaining processes of a run: this process has become the parent of its engines."""
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


def tree(commit: str, folder: Path) -> None:
    """Write the files of another commit to a folder."""
    packed = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed, check=True)


class Measured(Project):
    """A project whose runs are children of this process, which counts their CPU time."""

    def start(self, *arguments: str) -> Any:
        command = [sys.executable, "-m", "snakemake", *self.arguments(*arguments)]
        output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.Popen(command, cwd=self.folder, env=self.environment, start_new_session=True, **output)


class Other(Measured):
    """A project in a folder that has its files already."""

    def __init__(self, folder: Path, configs: list[str]) -> None:
        self.folder, self.configs, self.profile = folder, configs, "profiles/demo"


def engines() -> list[psutil.Process]:
    """The engine processes of runs that descend from this process."""
    result = []
    for process in psutil.process_iter():
        try:
            if "entropy_sentinel.study.engines.engine_host" in process.cmdline() and RUN_VARIABLE in process.environ():
                result.append(process)
        except psutil.Error:
            continue
    return result


def moments(project: Project) -> dict[str, Callable[[], bool]]:
    """The moments of kills: while the engine starts, answers, idles, works beside another, and is replaced."""

    def logs() -> str:
        folder = project.folder / "logs"
        return "".join(path.read_text(errors="replace") for path in folder.rglob("generations/*/*.log"))

    def answered() -> int:
        return len(list((project.folder / "results").rglob("generations/*/*.parquet")))

    return {
        "starts": lambda: STARTED in logs(),
        "answers": lambda: ANSWERS in logs(),
        "idles": lambda: answered() > 2,
        "beside another": lambda: logs().count(STARTED) == 2 and ASKED in logs(),
        "is replaced": lambda: REPLACED in logs(),
    }


def killed(project: Project, whole: Path) -> dict[str, int]:
    """The remaining processes of each killed run; fail if the final run gives other responses."""
    left = {}
    for name, comes in moments(project).items():
        for log in (project.folder / "logs").rglob("generations/*/*.log"):
            log.unlink()
        run, deadline = project.start("generations"), time.monotonic() + 300
        while not comes():
            assert run.poll() is None, run.communicate()[0]
            assert time.monotonic() < deadline, f"this moment never came: {name}"
            if name == "is replaced" and engines():
                engines()[0].kill()
            time.sleep(0.05)
        run.kill()
        run.communicate()
        time.sleep(MOST_LEFT_S)
        left[name] = len(engines())
        project.run("--unlock")
    project.run("generations")
    reap()
    for path in sorted(whole.glob("*/*.parquet")):
        again = pl.read_parquet(project.folder / "results" / "demo" / "generations" / path.relative_to(whole))
        assert again.drop("run").equals(pl.read_parquet(path).drop("run")), f"{path} differs"
    return left


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--study", nargs="*", default=[], help="further config files, such as papers/ambiguity/demo.yaml"
    )
    parser.add_argument("--target", nargs="*", default=[], help="targets of Snakemake, such as `generations`")
    parser.add_argument("--before", help="commit to compare with, instead of one engine per job")
    parser.add_argument("--kills", action="store_true", help="kill runs of the generations, too")
    arguments = parser.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    os.environ.pop(RUN_VARIABLE, None)
    with tempfile.TemporaryDirectory() as scratch:
        folders = [Path(scratch, name) for name in ("shared", "other", "killed")]
        for folder in folders:
            folder.mkdir()
        configs = ["demo/config.yaml", *arguments.study]
        shared = Measured(folders[0], configs)
        if arguments.before:
            tree(arguments.before, folders[1])
            other = Other(folders[1], configs)
        else:
            (folders[1] / "alone.yaml").write_text("generation: {engine_idle_s: 0}\n")
            other = Measured(folders[1], [*configs, "alone.yaml"])
        result: dict[str, Any] = {
            "shared": measured(shared, *arguments.target),
            arguments.before or "engine per job": measured(other, *arguments.target),
        }
        one, two = result.values()
        if arguments.kills:
            whole = folders[0] / "results" / "demo" / "generations"
            result["left_after_kills"] = killed(Measured(folders[2], configs), whole)
    ratio = {"cpu_ratio": round(one["cpu_s"] / two["cpu_s"], 3), "wall_ratio": round(one["wall_s"] / two["wall_s"], 3)}
    print(json.dumps({"configs": configs, "target": arguments.target, **result, **ratio}))


if __name__ == "__main__":
    sys.exit(main())
