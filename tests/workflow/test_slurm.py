"""`snakemake --profile slurm` on a real Slurm of one machine: a cut-down demo with a killed and a preempted job.

Its engines need no model: tests/workflow/test_workflow.py runs the demo on vLLM.
"""

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest
import yaml
from forked_snakemake import ForkedSnakemake
from slurm.cluster import cluster, impatient, obstacle, queue, run, wait_for
from workflow_runs import Project

STUDY = "slurm-test"
# Lines of the profile that a user takes out of their comments; the cluster has all that they name.
SETTINGS = ("slurm_partition: gpu", "constraint: internet", "slurm-status-command: squeue")
# The groups of the profile before it was edited.
BY_DEFAULT = ["--group-components", "generation_{model}=10", "estimate_{model}=32"]
GENERATE = "rule_generation_tiny-1m_generation"  # the plugin's comment on such a job
SECRET = "token-that-no-log-may-show"
TIMEOUT_S = 900  # a bound for a busy machine
# All that differs between a cluster and one machine comes before: analyses are jobs like the others.
TARGET = "estimates"
WITHOUT_MODEL = Path(__file__).parents[1] / "shared" / "engine_without_model"

reason = obstacle()
if not reason and not find_spec("snakemake_executor_plugin_slurm"):
    reason = "Snakemake has no plugin for Slurm: pip install --no-deps --require-hashes -r envs/slurm.txt"
pytestmark = [pytest.mark.long(minutes=3), pytest.mark.skipif(reason is not None, reason=reason or "")]


