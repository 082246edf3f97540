"""Lines on the terminal about jobs: which have finished, and why others failed.

Snakemake itself prints "Finished jobid: 126" and a script's exit status. The handlers of its logger receive more than
it prints (the events of `snakemake_interface_logger_plugins`), and these lines are made from those events. They go
through the same logger: to the terminal and `.snakemake/log`, and nowhere with `--quiet all`.

docs/design/0011 says why this is no logger plugin of Snakemake.
"""

import logging
import os
import re
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

from entropy_sentinel.study.jobs.job_logs import read_cause, record_cause

# A record of Snakemake's logger, with the fields of its kind of event.
_Event = Any

# Events and messages of Snakemake that the lines here replace.
_REPLACED_EVENTS = {"job_started", "job_finished"}
_REPLACED_TEXT = re.compile(r"Select jobs to execute|Trying to restart job|RuleException:\nCalledProcessError in file")
_RESTART = re.compile(r"Trying to restart job ([\w-]+)")
_STATUS = re.compile(r"exit status (\d+)|died with <Signals\.(\w+)")
# How an executor begins what it says of a job that it could not submit.
_SUBMISSION = re.compile(r"sbatch failed|submission failed", re.IGNORECASE)
_END_OF_REASON = re.compile(r"\n\s*sbatch (?:call|script):|For further error details see the cluster/cloud")
# Resources of a refused job that are shown, and as what.
_REQUESTED = {
    **{name: name for name in ("slurm_account", "slurm_partition", "constraint", "gpu", "gpus", "gres")},
    **{"_cores": "cpus", "mem_mb": "mem_mb", "runtime": "runtime"},
}
_SIGNALS = {
    "SIGKILL": "killed (SIGKILL), as the kernel does when memory runs out",
    "SIGSEGV": "a C library crashed (SIGSEGV)",
}
# Rules whose jobs take long enough to report their start.
_LONG_RULES = {"generation", "label_served"}


def show_jobs(workflow: Any) -> "JobLines":
    """Let Snakemake's logger show the jobs of `workflow` by name, with the time or the cause of the failure."""
    logger = logging.getLogger("snakemake.logging")
    for handler in logger.handlers:
        is_terminal = isinstance(handler, logging.StreamHandler) and not isinstance(handler, logging.FileHandler)
        if is_terminal:
            handler.addFilter(lambda record: not _is_replaced(record))
    lines = JobLines(workflow, logger)
    logger.addHandler(lines)
    return lines


@dataclass(frozen=True)
class _GroupFailure:
    """What an executor says of a group that failed."""

    message: str | None
    is_submitted: bool
    requested: Mapping[str, Any]


# By group id, from the failure until its event, which follows at once.
_GROUP_FAILURES: dict[str, _GroupFailure] = {}


def record_failures_of_groups(group_job: Any) -> None:
    """Let Snakemake's class `GroupJob` record what the executor says of a failed group.

    Snakemake logs it for a single job, and drops it for a group.
    """
    log_error = group_job.log_error
    if hasattr(log_error, "__wrapped__"):  # it is replaced already
        return

    @wraps(log_error)
    def record_and_log_error(self: Any, msg: str | None = None, aux_logs: Any = None, **kwargs: Any) -> None:
        # A job that a cluster has accepted has the cluster's id.
        failure = _GroupFailure(msg, is_submitted="external_jobid" in kwargs, requested=dict(self.resources.items()))
        _GROUP_FAILURES[self.groupid] = failure
        log_error(self, msg, aux_logs, **kwargs)

    group_job.log_error = record_and_log_error


@dataclass
class _Job:
    """A job that Snakemake has begun or submitted."""

    rule: str
    wildcards: dict[str, str]
    logs: dict[str, tuple[int, int] | None]  # by path, what the file was before the job
    requested: Mapping[str, Any] = field(default_factory=dict)  # resources
    start: float = field(default_factory=time.monotonic)

    @property
    def name(self) -> str:
        return f"{self.rule} {', '.join(self.wildcards.values())}".rstrip()

    def list_written_logs(self) -> list[str]:
        """The logs that this job has written to, without logs left by an earlier job."""
        return [path for path, stamp in self.logs.items() if _read_stamp(path) not in (None, stamp)]


