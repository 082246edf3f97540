"""Faults of a whole run, on the real workflow: kills, full disks, two runs at once, damaged and replaced files.

Each test has a copy of a study that is whole, so that none depends on what another has left. A full disk and a folder
that cannot be written need a file system of their own, so root.
"""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml
from attack_cases import PLANTED
from forked_snakemake import ForkedSnakemake
from workflow_runs import Project

from entropy_sentinel.schemas.generation_schema import TOP_K

pytestmark = pytest.mark.long(minutes=2)

BASE = ["demo/config.yaml", "tests/workflow/tiny.yaml"]
RESULTS, MODEL = "results/imported", "theirs"
# For a run of Snakemake, which takes some ten seconds, on a machine that is busy.
LONGEST_S = 120

BENCHMARKS = ("percentages", "two-digit-multiplication")
# From traces and labels to estimates: no engine, no judge, no report.
TARGET = "estimates"
STUDY = {
    "study": "imported",
    "limit": 150,
    "run": {
        "models": [MODEL],
        "judges": ["people"],
        "benchmarks": list(BENCHMARKS),
        "groups": ["both"],
        "sizes": [],
    },
    "models": {MODEL: {"source": "given/traces", "source_logprobs_mode": "raw_logprobs"}},
    "judges": {"people": {"kind": "file", "path": "given/labels"}},
    "groups": {
        "both": {
            "benchmarks": list(BENCHMARKS),
            "estimator": "forest-10d-balanced-isotonic",
            "configurations": "default",
        }
    },
    "estimation": {"trees": 2, "max_depth": [2], "min_samples_split": [2]},
    "analyses": {"accuracy": {"auroc_models": [MODEL]}},
}


