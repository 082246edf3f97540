"""Whether a run on Slurm can learn that its jobs have ended."""

import shutil
import subprocess
from collections.abc import Iterator

from entropy_sentinel.study.planning.preflight.machine_resources import Executor
from entropy_sentinel.study.planning.preflight.preflight_problem import Problem, ProblemCode, Severity

# Seconds for an answer of Slurm.
_PATIENCE_S = 20


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
            ["sacct", "--noheader", "--starttime=now"], capture_output=True, text=True, timeout=_PATIENCE_S
        )
    except subprocess.TimeoutExpired:
        reason = f"no answer within {_PATIENCE_S} s"
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
