"""What a run of Snakemake says on the terminal of jobs that end and of jobs that die, whatever they die of."""

import logging
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from entropy_sentinel.study.jobs.job_terminal import JobLines, describe_refusal

pytestmark = pytest.mark.slow

WORKFLOW = Path(__file__).parents[3] / "workflow"

SNAKEFILE = """
import sys
sys.path.insert(0, {workflow!r})
from entropy_sentinel.study.jobs.job_terminal import show_jobs

JOB_LINES = show_jobs(workflow)
NAMES = {names!r}

onerror:
    JOB_LINES.show_failures_again()

rule all:
    input: expand("{{name}}.txt", name=NAMES),

rule job:
    output: "{{name}}.txt",
    log: "logs/{{name}}.log",
    script: "job.py"

rule silent:
    output: "early.txt",
    log: "logs/early.log",
    script: "early.py"

ruleorder: silent > job
"""

# The body of the job by the name of its output.
JOB = """
import ctypes, os, signal, sys
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.study.jobs.job_logs import job_log

with job_log(snakemake.log[0]):
    {body}
    open(snakemake.output[0], "w").close()
"""

DEATHS = {
    "raw": ("{}['a']", "KeyError: 'a'"),
    "lines": ("raise ValueError('one\\n\\n  two')", "ValueError: one two"),
    "user": ("raise InputError('row 3 has no answer')", "InputError: row 3 has no answer"),
    "memory": ("raise MemoryError", "MemoryError"),
    "exit": ("sys.exit(0)", "SystemExit: 0"),
    "import": ("import no_such_package", "ModuleNotFoundError: No module named 'no_such_package'"),
    "killed": ("os.kill(os.getpid(), signal.SIGKILL)", "killed (SIGKILL), as the kernel does when memory runs out"),
    "segfault": ("ctypes.string_at(0)", "a C library crashed (SIGSEGV)"),
    "gone": ("os._exit(3)", "exit status 3, "),
}