class JobLines(logging.Handler):
    """Turns events of Snakemake into lines; `failures` keeps, by name, jobs that failed and did not recover."""

    def __init__(self, workflow: Any, logger: logging.Logger) -> None:
        super().__init__()
        self.failures: dict[str, str] = {}
        self._workflow, self._logger = workflow, logger
        self._jobs: dict[int, _Job] = {}
        self._failed_group = ""
        self._exceptions: dict[int | None, str] = {}  # by thread: the error comes before the job that it belongs to
        self._actions = {
            "job_info": self._begin,
            "job_finished": self._finish,
            "error": self._keep_exception,
            "job_error": self._fail,
            "group_error": self._fail_group,
            None: self._restart,  # a message without an event
        }

    def emit(self, record: logging.LogRecord) -> None:
        """Print the lines for an event; an error in here must not stop the run."""
        action = self._actions.get(getattr(record, "event", None))
        try:
            if action and not self._workflow.dryrun:
                action(record)
        except Exception:
            self.handleError(record)

    def show_failures_again(self) -> None:
        """Repeat the failures of a run at its end."""
        if self.failures:
            self._logger.error("\n".join([f"{len(self.failures)} failed:", *self.failures.values()]))

    def _begin(self, record: _Event) -> None:
        """Remember a job that begins, and announce it if its rule takes long."""
        logs = {path: _read_stamp(path) for path in record.log}
        resources = dict(getattr(record, "resources", {}).items())
        job = _Job(record.rule_name, dict(record.wildcards.items()), logs, requested=resources)
        self._jobs[record.jobid] = job
        if job.rule in _LONG_RULES and self._workflow.is_main_process:
            self._logger.info(f"{job.name}: begins; log: {', '.join(logs)}")

    def _finish(self, record: _Event) -> None:
        """Print that a job has finished, and forget its earlier failure."""
        job = self._jobs.pop(record.job_id, None)
        if job is None or not job.logs or not self._workflow.is_main_process:
            return  # a target such as `all` has no log and does nothing
        self.failures.pop(job.name, None)
        self._logger.info(f"{job.name}: finished after {time.monotonic() - job.start:.0f} s")

    def _keep_exception(self, record: _Event) -> None:
        """Keep the text of an error until the event of the job that failed with it."""
        self._exceptions[record.thread] = record.getMessage()

    def _fail(self, record: _Event) -> None:
        """Show the cause of a failed job: from its log, or a cluster's refusal, or Snakemake's message, or its exit."""
        exception = self._exceptions.pop(record.thread, "")
        if record.indent:  # belongs to a group, which was shown before
            return
        job = self._jobs.get(record.jobid) or _Job(record.rule_name, {}, {})
        logs = job.list_written_logs()
        causes = list(filter(None, map(read_cause, logs)))
        if causes:
            cause = causes[0]
        elif refusal := describe_refusal(
            record.rule_msg, job.requested, is_submitted="external_jobid" in getattr(record, "aux", {})
        ):
            cause = refusal
        elif record.rule_msg:
            cause = _join_lines(record.rule_msg)
        else:
            cause = _describe_exit(exception, bool(logs))
            if logs:  # the first process to see it, on a cluster the node, records it
                record_cause(logs[0], cause)
        self._show_failure(job.name, cause, record.log)

    def _fail_group(self, record: _Event) -> None:
        """Report the jobs of the group that name a cause; if none does, report the group."""
        self._failed_group = f"group {record.groupid}"
        has_cause = False
        for info in record.job_error_info:
            job = self._jobs.get(info["jobid"])
            for path in job.list_written_logs() if job else ():
                cause = read_cause(path)
                if job and cause:
                    self._show_failure(job.name, cause, [path])
                    has_cause = True
        if not has_cause:
            failure = _GROUP_FAILURES.pop(record.groupid, None)
            cause = None
            if failure:
                cause = describe_refusal(failure.message, failure.requested, failure.is_submitted)
            failure_text = f"failed as a whole ({len(record.job_error_info)} jobs)"
            failure_text += f": {cause}" if cause else ", and no log states a cause"
            self._show_failure(f"group {record.groupid}", failure_text, record.aux_logs)

    def _show_failure(self, name: str, cause: str, logs: Sequence[str]) -> None:
        """Print the failure of a job or group, and keep it for the end of the run."""
        line = f"FAILED {name}: {cause}" + (f"; log: {', '.join(logs)}" if logs else "")
        self.failures[name] = line
        self._logger.error(line)

    def _restart(self, record: _Event) -> None:
        """Announce a job that runs again; Snakemake says so in a plain message, without an event."""
        restart = _RESTART.match(str(record.msg))
        if restart is not None:
            # A group has an id that nothing else names; its failure has just been shown.
            job = self._jobs.get(int(restart[1])) if restart[1].isdecimal() else None
            self._logger.info(f"{job.name if job else self._failed_group}: runs again")


def _is_replaced(record: _Event) -> bool:
    return getattr(record, "event", None) in _REPLACED_EVENTS or bool(_REPLACED_TEXT.match(str(record.msg)))


def _read_stamp(path: str) -> tuple[int, int] | None:
    """A file's time of change, ns, and size, which show whether it is written again; None without it."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def describe_refusal(message: str | None, requested: Mapping[str, Any], is_submitted: bool) -> str | None:
    """Why a cluster refused a job, what it was asked for, and what to do; None for other failures.

    `message` is what Snakemake's executor says, `requested` are the job's resources. A job that `is_submitted` was
    accepted, so it failed for another reason.
    """
    if not message or is_submitted or not _SUBMISSION.search(message):
        return None
    # The executor's call of its command, a page of text, follows the reason.
    reason = _join_lines(_END_OF_REASON.split(message, maxsplit=1)[0])
    resources = ", ".join(f"{name}={requested[key]}" for key, name in _REQUESTED.items() if requested.get(key))
    request = f" It was asked for {resources}." if resources else ""
    return (
        f"the cluster refused the job: {reason}{request} Change set-resources, default-resources or group-components "
        "in the profile to what one node of the partition has; on Slurm, `sinfo -o '%P %l %c %m %G'` lists partition, "
        "time, CPUs, memory (MB) and GPUs"
    )


def _describe_exit(exception: str, has_log: bool) -> str:
    """The cause that the exit status shows, for a job that could not report it."""
    match = _STATUS.search(exception)
    if match is None:
        return _join_lines(exception) or "no cause is known"
    number, name = int(match[1] or 0), match[2]
    if number - 128 in signal.valid_signals():
        name = signal.Signals(number - 128).name
    if name:
        return _SIGNALS.get(name, f"killed ({name})")
    where = "its log does not state a cause" if has_log else "before its log began; see its output above"
    return f"exit status {number}, {where}"


def _join_lines(text: str) -> str:
    return " ".join(text.split())
