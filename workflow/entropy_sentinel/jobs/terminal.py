"""Lines on the terminal about jobs: what each has done, as a share of the work, or why it failed.

Snakemake itself prints "Finished jobid: 126", "34 of 124 steps" and a script's exit status. The handlers of its logger
receive more than it prints (the events of `snakemake_interface_logger_plugins`), and these lines are made from those
events. They go through the same logger: to the terminal and `.snakemake/log`, and nowhere with `--quiet all`.
"""

import logging
import os
import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from entropy_sentinel.config.layout import StudyLayout
from entropy_sentinel.config.sections import Config
from entropy_sentinel.frames.errors import DamagedFileError
from entropy_sentinel.jobs.logs import note_cause, read_cause

# A record of Snakemake's logger, with the fields of its kind of event.
_Event = Any

Amount = tuple[int, str]  # how much work, and of what: 200, "responses"

# Events and messages of Snakemake that the lines here replace.
_REPLACED = {"job_started", "job_finished", "progress"}
_REPLACED_TEXT = re.compile(r"Select jobs to execute|Trying to restart job|RuleException:\nCalledProcessError in file")
_RESTART = re.compile(r"Trying to restart job ([\w-]+)")
_STATUS = re.compile(r"exit status (\d+)|died with <Signals\.(\w+)")
_SIGNALS = {
    "SIGKILL": "killed (SIGKILL), as the kernel does when memory runs out",
    "SIGSEGV": "a C library crashed (SIGSEGV)",
}
# Rules that one loop makes are numbered, `estimate_0` and so on: their work is counted together.
_NUMBER = re.compile(r"_\d+$")
# Rules whose jobs take long enough to report their start.
_LONG = {"generation", "label_served"}


def show_jobs(workflow: Any, amount: Callable[[str, Mapping[str, str]], Amount | None]) -> "JobLines":
    """Let Snakemake's logger show the jobs of `workflow` by name, share of the work and cause of death.

    `amount` returns a job's amount of work from its rule and wildcards, or None if it is not counted. It is called
    after all jobs of the rule `benchmark` have ended.
    """
    logger = logging.getLogger("snakemake.logging")
    for handler in logger.handlers:
        if handler.name == "DefaultStreamHandler":
            handler.addFilter(lambda record: not _is_replaced(record))
    lines = JobLines(workflow, amount, logger)
    logger.addHandler(lines)
    return lines


@dataclass
class _Job:
    """A job that Snakemake has begun or submitted."""

    rule: str
    wildcards: dict[str, str]
    logs: dict[str, tuple[int, int] | None]  # by path, what the file was before the job
    start: float = field(default_factory=time.monotonic)

    @property
    def name(self) -> str:
        return " ".join(filter(None, [self.rule, ", ".join(self.wildcards.values())]))

    @property
    def stage(self) -> str:
        return _stage(self.rule)

    def written_logs(self) -> list[str]:
        """Return the logs that this job has written to, without logs left by an earlier job."""
        return [path for path, before in self.logs.items() if _stamp(path) not in (None, before)]