def run(folder: Path, bodies: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Snakemake on one job per body, as `make demo` runs it."""
    (folder / "Snakefile").write_text(SNAKEFILE.format(workflow=str(WORKFLOW), names=list(bodies)))
    branches = "".join(f"    if snakemake.wildcards.get('name') == {name!r}: {body}\n" for name, body in bodies.items())
    (folder / "job.py").write_text(JOB.replace("    {body}\n", branches))
    (folder / "early.py").write_text("import no_such_package\n")
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--keep-going", "--quiet", "rules", *arguments]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def deaths(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder and the terminal of a run in which one job is well, and every other dies in its way."""
    folder = tmp_path_factory.mktemp("deaths")
    (folder / "logs").mkdir()
    (folder / "logs" / "early.log").write_text("FAILED: of an earlier run\n")
    done = run(folder, {"well": "pass", "early": "pass"} | {name: body for name, (body, _) in DEATHS.items()})
    assert done.returncode == 1
    return folder, done.stderr


@pytest.mark.parametrize("name", DEATHS)
def test_terminal_has_one_line_with_cause_and_log(deaths: tuple[Path, str], name: str) -> None:
    beginning, end = f"FAILED job {name}: {DEATHS[name][1]}", f"; log: logs/{name}.log"
    for part in deaths[1].split("10 failed:\n"):
        assert sum(line.startswith(beginning) and line.endswith(end) for line in part.splitlines()) == 1


@pytest.mark.parametrize("name", DEATHS)
def test_log_ends_with_the_cause(deaths: tuple[Path, str], name: str) -> None:
    log = (deaths[0] / "logs" / f"{name}.log").read_text().splitlines()
    assert log[-1].startswith(f"FAILED: {DEATHS[name][1]}")
    assert ("Traceback (most recent call last):" in log) == (name not in ("user", "killed", "segfault", "gone"))


def test_a_crash_in_c_leaves_the_line_that_called_it(deaths: tuple[Path, str]) -> None:
    assert "Fatal Python error: Segmentation fault" in (deaths[0] / "logs" / "segfault.log").read_text()


def test_a_job_that_dies_before_its_log_is_not_given_an_earlier_cause(deaths: tuple[Path, str]) -> None:
    (line,) = [line for line in deaths[1].split("10 failed:\n")[0].splitlines() if line.startswith("FAILED silent: ")]
    assert ("exit status 1, " in line, "log: logs/early.log" in line, "an earlier run" in line) == (True, True, False)
    assert "ModuleNotFoundError: No module named 'no_such_package'" in deaths[1].split(line)[0]


def test_finished_jobs_are_shown_by_name_and_share_of_the_steps(deaths: tuple[Path, str]) -> None:
    assert re.search(r"^job well: finished after \d+ s$", deaths[1], re.MULTILINE)
    assert re.search(r"^1 of 12 steps \(8%\) done$", deaths[1], re.MULTILINE)
    for noise in ("jobid", "Execute", "CalledProcessError", "non-zero"):
        assert noise not in deaths[1]


def test_retries_are_reported_by_name(tmp_path: Path) -> None:
    once = "os.path.exists('tried') or (open('tried', 'x').close(), {}['a'])"  # fails the first time alone
    done = run(tmp_path, {"flaky": once}, "--retries", "1")
    assert done.returncode == 0, done.stderr
    expected = [line for line in done.stderr.splitlines() if "flaky" in line]
    assert expected[:2] == ["FAILED job flaky: KeyError: 'a'; log: logs/flaky.log", "job flaky: runs again"]
    assert re.fullmatch(r"job flaky: finished after \d+ s", expected[2])
    assert len(expected) == 3
    assert not re.search(r"^all\b.*finished", done.stderr, re.MULTILINE)


def test_quiet_all_says_nothing_but_keeps_the_cause(tmp_path: Path) -> None:
    done = run(tmp_path, {"killed": DEATHS["killed"][0]}, "--quiet", "all")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    assert (tmp_path / "logs" / "killed.log").read_text() == f"FAILED: {DEATHS['killed'][1]}\n"


class Executor:
    """Events as Snakemake's logger gets them from an executor on a cluster."""

    def __init__(self, folder: Path) -> None:
        self.logger = logging.getLogger("snakemake.logging")
        workflow = SimpleNamespace(dryrun=False, is_main_process=True)
        self.lines = JobLines(workflow, self.logger)
        self.folder = folder

    def event(self, event: str, **fields: object) -> None:
        self.lines.handle(logging.makeLogRecord({"event": event, "name": "snakemake.logging", **fields}))

    def begin(self, jobid: int, group: str, log: str = "") -> str:
        path = self.folder / f"{jobid}.log"
        wildcards = {"model": "m", "group": group}
        self.event("job_info", jobid=jobid, rule_name="estimate", wildcards=wildcards, log=[str(path)])
        if log:
            path.write_text(log)
        return str(path)

    def fail(self, jobid: int, message: str | None = None, log: Sequence[str] = (), indent: bool = False) -> None:
        fields = {"rule_name": "estimate", "rule_msg": message, "log": list(log), "indent": indent}
        self.event("job_error", jobid=jobid, **fields)


def test_the_cause_comes_from_slurm_if_the_job_logged_none(tmp_path: Path) -> None:
    slurm = Executor(tmp_path)
    logs = [slurm.begin(1, "a", "INFO: half\n"), "logs/slurm/7.log"]
    slurm.fail(1, "SLURM-job '7' failed.\nOUT_OF_MEMORY", logs)
    assert list(slurm.lines.failures.values()) == [
        f"FAILED estimate m, a: SLURM-job '7' failed. OUT_OF_MEMORY; log: {logs[0]}, logs/slurm/7.log"
    ]
    assert (tmp_path / "1.log").read_text() == "INFO: half\n"


def test_only_the_failed_jobs_of_a_group_are_shown(tmp_path: Path) -> None:
    slurm = Executor(tmp_path)
    well, died = slurm.begin(1, "a", "INFO: done\n"), slurm.begin(2, "b", "FAILED: KeyError: 'a'\n")
    never = slurm.begin(3, "c")
    info = [{"jobid": jobid, "log": [log]} for jobid, log in ((1, well), (2, died), (3, never))]
    slurm.event("group_error", groupid="estimate_m", job_error_info=info, aux_logs=["logs/slurm/8.log"])
    for jobid in (1, 2, 3):
        slurm.fail(jobid, indent=True)
    assert list(slurm.lines.failures.values()) == [f"FAILED estimate m, b: KeyError: 'a'; log: {died}"]
    slurm.event("group_error", groupid="estimate_m", job_error_info=[info[0], info[2]], aux_logs=["logs/slurm/9.log"])
    (line,) = list(slurm.lines.failures.values())[1:]
    assert line.startswith("FAILED group estimate_m: ")
    assert ("2 jobs" in line, line.endswith("; log: logs/slurm/9.log")) == (True, True)


def test_a_job_that_recovered_is_not_shown_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    slurm = Executor(tmp_path)
    for jobid, group in ((1, "a"), (2, "b")):
        slurm.begin(jobid, group, "FAILED: MemoryError\n")
        slurm.fail(jobid)
    slurm.begin(2, "b")
    slurm.event("job_finished", job_id=2)
    with caplog.at_level("ERROR", logger="snakemake.logging"):
        slurm.lines.show_failures_again()
    assert caplog.messages[-1] == "1 failed:\nFAILED estimate m, a: MemoryError"


def test_a_refused_job_says_why_what_was_asked_and_what_to_do() -> None:
    message = (
        "SLURM sbatch failed. The error message was 'sbatch: error: Requested node configuration is not available'.\n"
        "    sbatch call:\n        sbatch --mem 1 a page of text\nFor further error details see the cluster/cloud log"
    )
    requested = {"gpu": 4, "_cores": 8, "mem_mb": 32000, "runtime": 240, "slurm_partition": "", "disk_mb": 1000}
    refusal = describe_refusal(message, requested, is_submitted=False)
    assert refusal is not None
    assert "Requested node configuration is not available" in refusal
    assert "a page of text" not in refusal
    assert "gpu=4, cpus=8, mem_mb=32000, runtime=240." in refusal
    assert "set-resources" in refusal
    # What happened to a job that the cluster took is another failure.
    assert describe_refusal(message, requested, is_submitted=True) is None
    assert describe_refusal("SLURM-job '7' failed", requested, is_submitted=False) is None
