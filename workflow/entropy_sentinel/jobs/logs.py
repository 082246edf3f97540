"""A job's log file, and how its errors are shown."""

import logging
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from entropy_sentinel.frames.errors import EntropySentinelError
from entropy_sentinel.jobs.versions import check_versions

# The terminal, once `job_log` has sent everything else to the log.
_terminal: int | None = None


@contextmanager
def job_log(path: str) -> Iterator[None]:
    """Send everything that the job prints, its children and C libraries included, to the file `path`.

    Before the job begins, `check_versions`. An error that a user can act on is repeated on the terminal as its message
    alone; the log has the traceback of every other error.
    """
    global _terminal
    terminal = _terminal = os.dup(2)
    with open(path, "w", buffering=1) as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    try:
        check_versions()
        yield
    except EntropySentinelError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        os.write(terminal, f"{type(error).__name__}: {error}\n".encode())
        sys.exit(1)
    except Exception:
        traceback.print_exc()
        raise
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def show(log: logging.Logger, message: str) -> None:
    """Say something in the log that the person at the terminal should see, too, and not only when the job is done."""
    log.warning(message)
    if _terminal is not None:
        os.write(_terminal, f"{message}\n".encode(errors="replace"))
