"""All checks of a study before its first job."""

from collections.abc import Iterator
from itertools import chain

from entropy_sentinel.study.planning.preflight.hub_access import find_missing_access
from entropy_sentinel.study.planning.preflight.machine_resources import (
    Executor,
    find_broken_accounting,
    find_full_disk,
    find_missing_gpus,
)
from entropy_sentinel.study.planning.preflight.pending_work import PendingWork
from entropy_sentinel.study.planning.preflight.preflight_problem import Problem, Severity
from entropy_sentinel.study.planning.preflight.row_counts import find_small_groups
from entropy_sentinel.study.planning.preflight.server_keys import find_missing_keys


def find_problems(work: PendingWork, executor: Executor, status_command: str | None = None) -> list[Problem]:
    """The problems of a run that does this work with this executor, errors first.

    `status_command` is what a run on Slurm asks, `sacct` or `squeue`; None if that is not known.
    """
    found: Iterator[Problem] = chain(
        find_missing_keys(work),
        find_missing_access(work),
        find_missing_gpus(work, executor),
        find_broken_accounting(executor, status_command),
        find_full_disk(work),
        find_small_groups(work.config),
    )
    return sorted(found, key=lambda problem: problem.severity is not Severity.ERROR)