def write_given(folder: Path) -> None:
    """Traces of 20 tokens for the 200 items of each benchmark, and labels: wrong answers are less certain."""
    random = np.random.default_rng(5)
    for number, benchmark in enumerate(BENCHMARKS):
        labels = random.random(200) < 0.3 + 0.2 * number
        logits = random.normal(size=(200, 20, TOP_K)) * np.where(labels, 6, 2)[:, None, None]
        top = -np.sort(-(logits - np.log(np.exp(logits).sum(axis=2, keepdims=True))), axis=2)
        ids = {"item_id": [f"{benchmark}-{row:05d}" for row in range(200)]}
        traces = {"text": ["?"] * 200, "finish_reason": ["stop"] * 200, "top_logprobs": top.tolist()}
        columns = {
            "traces": ids | traces | {"token_logprobs": top[:, :, 0].tolist()},
            f"labels/{MODEL}": ids | {"label": labels.tolist()},
        }
        for place, data in columns.items():
            (folder / place).mkdir(parents=True, exist_ok=True)
            pl.DataFrame(data).write_parquet(folder / place / f"{benchmark}.parquet")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A study run to its end, with keys in the shell that starts it."""
    folder = tmp_path_factory.mktemp("whole")
    project = Project(folder, [*BASE, "imported.yaml"])
    (folder / "imported.yaml").write_text(yaml.safe_dump(STUDY))
    write_given(folder / "given")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HF_TOKEN", "OPENAI_API_KEY", "MY_SECRET"):
            patch.setenv(name, PLANTED)
        output = project.run(TARGET)
    assert PLANTED not in output
    assert project.planned(TARGET) == {}
    return project


@pytest.fixture
def project(whole: Project, tmp_path: Path) -> Project:
    """A copy of it, for a test to spoil."""
    return copy_of(whole, tmp_path / "project")


def copy_of(project: Project, folder: Path) -> Project:
    """The project in another folder, with the dates of its files, which Snakemake looks at."""
    shutil.copytree(project.folder, folder, symlinks=True)
    other = copy(project)
    other.folder = folder
    return other


def content(project: Project) -> dict[str, bytes]:
    """All results by name; without notes about their making."""
    files = [path for path in (project.folder / RESULTS).rglob("*") if path.is_file()]
    kept = [path for path in files if path.suffix not in (".json", ".jsonl") and ".parts" not in str(path)]
    return {str(path.relative_to(project.folder)): path.read_bytes() for path in kept}


class Fault:
    """What a block does to a study that was whole."""

    def __init__(self, project: Project) -> None:
        self.project, self.before = project, content(project)

    def missing(self) -> list[str]:
        """Results that are not there. Snakemake is asked for them by name: it makes nothing that nothing waits for."""
        return [name for name in self.before if not (self.project.folder / name).is_file()]

    def start(self, *arguments: str) -> ForkedSnakemake:
        return self.project.start(TARGET, *self.missing(), *arguments)


def unlock(project: Project) -> None:
    if list(project.folder.glob(".snakemake/locks/*")):
        project.run("--unlock")


@contextmanager
def whole_again(project: Project) -> Iterator[Fault]:
    """What a test does in the block is gone with the next run: the same bytes, and nothing left behind."""
    fault = Fault(project)
    yield fault
    unlock(project)
    project.run(TARGET, *fault.missing())
    after = content(project)
    assert after.keys() == fault.before.keys()
    assert [name for name in after if after[name] != fault.before[name]] == []
    assert not list(project.folder.glob("results/**/*.partial"))
    assert project.planned(TARGET) == {}


def failed(process: ForkedSnakemake) -> str:
    """What a run that must fail has printed: plain words, no traceback."""
    output, _ = process.communicate(timeout=LONGEST_S)
    assert process.returncode != 0, output
    assert "Traceback" not in output, output[-3000:]
    return output


def wait_for(condition: Callable[[], bool], process: ForkedSnakemake) -> None:
    deadline = time.monotonic() + LONGEST_S
    while not condition():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.05)


def test_keys_of_the_shell_are_in_no_file(whole: Project) -> None:
    for place in ("results", "logs", ".snakemake", ".cache"):
        for path in (whole.folder / place).rglob("*"):
            if path.is_file():
                assert PLANTED.encode() not in path.read_bytes(), path


STAGES = {
    "generations": f"generations/{MODEL}/percentages",
    "labels": f"labels/people/{MODEL}/percentages",
    "features": f"features/{MODEL}/percentages",
    "estimates": f"estimates/people/{MODEL}/*",
}
# Ctrl-C goes to all processes at the terminal, and so does a kill of their group.
STOPS = (("generations", signal.SIGKILL), ("features", signal.SIGINT), ("estimates", signal.SIGKILL))


@pytest.mark.nightly
def test_stopped_in_one_stage_after_another(project: Project) -> None:
    """Each run goes on where the one before it was stopped."""
    with whole_again(project) as fault:
        logs = {}
        for stage, _ in STOPS:
            (output,) = (project.folder / RESULTS).glob(f"{STAGES[stage]}.parquet")
            log = project.folder / "logs/imported" / output.relative_to(project.folder / RESULTS)
            logs[stage] = log.with_suffix(".log")
            output.unlink()
        for stage, how in STOPS:
            unlock(project)
            logs[stage].unlink(missing_ok=True)
            process = fault.start()
            wait_for(logs[stage].exists, process)
            os.killpg(process.pid, how)
            # A job that had only begun may print where it was.
            output, _ = process.communicate(timeout=LONGEST_S)
            assert process.returncode != 0, output


@pytest.mark.nightly
def test_two_runs_at_once(project: Project) -> None:
    with whole_again(project) as fault:
        shutil.rmtree(project.folder / RESULTS / "features")
        first, second = fault.start(), fault.start()
        outputs = [process.communicate(timeout=LONGEST_S)[0] for process in (first, second)]
        assert sorted([first.returncode, second.returncode]) == [0, 1], outputs
        refused = outputs[0] if first.returncode else outputs[1]
        assert "lock" in refused.lower()
        assert "Traceback" not in refused


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """Another file system in the place of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"cannot mount a file system here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_disks_that_cannot_be_written(project: Project) -> None:
    """One is full, another may only be read."""
    results = project.folder / RESULTS
    with whole_again(project) as fault:
        shutil.rmtree(results / "features" / MODEL)
        with mounted(results / "features", "ro"):
            output = failed(fault.start())
        assert "Read-only file system" in output
        assert "features" in output
        shutil.rmtree(results / "generations")
        with mounted(results / "generations", "size=40k"):
            output = failed(fault.start())
        assert re.search("no space left on the disk.*/generations/", output), output


def test_files_in_the_way_damaged_files_and_unforeseen_errors(project: Project) -> None:
    """Each is named with what to do; what does not depend on it stays; deleted as told, it is made again."""
    results = project.folder / RESULTS
    with whole_again(project) as fault:
        for name, damage in (
            (STAGES["labels"], lambda content: b"hello"),
            (STAGES["features"], lambda content: content[: len(content) // 2]),
        ):
            path = results / f"{name}.parquet"
            path.write_bytes(damage(path.read_bytes()))
            output = failed(fault.start())
            assert re.search(rf"{re.escape(name)}\.parquet.*[Dd]elete", output), output
            path.unlink()
        shutil.rmtree(results / "features" / MODEL)
        for folder in (f"{RESULTS}/features/{MODEL}", "logs"):
            place = project.folder / folder
            shutil.rmtree(place, ignore_errors=True)
            place.write_text("in the way")
            output = failed(fault.start())
            assert f"{folder}: must be a folder, is a file; move it away" in output
            assert place.read_text() == "in the way"
            place.unlink()
        # With `--quiet rules`, as `make demo` has it.
        undo = project.edit(
            "workflow/entropy_sentinel/study/stages/feature_stage.py",
            "    frame = pl.concat(",
            '    raise KeyError("nobody foresaw this")\n    frame = pl.concat(',
        )
        output = failed(fault.start("--quiet", "rules"))
        undo()
        assert "nobody foresaw this" in output
        assert "logs/imported/features/theirs/" in output
        assert "jobid" not in output