class Run(NamedTuple):
    """A run that is over, and what was seen of its two generate jobs under way, by Slurm's job id."""

    returncode: int
    output: str
    killed: str
    benchmark: str  # of the killed one
    preempted: str
    environments: dict[str, dict[str, str]]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A copy of the project, its profile edited as a user would, beside a running cluster."""
    configs = ["demo/config.yaml", "tests/workflow/slurm/demo.yaml"]
    project = Project(tmp_path_factory.mktemp("project"), configs, profile="slurm")
    project.prepare = impatient
    # Each benchmark in a job of its own, so that one can be killed beside the other.
    project.edit("profiles/slurm/config.v9+.yaml", "generation_{model}=10", "generation_{model}=1")
    for setting in SETTINGS:
        project.edit("profiles/slurm/config.v9+.yaml", f"# {setting}", setting)
    with cluster(), pytest.MonkeyPatch.context() as shell:
        shell.setenv("PYTHONPATH", f"{WITHOUT_MODEL}:{project.folder / 'workflow'}")
        shell.setenv("HF_TOKEN", SECRET)
        shell.setenv("ENGINE_WITHOUT_MODEL_HELD", str(held(project)))
        yield project


@pytest.fixture(scope="module")
def finished(project: Project) -> Run:
    """A run up to the estimates in which one generate job is killed, and one preempted."""
    held(project).touch()
    with started(project, TARGET) as process:
        wait_for(lambda: alive(process) and len(under_way(project)) == 2, "two generate jobs", TIMEOUT_S)
        killed, preempted = under_way(project)
        benchmark = benchmark_of(killed)
        environments = {job: environment(job) for job in (killed, preempted)}
        for pid in pids(killed):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        run("scontrol", "requeue", preempted)
        held(project).unlink()
        output, _ = process.communicate(timeout=TIMEOUT_S)
    return Run(process.returncode, output, killed, benchmark, preempted, environments)


def test_run_recovers_from_a_killed_and_a_preempted_job(project, finished):
    assert finished.returncode == 0, finished.output
    assert finished.output.count(": runs again") == 1
    assert "Restarts=1" in details(finished.preempted)


def test_every_generate_job_has_a_gpu_of_its_own(finished):
    devices = {environment["CUDA_VISIBLE_DEVICES"] for environment in finished.environments.values()}
    assert devices == {"0", "1"}


def test_settings_of_the_profile_reach_slurm(finished):
    killed = details(finished.killed)
    assert "Partition=gpu" in killed
    assert "TresPerJob=gres:gpu:1" in killed
    assert "MinMemoryNode=16000M" in killed
    (retried,) = submissions("rule_generation") - {finished.killed, finished.preempted}
    assert "MinMemoryNode=32000M" in details(retried)
    assert all("Features=internet" in details(job) for job in submissions("rule_label"))


def test_estimates_travel_in_one_submission(project, finished):
    assert len(list((project.folder / f"results/{STUDY}/estimates").rglob("*.parquet"))) == 3
    (group,) = submissions("rule_estimate")
    assert "NumCPUs=3" in details(group)


def test_logs_are_found_by_model_and_benchmark_or_group(project, finished):
    assert (project.folder / f"logs/{STUDY}/estimates/math-verify/tiny-1m/averages+counting-on.log").exists()
    assert (project.folder / f"logs/{STUDY}/generations/tiny-1m/{finished.benchmark}.log").exists()
    assert (project.folder / f"logs/slurm/group_generation_tiny-1m_generation/{finished.killed}.log").exists()


def test_jobs_see_the_secrets_of_the_shell_and_no_log_does(project, finished):
    assert {environment["HF_TOKEN"] for environment in finished.environments.values()} == {SECRET}
    logs = [finished.output, *(path.read_text() for path in (project.folder / "logs").rglob("*.log"))]
    assert not any(SECRET in text for text in logs)


def test_second_run_has_nothing_to_do(project, finished):
    assert "Nothing to be done" in project.run(TARGET)


def test_a_group_of_benchmarks_starts_one_engine(project, finished):
    before = submissions("rule_generation")
    project.run("--forcerun", "generation", "--until", "generation", *BY_DEFAULT)
    assert len(submissions("rule_generation") - before) == 1
    logs = "".join(path.read_text() for path in (project.folder / f"logs/{STUDY}/generations/tiny-1m").glob("*.log"))
    assert logs.count("starting an engine") == 1
    assert logs.count("models.tiny-1m: using the engine that an earlier job started") == 1


@pytest.mark.parametrize(("models", "gpus"), [(1, 1), (2, 1), (1, 2), (2, 2)])
def test_a_group_asks_for_what_one_of_its_jobs_uses(project, finished, models, gpus):
    # Two benchmarks a model, one after the other on its engine: twice 120 minutes, and the rest as one job asks.
    shape = {
        "run": {"models": ["tiny-1m", "tiny-3m"][:models]},
        "generation": {"threads": 4, "engine_args": {"tensor_parallel_size": gpus}},
    }
    (project.folder / "shape.yaml").write_text(yaml.safe_dump(shape))
    arguments = ["--verbose", "--forcerun", "generation", "--until", "generation", *BY_DEFAULT]
    before = set(queue("all"))
    held(project).touch()
    with started(project.over("shape.yaml"), *arguments) as process:
        wait_for(lambda: alive(process) and len(set(queue("all")) - before) == models, "the submissions", TIMEOUT_S)
        submitted = [details(job) for job in set(queue("all")) - before]
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=TIMEOUT_S)
    held(project).unlink()
    calls = re.findall(r"sbatch call: (.*)", output)
    assert len(calls) == len(submitted) == models
    for call in calls:
        options = {
            name: re.findall(rf"\s{name}[ =](\d+)", call) for name in ("--gpus", "--mem", "-t", "-c|--cpus-per-task")
        }
        assert options == {"--gpus": [str(gpus)], "--mem": ["16000"], "-t": ["240"], "-c|--cpus-per-task": ["4"]}, call
    for job in submitted:
        assert f"TresPerJob=gres:gpu:{gpus}\n" in job
        assert "NumCPUs=4 " in job
        assert "MinMemoryNode=16000M" in job
        assert "TimeLimit=04:00:00" in job


def test_a_refused_submission_shows_what_slurm_says(project, finished):
    greedy = ["--forcerun", "generation", "--until", "generation", "--set-resources", "generation:gpu=9"]
    with started(project, *greedy, *BY_DEFAULT, "--retries", "0") as process:
        output, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode != 0
    (failed,) = set(re.findall("FAILED group.*", output))
    assert "the cluster refused the job" in failed
    assert "Requested node configuration is not available" in failed
    asked = failed.partition("It was asked for ")[2].partition(". ")[0]
    # The command line replaces the profile's set-resources, so memory and time are the rule's: 240 minutes twice.
    assert asked == "gpu=9, cpus=1, mem_mb=4000, runtime=480", failed
    assert "sinfo" in failed
    assert "sbatch call" not in failed


def test_a_cluster_without_accounting_is_told_before_the_first_job(project, finished):
    before = set(queue("all"))
    unset = project.edit(
        "profiles/slurm/config.v9+.yaml", "slurm-status-command: squeue", "# slurm-status-command: squeue"
    )
    with started(project, "--forcerun", "generation", "--until", "generation") as process:
        output, _ = process.communicate(timeout=TIMEOUT_S)
    unset()
    assert process.returncode != 0
    assert "sacct does not work on this machine" in output
    assert "slurm-status-command: squeue" in output
    assert set(queue("all")) == before, "a job was submitted"


def test_interrupt_empties_the_queue(project, finished):
    # Each job wants both GPUs: one runs, the other waits.
    held(project).touch()
    greedy = ["--forcerun", "generation", "--until", "generation", "--set-resources", "generation:gpu=2"]
    with started(project, *greedy) as process:
        wait_for(lambda: alive(process) and queue("running") and queue("pending"), "a waiting job", TIMEOUT_S)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=TIMEOUT_S)
    assert process.returncode != 0
    wait_for(lambda: not queue(), "an empty queue")


def held(project: Project) -> Path:
    """The file that keeps engines from answering."""
    return project.folder / "held"


@contextmanager
def started(project: Project, *arguments: str) -> Iterator[ForkedSnakemake]:
    """A run on the cluster, killed at the end of the context if it is not over."""
    with project.start(*arguments) as process:
        try:
            yield process
        finally:
            process.kill()


def alive(process: ForkedSnakemake) -> bool:
    assert process.poll() is None, process.stdout.read()
    return True


def under_way(project: Project) -> list[str]:
    """The running generate jobs whose script has opened its log."""
    logs = project.folder / f"logs/{STUDY}/generations/tiny-1m"
    jobs = [job for job, comment in queue("running").items() if GENERATE in comment]
    return [job for job in jobs if (logs / f"{benchmark_of(job)}.log").exists()]


def benchmark_of(job: str) -> str:
    """The benchmark that a running job generates, by the commands of its processes; none before it has begun."""
    commands = "".join(Path(f"/proc/{pid}/cmdline").read_text() for pid in pids(job) if psutil.pid_exists(pid))
    return next(iter(re.findall("benchmark=([a-z-]+)", commands)), "none")


def submissions(rule: str) -> set[str]:
    return {job for job, comment in queue("all").items() if comment.startswith(rule)}


def details(job: str) -> str:
    return run("scontrol", "show", "job", "--details", job)


def pids(job: str) -> list[int]:
    """Processes of a running job, in the order of their start."""
    return sorted(int(line.split()[0]) for line in run("scontrol", "listpids", job).splitlines()[1:])


def environment(job: str) -> dict[str, str]:
    """What the last process of a job found in its environment."""
    lines = Path(f"/proc/{pids(job)[-1]}/environ").read_text().split("\0")
    return dict(line.split("=", 1) for line in lines if line)
