"""A job's log file, and its line that names the cause of the job's failure."""

import faulthandler
import logging
import os
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from entropy_sentinel.core.errors import EntropySentinelError
from entropy_sentinel.study.jobs.package_versions import check_versions

# Begins the line of the cause, which the workflow shows on the terminal (study/jobs/job_terminal.py).
_CAUSE_PREFIX = "FAILED: "
# Longer messages are truncated on that line; the traceback above it has the full message.
_MAX_CHARACTERS = 1000
# How much of a log's end is searched for the cause.
_TAIL_BYTES = 100_000


class _TerminalHandler(logging.Handler):
    """Shows records with `core.file_locks.WAITING` on the terminal, beside the log."""

    def __init__(self, terminal: int) -> None:
        super().__init__()
        self._terminal = terminal

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "terminal", False):
            os.write(self._terminal, f"{record.getMessage()}\n".encode(errors="replace"))


@contextmanager
def job_log(path: str, inputs: Iterable[str] = ()) -> Iterator[None]:
    """Send everything that the job prints, its children and C libraries included, to the file `path`.

    Call `check_versions` and `check_inputs` before the job begins. If anything ends the job early, including a library
    that exits, the log gets a traceback and a line with the cause, and the exit status is 1. An error that a user can
    act on has no traceback.
    """
    terminal = os.dup(2)
    with open(path, "w", buffering=1) as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    faulthandler.enable()  # if a C library crashes, the log shows the calling line
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger().addHandler(_TerminalHandler(terminal))
    try:
        check_versions()
        if inputs:
            # Imported here, because the import may fail, too.
            from entropy_sentinel.study.jobs.job_inputs import check_inputs

            check_inputs(inputs)
        yield
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException as error:
        try:
            if not isinstance(error, EntropySentinelError):
                traceback.print_exc()
            sys.stdout.flush()
            record_cause(path, describe_error(error))
        except OSError:  # the disk is full
            os.write(terminal, f"{path}: {_CAUSE_PREFIX}{describe_error(error)}\n".encode(errors="replace"))
        sys.exit(1)


def describe_error(error: BaseException) -> str:
    """Describe an error in one line: its type and message."""
    text = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]} ..."


def record_cause(path: str | Path, cause: str) -> None:
    """Add the cause of a job's failure to its log."""
    with open(path, "a", encoding="utf-8", errors="replace") as log:
        log.write(f"{_CAUSE_PREFIX}{cause}\n")


def read_cause(path: str | Path) -> str | None:
    """Read the cause at the end of a job's log; None if the log names no cause or does not exist."""
    try:
        with open(path, "rb") as log:
            log.seek(-min(_TAIL_BYTES, os.fstat(log.fileno()).st_size), os.SEEK_END)
            lines = log.read().decode(errors="replace").splitlines()
    except OSError:
        return None
    for line in reversed(lines):
        if line.startswith(_CAUSE_PREFIX):
            return line.removeprefix(_CAUSE_PREFIX)
    return None
