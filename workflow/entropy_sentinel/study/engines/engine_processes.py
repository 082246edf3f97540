"""The processes of an engine: the one that leads its session, and those that vLLM starts."""

import json
import logging
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from entropy_sentinel.study.engines.engine_run import SAME_S

log = logging.getLogger(__name__)

PROCESS = "process.json"
# Longest wait for a killed process to end, in seconds.
KILL_S = 30.0
# Linux has no larger process ids.
_MOST_PROCESSES = 2**22


def record_process(folder: Path) -> None:
    """Write which process is the engine of a folder; it leads a session, to which vLLM's own processes belong."""
    import psutil

    (folder / PROCESS).write_text(json.dumps([os.getpid(), psutil.Process().create_time(), _namespace()]))


def clear(folder: Path) -> None:
    """End the processes of an engine, and delete its folder.

    They have this temporary folder in their environment, or belong to the engine's session. vLLM renames its own
    processes, which overwrites the environment that other processes read.
    """
    if not folder.is_dir():
        return
    import psutil

    session = _session(folder)
    killed = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            if process.pid != os.getpid() and (
                os.getsid(process.pid) == session or process.environ().get("TMPDIR") == str(folder)
            ):
                process.kill()
                killed.append(process)
    psutil.wait_procs(killed, timeout=KILL_S)
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        folder.parent.rmdir()


def _session(folder: Path) -> int | None:
    """The session of an engine; None if it is in another container, or if a later process has its id."""
    import psutil

    leader = _read_process(folder / PROCESS)
    if leader is None or leader.namespace != _namespace():
        return None
    with suppress(psutil.NoSuchProcess):  # the leader has died; no other process gets its id while the session lives
        if abs(psutil.Process(leader.session).create_time() - leader.started) > SAME_S:
            return None
    return leader.session


class _Leader(NamedTuple):
    """The process that leads an engine's session, with the time of its start in seconds since 1970."""

    session: int
    started: float
    namespace: str


def _read_process(file: Path) -> _Leader | None:
    """What `record_process` wrote; None if the engine has not started yet, or if the file is damaged."""
    try:
        match json.loads(file.read_text()):
            case [int(session), float() | int() as started, str(namespace)] if 0 < session < _MOST_PROCESSES:
                return _Leader(session, float(started), namespace)
    except OSError:
        return None
    except (ValueError, OverflowError, RecursionError):  # no JSON, or a number that is no time
        pass
    log.warning("%s: is damaged; processes of this engine may still run", file)
    return None


def _namespace() -> str:
    """The name of the space in which ids of processes are unique."""
    return os.readlink("/proc/self/ns/pid")


def lives(process: int) -> bool:
    """Whether a process runs, or is stopped."""
    import psutil

    with suppress(psutil.Error):
        return bool(psutil.Process(process).status() != psutil.STATUS_ZOMBIE)
    return False


def is_stopped(process: int) -> bool:
    """Whether a process waits for a signal to continue."""
    import psutil

    with suppress(psutil.Error):
        return bool(psutil.Process(process).status() == psutil.STATUS_STOPPED)
    return False