class JobLines(logging.Handler):
    """Turns events of Snakemake into lines; `failures` keeps, by name, jobs that failed and did not recover."""

    def __init__(
        self, workflow: Any, amount: Callable[[str, Mapping[str, str]], Amount | None], logger: logging.Logger
    ) -> None:
        super().__init__()
        self.failures: dict[str, str] = {}
        self._workflow, self._amount, self._logger = workflow, amount, logger
        self._jobs: dict[int, _Job] = {}
        self._failed_group = ""
        self._done: Counter[str] = Counter()
        self._totals: dict[str, int] = {}
        self._exceptions: dict[int | None, str] = {}  # by thread: the error comes before the job that it belongs to
        self._actions = {
            "job_info": self._begin,
            "job_finished": self._finish,
            "error": self._keep_exception,
            "job_error": self._fail,
            "group_error": self._fail_group,
            None: self._restart,
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
        logs = {path: _stamp(path) for path in record.log}
        job = self._jobs[record.jobid] = _Job(record.rule_name, dict(record.wildcards.items()), logs)
        if job.rule in _LONG and self._workflow.is_main_process:
            self._logger.info(f"{job.name}: begins; log: {', '.join(logs)}")

    def _finish(self, record: _Event) -> None:
        job = self._jobs.pop(record.job_id, None)
        if job is None or not job.logs or not self._workflow.is_main_process:
            return  # a target such as `all` has no log and does nothing
        self.failures.pop(job.name, None)
        line = f"{job.name}: "
        amount = self._amount(job.rule, job.wildcards)
        if amount:
            self._done[job.stage] += amount[0]
            line += f"{amount[0]:,} {amount[1]} "
        line += f"after {time.monotonic() - job.start:.0f} s"
        if amount and (total := self._total(job.stage)):
            line += f" ({self._done[job.stage] / total:.0%} of {total:,} {amount[1]})"
        self._logger.info(line)

    def _total(self, stage: str) -> int | None:
        """Return the work of all jobs of a stage in this run; None until the benchmarks are made."""
        if stage not in self._totals:
            planned = list(self._workflow.dag.needrun_jobs(exclude_finished=False))
            if any(job.rule.name == "benchmark" for job in self._workflow.dag.needrun_jobs()):
                return None
            names = [(job.rule.name, job.wildcards_dict) for job in planned]
            amounts = [self._amount(name, wildcards) for name, wildcards in names if _stage(name) == stage]
            self._totals[stage] = sum(amount[0] for amount in amounts if amount)
        return self._totals[stage]

    def _keep_exception(self, record: _Event) -> None:
        self._exceptions[record.thread] = record.getMessage()

    def _fail(self, record: _Event) -> None:
        exception = self._exceptions.pop(record.thread, "")
        if record.indent:  # belongs to a group, which was shown before
            return
        job = self._jobs.get(record.jobid) or _Job(record.rule_name, {}, {})
        written = job.written_logs()
        cause = next(filter(None, map(read_cause, written)), None)
        if cause is None:
            cause = " ".join((record.rule_msg or _exit_cause(exception, bool(written))).split())
            if not record.rule_msg and written:  # the first process to see it, on a cluster the node, records it
                note_cause(written[0], cause)
        self._show_failure(job.name, cause, record.log)

    def _fail_group(self, record: _Event) -> None:
        """Report the jobs of the group that name a cause; if none does, report the group."""
        self._failed_group = f"group {record.groupid}"
        jobs = [self._jobs[info["jobid"]] for info in record.job_error_info if info["jobid"] in self._jobs]
        causes = [(job, path, cause) for job in jobs for path in job.written_logs() if (cause := read_cause(path))]
        for job, path, cause in causes:
            self._show_failure(job.name, cause, [path])
        if not causes:
            what = f"failed as a whole ({len(record.job_error_info)} jobs), and no log states a cause"
            self._show_failure(f"group {record.groupid}", what, record.aux_logs)

    def _show_failure(self, name: str, cause: str, logs: Sequence[str]) -> None:
        line = f"FAILED {name}: {cause}" + (f"; log: {', '.join(logs)}" if logs else "")
        self.failures[name] = line
        self._logger.error(line)

    def _restart(self, record: _Event) -> None:
        if restart := _RESTART.match(str(record.msg)):
            # A group has an id that nothing else names; its failure has just been shown.
            job = self._jobs.get(int(restart[1])) if restart[1].isdecimal() else None
            self._logger.info(f"{job.name if job else self._failed_group}: runs again")


def _stage(rule: str) -> str:
    return _NUMBER.sub("", rule)


def _is_replaced(record: _Event) -> bool:
    return getattr(record, "event", None) in _REPLACED or bool(_REPLACED_TEXT.match(str(record.msg)))


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _exit_cause(exception: str, has_log: bool) -> str:
    """Return the cause that the exit status shows, for a job that could not report it."""
    match = _STATUS.search(exception)
    if match is None:
        return " ".join(exception.split()) or "no cause is known"
    number = int(match[1] or 0)
    if match[2] or number - 128 in signal.valid_signals():
        name = match[2] or signal.Signals(number - 128).name
        return _SIGNALS.get(name, f"killed ({name})")
    where = "its log does not state a cause" if has_log else "before its log began; see its output above"
    return f"exit status {number}, {where}"


_RESPONSES = ("generation", "label", "feature")


class Work:
    """Amounts by rule and wildcards, once the items of the study's benchmarks are there."""

    def __init__(
        self, config: Config, groups: Mapping[str, Sequence[str]], batches: Mapping[str, Sequence[str]]
    ) -> None:
        """Take `groups`, the estimators of every training group by the name of its files.

        `batches` is `config.estimates.estimate_batches`: the groups of a job, by its rule.
        """
        self._batches = batches
        self._items, self._samples = StudyLayout(config.study).items, config.samples_of
        self._benchmarks, self._groups = config.run.benchmarks, groups

    def __call__(self, rule: str, wildcards: Mapping[str, str]) -> Amount | None:
        """Return the items, responses or estimates of one job; None if they are not counted or cannot be."""
        if groups := self._batches.get(rule):
            estimators = sum(len(self._groups[group.format(**wildcards)]) for group in groups)
            return estimators * len(self._benchmarks), "estimates"
        if rule == "benchmark":
            return self._of_items([wildcards["benchmark"]], 1, "items")
        if rule in _RESPONSES or rule.startswith("pass_"):
            return self._of_items([wildcards["benchmark"]], self._samples(wildcards["model"]), "responses")
        if rule == "label_served":
            return self._of_items(self._benchmarks, self._samples(wildcards["model"]), "responses")
        return None

    def _of_items(self, benchmarks: Sequence[str], times: int, unit: str) -> Amount | None:
        from entropy_sentinel.frames.contract import count_rows  # brings polars, which planning does not need

        try:
            items = sum(count_rows(self._items.format(benchmark=benchmark)) for benchmark in benchmarks)
        except DamagedFileError:
            return None
        return items * times, unit
