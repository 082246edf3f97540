"""Faults of a whole run, on the real workflow: kills, full disks, two runs at once, damaged and replaced files.

They take minutes, so the name of this file keeps it out of `make test`: `make attack` runs it, as root for all of it.
"""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml
from attack_cases import PLANTED
from workflow_runs import Project

from entropy_sentinel.frames.generation import GENERATIONS, TOP_K

BASE = ["demo/config.yaml", "tests/workflow/tiny.yaml"]
RESULTS, MODEL = "results/imported", "theirs"
GIB = 1 << 30


BENCHMARKS = ("one-digit-addition", "percentages", "two-digit-multiplication")
STUDY = {
    "study": "imported",
    "limit": 150,
    "run": {"models": [MODEL], "judges": ["people"]},
    "models": {MODEL: {"source": "given/traces", "source_logprobs_mode": "raw_logprobs"}},
    "judges": {"people": {"kind": "file", "path": "given/labels"}},
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
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A study without an engine, run to its end, with keys in the shell that starts it."""
    folder = tmp_path_factory.mktemp("project")
    project = Project(folder, [*BASE, "imported.yaml"])
    (folder / "imported.yaml").write_text(yaml.safe_dump(STUDY))
    write_given(folder / "given")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HF_TOKEN", "OPENAI_API_KEY", "MY_SECRET"):
            patch.setenv(name, PLANTED)
        output = project.run()
    assert PLANTED not in output
    return project


def content(project: Project) -> dict[str, bytes]:
    """All results by name; without notes about their making."""
    files = [path for path in (project.folder / RESULTS).rglob("*") if path.is_file()]
    kept = [path for path in files if not path.name.endswith((".json", ".html")) and ".parts" not in str(path)]
    return {str(path.relative_to(project.folder)): path.read_bytes() for path in kept}


class Fault:
    """What a block does to a study that was whole."""

    def __init__(self, project: Project) -> None:
        self.project, self.before = project, content(project)

    def missing(self) -> list[str]:
        """Results that are not there. Snakemake is asked for them by name: it makes nothing that nothing waits for."""
        return [name for name in self.before if not (self.project.folder / name).is_file()]

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return self.project.start(*self.missing(), *arguments)


@contextmanager
def whole_again(project: Project) -> Iterator[Fault]:
    """Whatever happens in the block, the next run completes with the same bytes, and leaves nothing behind."""
    fault = Fault(project)
    try:
        yield fault
    finally:
        project.run("--unlock")
        project.run(*fault.missing())
        project.run()
    after = content(project)
    assert after.keys() == fault.before.keys()
    assert [name for name in after if after[name] != fault.before[name]] == []
    assert not list(project.folder.glob("results/**/*.partial"))
    assert project.planned() == {}


def failed(process: subprocess.Popen[str], timeout_s: float = 300) -> str:
    """What a run that must fail has printed: plain words, no traceback."""
    output, _ = process.communicate(timeout=timeout_s)
    assert process.returncode != 0, output
    assert "Traceback" not in output, output[-3000:]
    return output


def test_keys_of_the_shell_are_in_no_file(project: Project) -> None:
    for place in ("results", "logs", ".snakemake", ".cache"):
        for path in (project.folder / place).rglob("*"):
            if path.is_file():
                assert PLANTED.encode() not in path.read_bytes(), path


@pytest.mark.parametrize(
    "name",
    [
        "benchmarks/percentages",
        f"generations/{MODEL}/percentages",
        f"labels/people/{MODEL}/percentages",
        f"features/{MODEL}/percentages",
        f"observations/people/{MODEL}",
        f"estimates/people/{MODEL}/percentages",
    ],
)
def test_killed_in_each_stage(project: Project, name: str) -> None:
    output, log = project.folder / RESULTS / f"{name}.parquet", project.folder / f"logs/imported/{name}.log"
    with whole_again(project):
        output.unlink()
        log.unlink(missing_ok=True)
        project.kill_when(log.exists, str(output.relative_to(project.folder)))


def test_interrupted(project: Project) -> None:
    """Ctrl-C goes to all processes at the terminal."""
    # A shell without job control starts what is in the background deaf to it, and processes inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    log = project.folder / f"logs/imported/estimates/people/{MODEL}/percentages.log"
    with whole_again(project) as fault:
        shutil.rmtree(project.folder / RESULTS / "estimates")
        log.unlink()
        process = fault.start()
        while not log.exists():
            assert process.poll() is None
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        # A job that had only begun may print where it was.
        output, _ = process.communicate(timeout=300)
        assert process.returncode != 0, output


def test_two_runs_at_once(project: Project) -> None:
    with whole_again(project) as fault:
        shutil.rmtree(project.folder / RESULTS / "estimates")
        first, second = fault.start(), fault.start()
        outputs = [process.communicate(timeout=300)[0] for process in (first, second)]
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


@pytest.mark.parametrize("stage", ["generations", "features"])
def test_full_disk(project: Project, stage: str) -> None:
    with whole_again(project) as fault:
        shutil.rmtree(project.folder / RESULTS / stage)
        with mounted(project.folder / RESULTS / stage, "size=40k"):
            output = failed(fault.start())
        assert re.search(f"{stage}.*No space left on device|No space left on device.*{stage}", output, re.DOTALL), (
            output
        )


def test_folder_that_cannot_be_written(project: Project) -> None:
    with whole_again(project) as fault:
        shutil.rmtree(project.folder / RESULTS / "features" / MODEL)
        with mounted(project.folder / RESULTS / "features", "ro"):
            output = failed(fault.start())
        assert "Read-only file system" in output
        assert "features" in output


def test_file_in_the_place_of_a_folder(project: Project) -> None:
    with whole_again(project) as fault:
        folder = project.folder / RESULTS / "features" / MODEL
        shutil.rmtree(folder)
        folder.write_text("in the way")
        output = failed(fault.start())
        assert f"features/{MODEL}" in output
        folder.unlink()


@pytest.mark.parametrize("name", [f"features/{MODEL}/percentages", f"labels/people/{MODEL}/percentages"])
@pytest.mark.parametrize("damage", ["cut", "text"])
def test_damaged_file(project: Project, name: str, damage: str) -> None:
    """It is named with what to do; what does not depend on it stays; deleted as told, it is made again."""
    with whole_again(project) as fault:
        path = project.folder / RESULTS / f"{name}.parquet"
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2] if damage == "cut" else b"hello")
        output = failed(fault.start())
        assert re.search(rf"{re.escape(name)}\.parquet.*[Dd]elete", output), output
        path.unlink()


def test_cause_of_any_death_is_on_the_terminal(project: Project) -> None:
    """With `--quiet rules`, as `make demo` has it; of an error that nobody has foreseen, too."""
    undo = project.edit(
        "workflow/entropy_sentinel/stages/feature.py",
        "    frame = pl.concat(",
        '    raise KeyError("nobody foresaw this")\n    frame = pl.concat(',
    )
    with whole_again(project) as fault:
        try:
            output = failed(fault.start("--quiet", "rules"))
        finally:
            undo()
        assert "nobody foresaw this" in output
        assert "logs/imported/features/theirs/" in output
        assert "jobid" not in output


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("demo/benchmarks/percentages.jsonl", "benchmark"),
        ("given/traces/percentages.parquet", "generation"),
        ("given/labels/theirs/percentages.parquet", "label"),
    ],
)
def test_replaced_by_an_older_file(project: Project, name: str, rule: str) -> None:
    """As `cp -p older.jsonl rows.jsonl` does it."""
    path = project.folder / name
    before, times = path.read_bytes(), path.stat()
    try:
        if path.suffix == ".parquet":
            pl.read_parquet(path).reverse().write_parquet(path)
        else:
            path.write_text(path.read_text().replace("coins", "francs"))
        os.utime(path, (1_000_000_000, 1_000_000_000))
        assert project.planned()[rule] == 1
    finally:
        path.write_bytes(before)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert project.planned() == {}


def test_dollars_in_a_label(project: Project) -> None:
    """They are dollars: no mathematics, and no error at the end of a run."""
    label = "costs $5_$ and $6, 100 % & <b>"
    config = {"analyses": {"accuracy": {"labels": {"imported": label}}}}
    (project.folder / "label.yaml").write_text(yaml.safe_dump(config))
    with whole_again(project):
        project.over("label.yaml").run()
        report = (project.folder / RESULTS / "people" / "report.html").read_text()
        assert "costs $5_$ and $6, 100 % &amp; &lt;b&gt;" in report
        assert "<b>" not in report.split("<body>")[-1][:2000]


def test_alias_bomb_is_refused_in_little_memory(project: Project) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    (project.folder / "bomb.yaml").write_text("\n".join(lines))
    program = [sys.executable, "-m", "snakemake", "--profile", project.profile, "--dry-run", "--configfile"]
    process = subprocess.Popen(
        [*program, *project.configs, "bomb.yaml"],
        cwd=project.folder,
        env={"PYTHONPATH": str(project.folder / "workflow")} | os.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (3 * GIB, 3 * GIB)),
    )
    output = failed(process, timeout_s=60)
    assert "a0" in output
    assert len(output) < 10_000


def test_orphan_of_a_killed_snakemake_loses_nothing(tmp_path: Path) -> None:
    """On the real engine: the main process alone dies, and the next run starts while its job still generates."""
    project = Project(tmp_path, [*BASE, "more.yaml"])
    more = {"limit": None, "generation": {"samples": 4, "engine_args": {"max_num_seqs": 16}}}
    (tmp_path / "more.yaml").write_text(yaml.safe_dump(more))
    target = "results/tiny/generations/tiny-1m/percentages.parquet"
    parts = tmp_path / f"{target}.parts"
    first = project.start(target)
    while not list(parts.glob("part-*.parquet")):
        assert first.poll() is None, first.communicate()[0]
        time.sleep(0.05)
    first.kill()
    first.wait()
    project.run("--unlock")
    project.run(target)
    first.communicate()
    frame = GENERATIONS.check(GENERATIONS.read(tmp_path / target))
    assert len(frame) == 800
    assert frame.select("item_id", "sample").n_unique() == 800
    # What the first job had answered was not asked again.
    assert (frame["run"] == 0).sum() >= 256
    assert project.planned(target) == {}
    assert "Nothing to be done" in project.run(target)
    log = (tmp_path / "logs/tiny/generations/tiny-1m/percentages.log").read_text()
    assert "800 of 800 responses to generate" not in log
