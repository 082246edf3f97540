"""What the machine or cluster has: disk space, GPUs, and on Slurm an accounting that tells when jobs end."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

from entropy_sentinel.study.config.generation_requests import count_gpus
from entropy_sentinel.study.engines.cpu_settings import is_cpu_build
from entropy_sentinel.study.engines.generation_section import PARALLEL_SIZES
from entropy_sentinel.study.engines.gpu_devices import list_visible_devices
from entropy_sentinel.study.planning.file_plan import plan_files
from entropy_sentinel.study.planning.forecast import Cost, forecast_costs
from entropy_sentinel.study.planning.judge_cost import plan_judging
from entropy_sentinel.study.planning.pass_cost import plan_passes
from entropy_sentinel.study.planning.preflight.pending_work import PendingWork
from entropy_sentinel.study.planning.preflight.preflight_problem import Problem, ProblemCode, Severity
from entropy_sentinel.study.planning.response_cost import Outlook


class Executor(StrEnum):
    """Where the jobs of a run are executed."""

    LOCAL = "local"
    SLURM = "slurm"
    OTHER = "other"  # another cluster, of which nothing is known here


# Seconds for an answer of Slurm: of `sinfo`, and of `sacct`, which asks a database.
_PATIENCE_S, _ACCOUNTING_PATIENCE_S = 10, 20


def find_full_disk(work: PendingWork) -> Iterator[Problem]:
    """Yield a problem if the disk of the results has less space than the traces that `plan` forecasts."""
    if not work.models:
        return
    config = work.config
    outlook = Outlook(config, plan_files(config))
    costs = forecast_costs(outlook, plan_judging(outlook), plan_passes(outlook))
    needed_gb = sum(costs.values(), Cost()).disk_gb
    folder = Path(config.layout.results).absolute()
    while not folder.exists():
        folder = folder.parent
    free_gb = shutil.disk_usage(folder).free / 1e9
    if free_gb < needed_gb:
        yield Problem(
            ProblemCode.DISK_SPACE,
            Severity.WARNING,
            "",
            f"{folder} has {free_gb:,.1f} GB of free space, and the traces will take about {needed_gb:,.1f} GB",
            "Make room, or run in a folder on a larger disk; weights of the hub (HF_HOME) come on top.",
        )


def find_missing_gpus(work: PendingWork, executor: Executor) -> Iterator[Problem]:
    """Yield a problem for each model that needs more GPUs than this machine, or the largest node of Slurm, has."""
    needed = {model: count_gpus(work.config, model) for model in work.models}
    if executor is Executor.OTHER or not any(needed.values()):
        return
    on_slurm = executor is Executor.SLURM
    available = read_slurm_gpus() if on_slurm else _count_local_gpus()
    if available is None:
        return
    place = "the largest node of the cluster" if on_slurm else "this machine"
    for model, count in needed.items():
        if count > available:
            yield Problem(
                ProblemCode.TOO_FEW_GPUS,
                # `sinfo` may not list all GPUs, and other GPUs than NVIDIA's are not seen here.
                Severity.WARNING if on_slurm or not available else Severity.ERROR,
                f"models.{model}",
                f"needs {count} GPUs ({', '.join(PARALLEL_SIZES)}), and {place} has {available}",
                "Set smaller sizes in its engine_args, or run where there are more GPUs.",
            )


def _count_local_gpus() -> int | None:
    """The number of visible GPUs; None if the engine runs on CPUs."""
    return None if is_cpu_build() else len(list_visible_devices(os.environ) or [])


def read_slurm_gpus() -> int | None:
    """The GPUs of the node of Slurm that has most; None if `sinfo` does not say."""
    if not shutil.which("sinfo"):
        return None
    try:
        command = ["sinfo", "--noheader", "--format=%G"]
        listing = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_S, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return parse_gpu_counts(listing)


def parse_gpu_counts(listing: str) -> int | None:
    """The largest number of GPUs in lines such as `gpu:a100:4(S:0-1),shard:8`; None without any GPU."""
    counts = []
    for line in re.sub(r"\([^)]*\)", "", listing).splitlines():
        resources = [resource.split(":") for resource in line.split(",")]
        numbers = [parts[-1] for parts in resources if parts[0] == "gpu"]
        counts.append(sum(int(number) for number in numbers if number.isdecimal()))
    return max(counts, default=0) or None


def find_broken_accounting(executor: Executor, status_command: str | None = None) -> Iterator[Problem]:
    """Yield a problem if Snakemake would never see a job end.

    The plugin for Slurm asks `sacct` wherever that is installed. On a cluster without accounting it fails each time,
    and the run waits for jobs that are long over.

    Args:
        executor: Where the jobs are executed.
        status_command: What the run asks, `sacct` or `squeue`; None if that is not known.
    """
    asks_sacct = executor is Executor.SLURM and status_command in (None, "sacct")
    if not asks_sacct or shutil.which("sacct") is None:
        return
    try:
        reply = subprocess.run(
            ["sacct", "--noheader", "--starttime=now"], capture_output=True, text=True, timeout=_ACCOUNTING_PATIENCE_S
        )
    except subprocess.TimeoutExpired:
        reason = f"no answer within {_ACCOUNTING_PATIENCE_S} s"
    else:
        if reply.returncode == 0:
            return
        reason = " ".join(reply.stderr.split()) or f"exit status {reply.returncode}"
    yield Problem(
        ProblemCode.NO_ACCOUNTING,
        Severity.WARNING if status_command is None else Severity.ERROR,
        "",
        f"sacct does not work on this machine ({reason}), so a run would never see its jobs end",
        "Set `slurm-status-command: squeue` in profiles/slurm/config.v9+.yaml, if Slurm's MinJobAge is at least 120 s "
        "(`scontrol show config | grep MinJobAge`).",
    )
